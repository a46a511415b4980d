// A new study. The form and the JSON are two views of one definition.
import { get, post, studyPath } from './api.js';
import { h, replace } from './dom.js';
import { Field, KINDS, at } from './form-fields.js';
import { metricsEditor } from './form-metrics.js';
import { spaceEditor } from './form-space.js';
import { may } from './role.js';
import { address, go, here } from './router.js';
import { definitionOf, uploadCandidates } from './tab-connect.js';
import { reasonOf, toast } from './widgets.js';

const START = {
  metrics: [{ name: 'value', goal: 'maximize' }],
  domain: { type: 'candidates' },
};
const BY_HAND = ['kernel', 'noise_std']; // options that have their own fields

// [[from CSV lines]] -> points; blank lines are left out
function parsePoints(text) {
  return text.split('\n').map((line) => line.trim()).filter(Boolean).map((line) => line.split(/[,;\s]+/).map((cell) => KINDS.number.parse(cell)));
}
const POINTS = { parse: parsePoints, print: (points) => points.map((point) => point.join(', ')).join('\n') };

// The number of features of a file's candidates; undefined if it cannot be found.
async function dimensionOf(file) {
  const start = await file.slice(0, 65536).text();
  if (/\.npy$/i.test(file.name)) return Number(/'shape':\s*\(\d+,\s*(\d+)/.exec(start)?.[1]) || undefined;
  if (/\.json$/i.test(file.name)) return /\[\s*\[([^\]]*)\]/.exec(start)?.[1].split(',').length;
  return start.split('\n', 1)[0].split(',').length;
}

// The definition as the form edits it: with a list of metrics, a domain and an algorithm.
function editable({ metric, ...definition }) {
  return {
    metrics: [metric ?? { name: 'value', goal: 'maximize' }],
    domain: { type: 'candidates' },
    ...definition,
    algorithm: { ...definition.algorithm },
  };
}

// An option of an algorithm, as /v1/algorithms describes it.
function optionField(option) {
  const { range = {} } = option;
  const common = { pointer: `/algorithm/${option.name}`, label: option.name.replace(/_/g, ' '), hint: option.description };
  const standard = option.default === null || option.default === undefined ? 'default' : `default: ${KINDS.json.print(option.default)}`;
  if (option.type === 'boolean') return { ...common, kind: KINDS.json, options: [['', standard], ['true', 'true'], ['false', 'false']] };
  if (option.type === 'string' && range.values) return { ...common, options: [['', standard], ...range.values.map((x) => [x, x])] };
  return { ...common, kind: KINDS.json, placeholder: standard };
}

export async function createPage(main, { signal }) {
  const from = here().query.get('from');
  const [{ algorithms }, model] = await Promise.all([get('v1/algorithms', signal), from ? get(studyPath(from), signal) : null]);
  const allowed = await may('editor');
  let definition = editable(model ? definitionOf(model) : structuredClone(START));
  let fields = [];
  let points = []; // editors of parts of the definition, whose fields also show messages
  let asJson = false;

  const problems = h('div', { class: 'notice wrong', role: 'alert', hidden: true });
  const place = h('div', { class: 'form' });
  const jsonArea = h('textarea', { class: 'json', rows: 30, spellcheck: 'false', id: 'definition-json', 'aria-label': 'Definition as JSON' });
  const file = h('input', { type: 'file', accept: '.csv,.json,.npy', id: 'candidates-file' });
  const formButton = h('button', { type: 'button', 'aria-pressed': 'true', onclick: () => turn(false) }, 'Form');
  const jsonButton = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => turn(true) }, 'JSON');
  const submit = h('button', { class: 'primary' }, 'Create the study');

  const make = (spec, change) => {
    const field = new Field(definition, spec, change);
    fields.push(field);
    return field.element;
  };
  const group = (title, note, ...content) => h('fieldset', { class: 'panel group' }, h('legend', {}, title), note ? h('p', { class: 'panel-note' }, note) : null, content);

  function candidatesPart() {
    return [
      make({
        pointer: '/domain/points',
        label: 'Points, one per line',
        kind: POINTS,
        rows: 5,
        placeholder: '0.1, 2\n0.4, 3',
        hint: 'Or leave this empty and choose a file (CSV, JSON, .npy). It is uploaded after the study is created.',
      }),
      h('div', { class: 'field' }, h('label', { for: 'candidates-file' }, 'File with the candidates'), file),
      h(
        'div',
        { class: 'row' },
        make({ pointer: '/domain/dimension', label: 'Features', kind: KINDS.number, hint: 'The number of features. Required without points.' }),
        make({ pointer: '/domain/names', label: 'Feature names', kind: KINDS.list, placeholder: 'degrees, minutes', class: 'grow' }),
        make({ pointer: '/domain/scaling', label: 'Scaling', options: [['', 'default: standardize'], ['unit', 'unit'], ['none', 'none']] }),
      ),
    ];
  }

  function domainPart() {
    const { type } = definition.domain;
    if (type === 'space') {
      definition.domain.parameters ??= [{ name: 'x', type: 'double', min: 0, max: 1 }];
      const editor = spaceEditor(definition, () => {});
      points.push(editor);
      return [editor.element];
    }
    if (type === 'precomputed')
      return [
        make({ pointer: '/domain/size', label: 'Candidates', kind: KINDS.number }),
        h('div', { class: 'field' }, h('label', { for: 'candidates-file' }, 'File with the kernel matrix'), file),
      ];
    return candidatesPart();
  }

  function redomain() {
    const { type } = definition.domain;
    definition.domain = { type };
    if (type === 'precomputed') delete definition.algorithm?.kernel;
    drawForm();
  }

  // Options that the new algorithm does not have are dropped, because the server would refuse them.
  function realgorithm() {
    definition.algorithm ??= {};
    const known = algorithms.find((a) => a.name === definition.algorithm.name)?.parameters.map((p) => p.name) ?? BY_HAND;
    for (const name of Object.keys(definition.algorithm)) if (name !== 'name' && !known.includes(name)) delete definition.algorithm[name];
    drawForm();
  }

  function rekernel() {
    const { kernel } = definition.algorithm ?? {};
    if (kernel && kernel.type !== 'matern') delete kernel.nu;
    if (kernel?.type === 'linear') delete kernel.lengthscale;
    drawForm();
  }

  function algorithmPart() {
    definition.algorithm ??= {};
    const { name } = definition.algorithm;
    const chosen = algorithms.find((a) => a.name === name);
    const kernel = definition.algorithm.kernel?.type ?? 'matern';
    const modelled = chosen?.parameters.some((p) => p.name === 'kernel') ?? true;
    const options = chosen?.parameters.filter((p) => !BY_HAND.includes(p.name)) ?? [];
    return [
      h(
        'div',
        { class: 'row' },
        make({
          pointer: '/aim',
          label: 'Aim',
          options: [['', 'default'], ['best', 'best: find the best settings soon'], ['regret', 'regret: every trial counts']],
          hint: 'What the study is for. It chooses the algorithm, unless you do.',
        }),
        make({ pointer: '/algorithm/name', label: 'Algorithm', options: [['', 'chosen by the aim'], ...algorithms.map((a) => [a.name, a.name])], hint: chosen?.description, class: 'grow' }, realgorithm),
      ),
      modelled && definition.domain.type !== 'precomputed'
        ? h(
            'div',
            { class: 'row' },
            make({ pointer: '/algorithm/kernel/type', label: 'Kernel', options: [['', 'default: Matérn'], ['matern', 'Matérn'], ['gaussian', 'Gaussian'], ['linear', 'linear']] }, rekernel),
            kernel === 'matern' ? make({ pointer: '/algorithm/kernel/nu', label: 'ν', kind: KINDS.number, options: [['', 'default: 2.5'], ['0.5', '0.5'], ['1.5', '1.5'], ['2.5', '2.5']] }) : null,
            kernel === 'linear' ? null : make({ pointer: '/algorithm/kernel/lengthscale', label: 'Lengthscale', kind: KINDS.numbers, placeholder: 'auto: learned', hint: 'Or give one number for all features, or one per feature: 1, 2, 0.5', class: 'grow' }),
          )
        : null,
      modelled ? make({ pointer: '/algorithm/noise_std', label: 'Noise, standard deviation', kind: KINDS.number, placeholder: 'auto: learned', hint: 'The spread of repeated measurements of one point, in units of the metric.' }) : null,
      chosen && h('details', { class: 'more' }, h('summary', {}, `Further options of ${chosen.name}`), h('div', { class: 'grid-fields' }, options.map((o) => make(optionField(o))))),
    ];
  }

  function drawForm() {
    const open = place.querySelector('details')?.open;
    const focused = fields.find((field) => field.input === document.activeElement)?.pointer;
    const metrics = metricsEditor(definition, () => {});
    fields = [];
    points = [metrics];
    replace(
      place,
      group(
        'Study',
        '',
        h(
          'div',
          { class: 'row' },
          make({ pointer: '/id', label: 'Id', placeholder: 'chosen by the server', hint: 'Lower-case letters, digits, and . _ -' }),
          make({ pointer: '/display_name', label: 'Name', class: 'grow' }),
          make({ pointer: '/labels', label: 'Labels', kind: KINDS.labels, placeholder: 'team:bench, stage:test', class: 'grow' }),
        ),
      ),
      group(
        'Metrics',
        '',
        metrics.element,
        h(
          'div',
          { class: 'row' },
          make({ pointer: '/optimum', label: 'Known optimum', kind: KINDS.number, placeholder: 'unknown', hint: 'Used in plots of the regret.' }),
        ),
      ),
      group('Domain', '', make({ pointer: '/domain/type', label: 'Kind', options: [['candidates', 'a list of candidates'], ['space', 'a space of parameters'], ['precomputed', 'candidates with a kernel matrix']] }, redomain), domainPart()),
      group('Algorithm', '', algorithmPart()),
      group(
        'Running',
        '',
        h(
          'div',
          { class: 'grid-fields' },
          make({ pointer: '/horizon', label: 'Horizon, trials', kind: KINDS.number, placeholder: 'none' }),
          make({ pointer: '/feedback', label: 'Feedback', options: [['', 'default: async'], ['async', 'async'], ['batch', 'batch']] }),
          make({ pointer: '/lease_seconds', label: 'Lease, seconds', kind: KINDS.number, placeholder: 'default: 600' }),
          make({ pointer: '/max_attempts', label: 'Maximum attempts', kind: KINDS.number, placeholder: 'default: 3' }),
          make({ pointer: '/min_in_flight', label: 'Minimum in flight', kind: KINDS.number, placeholder: 'default: as many as asked for' }),
          make({ pointer: '/seed', label: 'Seed', kind: KINDS.number, placeholder: 'random' }),
        ),
      ),
    );
    if (open) place.querySelector('details').open = true;
    if (focused) fields.find((field) => field.pointer === focused)?.input.focus();
  }

  file.addEventListener('change', async () => {
    if (!file.files.length || definition.domain.type !== 'candidates') return;
    definition.domain.dimension ??= await dimensionOf(file.files[0]);
    fields.find((field) => field.pointer === '/domain/dimension')?.load();
  });

  function say(text, errors = []) {
    problems.hidden = !text;
    replace(problems, h('p', {}, text ?? ''), errors.length ? h('ul', {}, errors.map((e) => h('li', {}, e.pointer ? [h('code', {}, e.pointer), ' '] : '', e.detail))) : null);
    if (text) problems.scrollIntoView({ block: 'nearest' });
  }

  function turn(toJson) {
    if (toJson === asJson) return;
    if (toJson) jsonArea.value = `${JSON.stringify(definition, null, 2)}\n`;
    else
      try {
        definition = editable(JSON.parse(jsonArea.value));
      } catch (error) {
        say(`This is not valid JSON: ${error.message}`);
        return;
      }
    say(null);
    asJson = toJson;
    formButton.setAttribute('aria-pressed', String(!asJson));
    jsonButton.setAttribute('aria-pressed', String(asJson));
    if (asJson) replace(place, h('section', { class: 'panel' }, jsonArea));
    else drawForm();
  }

  // Shows each message beside its field. Messages without a field are listed above the form.
  function mark(errors) {
    const all = [...fields, ...points.flatMap((editor) => editor.fields())];
    for (const field of all) field.fail(null);
    if (asJson) return errors;
    let first = null;
    const rest = errors.filter(({ pointer, detail }) => {
      const field = all.filter((f) => pointer === f.pointer || pointer.startsWith(`${f.pointer}/`)).at(-1);
      if (!field) return true;
      field.fail(detail);
      const more = field.element.closest('details');
      if (more) more.open = true;
      first ??= field;
      return false;
    });
    first?.input.focus();
    return rest;
  }

  async function create() {
    say(null);
    let body = definition;
    if (asJson) body = JSON.parse(jsonArea.value);
    const study = await post('v1/studies', body);
    if (file.files.length && study.state === 'awaiting_candidates')
      try {
        await uploadCandidates(study, file.files[0]);
      } catch (error) {
        toast(`The study was created, but its candidates could not be uploaded: ${reasonOf(error, 'uploads')}`, 'wrong');
      }
    go(address('studies', study.id));
  }

  const form = h('form', { novalidate: true, onsubmit: async (event) => {
    event.preventDefault();
    submit.disabled = true;
    try {
      await create();
    } catch (error) {
      const rest = mark(error.errors ?? []);
      const known = (error.errors?.length ?? 0) - rest.length;
      say(known && !rest.length ? 'Some fields are not valid. The messages are beside them.' : error.errors?.length ? error.message : reasonOf(error, 'new studies'), rest);
    } finally {
      submit.disabled = !allowed;
    }
  } }, problems, place, h('div', { class: 'form-end' }, submit, h('a', { href: '#/' }, 'Cancel')));

  drawForm();
  submit.disabled = !allowed;
  replace(
    main,
    allowed ? null : h('p', { class: 'notice', role: 'alert' }, 'Your token does not allow this: new studies require the role editor, for all studies.'),
    h('div', { class: 'page-head' }, h('h1', {}, 'New study'), h('div', { class: 'segmented', role: 'group', 'aria-label': 'Edit as' }, formButton, jsonButton)),
    form,
  );
  if (from && !model) say(`Study ${from} does not exist.`);
  else if (at(definition, '/domain/dimension') && from) toast(`Copied everything from ${from} except its candidates.`);
}
