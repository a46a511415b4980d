// A new study: what is tried, what is measured, how it is run. The form and the JSON are two views of one definition. A
// link carries a filled form: #/new?definition=JSON.
import { get, post, studyPath } from './api.js';
import { h, replace } from './dom.js';
import { DOMAINS, dimensionOf, domainPart } from './form-domain.js';
import { Choice, Field, KINDS, Messages, at } from './form-fields.js';
import { metricsPart } from './form-metrics.js';
import { runningPart } from './form-running.js';
import { may } from './role.js';
import { address, go, here } from './router.js';
import { definitionOf, uploadCandidates } from './tab-connect.js';
import { actionButton, headOf, later, reasonOf, toast } from './widgets.js';

const showTakenOver = later(() => import('./taken-over.js'), 'showTakenOver');

const START = { metrics: [{ name: 'value', goal: 'maximize' }], domain: { type: 'space' } };
const DRAFT = 'banditd-new-study'; // what was filled in when the page was left, in the tab's sessionStorage

// The definition as the form edits it: with a list of metrics, a domain and an algorithm.
function editable({ metric, ...definition }) {
  const known = DOMAINS.some(([type]) => type === definition.domain?.type);
  return {
    ...definition,
    metrics: definition.metrics ?? [metric ?? { ...START.metrics[0] }],
    domain: known ? definition.domain : { ...definition.domain, type: 'space' },
    algorithm: { ...definition.algorithm },
  };
}

// Without what the form adds.
function given(definition) {
  const { algorithm, ...rest } = definition;
  return Object.keys(algorithm ?? {}).length ? definition : rest;
}

function linkOf(definition) {
  return `${location.href.split('#')[0]}${address('new')}?${new URLSearchParams({ definition: JSON.stringify(given(definition)) })}`;
}

// What the page begins with. -> {definition, said: what the user should know}
async function beginning(asked, signal) {
  const from = asked.get('from');
  if (from) return { definition: editable(definitionOf(await get(studyPath(from), signal))), said: null };
  const draft = sessionStorage.getItem(DRAFT);
  try {
    if (asked.get('definition')) return { definition: editable(JSON.parse(asked.get('definition'))), said: null };
    if (draft) return { definition: editable(JSON.parse(draft)), said: 'draft' };
  } catch (error) {
    return { definition: editable(structuredClone(START)), said: `The link does not carry a definition: ${error.message}` };
  }
  return { definition: editable(structuredClone(START)), said: null };
}

export async function createPage(main, { signal }) {
  const asked = here().query;
  const from = asked.get('from');
  const [{ algorithms }, begin, allowed] = await Promise.all([get('v1/algorithms', signal), beginning(asked, signal), may('editor')]);
  let { definition } = begin;
  let fields = []; // those that show messages
  let asJson = false;
  let created = false;
  const opened = new Map(); // parts that the user has opened or closed

  const problems = h('div', { class: 'notice wrong', role: 'alert', hidden: true });
  const place = h('div', { class: 'form' });
  const jsonArea = h('textarea', { class: 'json', rows: 30, spellcheck: 'false', id: 'definition-json', 'aria-label': 'Definition as JSON' });
  const file = h('input', { type: 'file', accept: '.csv,.json,.npy', id: 'candidates-file' });
  const formButton = h('button', { type: 'button', 'aria-pressed': 'true', onclick: () => turn(false) }, 'Form');
  const jsonButton = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => turn(true) }, 'JSON');
  const submit = h('button', { class: 'primary' }, 'Create the study');
  const share = actionButton('Copy a link to this form', {}, async () => {
    await navigator.clipboard.writeText(linkOf(asJson ? JSON.parse(jsonArea.value) : definition));
    toast('Copied. The link opens this form as it is filled in.');
  });

  const added = (field) => {
    fields.push(field);
    return field.element;
  };
  const reload = (pointer) => fields.find((field) => field.pointer === pointer)?.load();
  /* What the parts of the form use:
   *   field(spec, change)   a field of the definition; change() is called after the user has changed it
   *   choice(spec, choose)  a choice between cards; choose(value) is called when the user takes another one
   *   others                the domains of other types that were filled in, by type; and a kernel
   *   messages(pointer)     where messages about a part are shown
   *   more(key, title, open, …content)  a part that is folded unless it is needed
   *   reload(pointer)       shows a field's value anew
   *   draw(pointer)         draws the form again, with the focus where it was, or in the field of the pointer */
  const form_ = {
    get definition() {
      return definition;
    },
    algorithms,
    file,
    others: {},
    field: (spec, change) => added(new Field(definition, spec, change)),
    choice: (spec, choose) => added(new Choice(definition, spec, choose)),
    messages: (pointer) => added(new Messages(pointer)),
    more(key, title, open, ...content) {
      const element = h('details', { class: 'more', open: opened.get(key) ?? open }, h('summary', {}, title), content);
      element.addEventListener('toggle', () => opened.set(key, element.open));
      return element;
    },
    reload,
    draw: drawForm,
  };
  const group = (title, note, ...content) => h('fieldset', { class: 'panel group' }, h('legend', {}, title), note ? h('p', { class: 'panel-note' }, note) : null, content);

  function drawForm(pointer) {
    const focused = pointer ?? fields.find((field) => field.input && field.input === document.activeElement)?.pointer;
    fields = [];
    replace(
      place,
      group(
        'Study',
        '',
        h(
          'div',
          { class: 'row' },
          form_.field({ pointer: '/display_name', label: 'Name', class: 'grow' }),
          form_.field({ pointer: '/id', label: 'Id', placeholder: 'chosen by the server', hint: 'Lower-case letters, digits, and . _ -' }),
          form_.field({ pointer: '/labels', label: 'Labels', kind: KINDS.labels, placeholder: 'team:bench, stage:test', class: 'grow' }),
        ),
        form_.field({ pointer: '/metadata/note', label: 'Note', rows: 2 }, () => reload('/metadata')),
        form_.more(
          'metadata',
          'Metadata',
          Object.keys(definition.metadata ?? {}).some((name) => name !== 'note'),
          form_.field({ pointer: '/metadata', label: 'Metadata as JSON', kind: KINDS.json, rows: 3, placeholder: '{"code": "3f2a"}', hint: 'An object of your own. The server keeps and shows it; the note is a part of it.' }, () => reload('/metadata/note')),
        ),
      ),
      group('1. What is tried', 'The settings that may be chosen.', domainPart(form_)),
      group('2. What is measured', 'What a result of a trial tells, and what is better.', metricsPart(form_)),
      group('3. How it is run', 'Everything here has a default.', runningPart(form_)),
    );
    if (focused) fields.find((field) => field.pointer === focused)?.input?.focus();
  }

  file.addEventListener('change', async () => {
    if (!file.files.length || definition.domain.type !== 'candidates') return;
    definition.domain.dimension ??= await dimensionOf(file.files[0]);
    reload('/domain/dimension');
  });

  function say(text, errors = []) {
    problems.hidden = !text;
    replace(problems, h('p', {}, text ?? ''), errors.length ? h('ul', {}, errors.map((e) => h('li', {}, e.pointer ? [h('code', {}, e.pointer), ' '] : '', e.detail))) : null);
    if (text) problems.scrollIntoView({ block: 'nearest' });
  }

  function turn(toJson) {
    if (toJson === asJson) return;
    if (toJson) jsonArea.value = `${JSON.stringify(given(definition), null, 2)}\n`;
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
    for (const field of fields) field.fail(null);
    if (asJson) return errors;
    let first = null;
    const rest = errors.filter(({ pointer, detail }) => {
      const near = fields.filter((f) => pointer === f.pointer || pointer.startsWith(`${f.pointer}/`));
      if (!near.length) return true;
      const field = near.reduce((a, b) => (b.pointer.length >= a.pointer.length ? b : a));
      const row = field.kind === KINDS.rows && pointer.slice(field.pointer.length).split('/')[1];
      field.fail(row ? `row ${Number(row) + 1}: ${detail}` : detail);
      for (let more = field.element.closest('details'); more; more = more.parentElement.closest('details')) more.open = true;
      first ??= field;
      return false;
    });
    if (first?.input) first.input.focus();
    else first?.element.scrollIntoView({ block: 'nearest' });
    return rest;
  }

  async function create() {
    say(null);
    const study = await post('v1/studies', asJson ? JSON.parse(jsonArea.value) : given(definition));
    created = true;
    sessionStorage.removeItem(DRAFT);
    if (file.files.length && study.state === 'awaiting_candidates')
      try {
        await uploadCandidates(study, file.files[0]);
      } catch (error) {
        toast(`The study was created, but its candidates could not be uploaded: ${reasonOf(error, 'uploads')}`, 'wrong');
      }
    go(address('studies', study.id));
    await showTakenOver(study.history);
  }

  const form = h('form', { novalidate: true, onsubmit: async (event) => {
    event.preventDefault();
    submit.disabled = true;
    try {
      await create();
    } catch (error) {
      const rest = mark(error.errors ?? []);
      const known = (error.errors?.length ?? 0) - rest.length;
      say(known && !rest.length ? 'Some fields are not valid. The messages are beside them.' : error.errors?.length ? `${headOf(error)}:` : reasonOf(error, 'new studies'), rest);
    } finally {
      submit.disabled = !allowed;
    }
  } }, problems, place, h('div', { class: 'form-end' }, submit, share, h('a', { href: '#/', onclick: forget }, 'Cancel')));

  // What was filled in waits in this tab until the study is created or the form is cancelled.
  function forget() {
    created = true;
    sessionStorage.removeItem(DRAFT);
  }
  function keep() {
    let now = definition;
    try {
      if (asJson) now = JSON.parse(jsonArea.value);
    } catch {
      // The form as it was before the JSON was edited.
    }
    if (!created && JSON.stringify(now) !== untouched) sessionStorage.setItem(DRAFT, JSON.stringify(now));
  }
  signal.addEventListener('abort', keep);
  addEventListener('pagehide', keep, { signal });

  drawForm();
  const untouched = JSON.stringify(definition);
  submit.disabled = !allowed;
  replace(
    main,
    allowed ? null : h('p', { class: 'notice', role: 'alert' }, 'Your token does not allow this: new studies require the role editor, for all studies.'),
    h('div', { class: 'page-head' }, h('h1', {}, 'New study'), h('div', { class: 'segmented', role: 'group', 'aria-label': 'Edit as' }, formButton, jsonButton)),
    form,
  );
  if (begin.said === 'draft') {
    const afresh = h('button', { type: 'button', class: 'small', onclick: () => {
      definition = editable(structuredClone(START));
      form_.others = {};
      sessionStorage.removeItem(DRAFT);
      notice.remove();
      drawForm();
    } }, 'Start afresh');
    const notice = h('p', { class: 'notice' }, 'This is what you had filled in. ', afresh);
    main.insertBefore(notice, form);
  } else if (begin.said) say(begin.said);
  if (at(definition, '/domain/dimension') && from) toast(`Copied everything from ${from} except its candidates.`);
}
