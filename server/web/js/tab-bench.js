// For people who measure: get trials under one's own name, enter their results, on a phone as well. #/studies/ID/bench
import { get, list, post, query, studyPath } from './api.js';
import { confirm } from './ask.js';
import { axesOf, coordinate } from './axes.js';
import { plateTools } from './bench-plate.js';
import { h, replace, setText } from './dom.js';
import { told, valueInputs } from './entry.js';
import { refresher } from './feed.js';
import { countdown, count, fullTime, number, plural, titleOf, value, withUnit } from './format.js';
import { importPanel } from './import-results.js';
import { inviteButton } from './invite.js';
import { parameterField, proposeButton } from './propose.js';
import { may } from './role.js';
import { address } from './router.js';
import { readSharedSeries } from './series.js';
import { objective, otherMetrics } from './study-actions.js';
import { actionButton, badge, control, empty, guarded, panel, select, table, toast, unseen } from './widgets.js';

const NAME = 'banditd-worker'; // in localStorage: the name stays when the page is closed
const MOST = 200; // trials of one person
const RECENT = 10;
const TIMES = [['3600', '1 hour'], ['28800', '8 hours'], ['86400', '1 day'], ['604800', '1 week'], ['2592000', '30 days']];
const FAR = 3; // a value that is this many ranges beyond all others is asked about

const REASONS = {
  awaiting_feedback: 'Nothing more can be handed out until results of other trials are reported.',
  computing: 'The server is still choosing. Try again in a moment.',
  paused: 'The study is paused.',
  finished: 'The study is finished.',
  horizon_reached: 'All trials of this study have been handed out.',
  exhausted: 'Every candidate has been handed out.',
};

// The trial's settings with their units, one column each; what has no names is one column.
export function settingColumns(study) {
  const known = axesOf(study).map((axis) => ({ title: titleOf(axis), of: (trial) => coordinate(axis, trial) }));
  const numbered = { title: 'candidate', of: (trial) => trial.key ?? trial.candidate };
  return study.domain.type === 'space' ? known : [numbered, ...known];
}

const setting = (x) => (x === undefined || x === null ? '–' : typeof x === 'number' ? number(x, 8) : value(x));

// The inputs for what the server does not choose.
function contextFields(study) {
  const contexts = new Set((study.domain.parameters ?? []).filter((p) => p.role === 'context').map((p) => p.name));
  return axesOf(study).filter((axis) => contexts.has(axis.name)).map((axis) => parameterField(axis, () => {}));
}

// One trial that somebody holds, with the inputs for its result. The inputs stay while the table is drawn anew.
class Held {
  constructor(trial, metrics) {
    this.trial = trial;
    this.entry = valueInputs(metrics, `trial ${trial.id}`);
    this.note = h('input', { type: 'text', autocomplete: 'off', maxlength: 500, 'aria-label': `Note on trial ${trial.id}` });
    this.lease = h('span', { class: 'lease' });
  }

  tick(now) {
    const left = (Date.parse(this.trial.lease_expires_at) - now) / 1000;
    setText(this.lease, left > 0 ? countdown(left) : 'over');
    this.lease.className = `lease${left <= 0 ? ' over' : left < 300 ? ' soon' : ''}`;
    this.lease.title = fullTime(this.trial.lease_expires_at);
  }

  result(more) {
    const note = this.note.value.trim();
    return { trial: this.trial.id, attempt: this.trial.attempt, ...more, ...(note && !more.state && { metadata: { note } }), ...(note && more.state && more.state !== 'released' && { reason: note }) };
  }
}

export async function benchTab(element, feed, signal) {
  const { study } = feed;
  const metrics = [objective(study), ...otherMetrics(study)];
  const settings = settingColumns(study);
  const contexts = contextFields(study);
  const [worker, editor] = await Promise.all([may('worker', study.id), may('editor', study.id)]);
  const mine = panel('My trials', { wide: true });
  const recent = panel('My last results', { wide: true });
  const name = h('input', { type: 'text', class: 'small', autocomplete: 'name', maxlength: 200, value: localStorage.getItem(NAME) ?? '' });
  const many = h('input', { type: 'text', class: 'small short', inputmode: 'numeric', value: '1' });
  let lease = '86400';
  let held = new Map(); // 'trial/attempt' -> Held, in the order of trials

  const path = (rest) => studyPath(feed.id, rest);
  const me = () => name.value.trim();

  function mustHaveName() {
    if (me()) return;
    name.focus();
    throw new Error('Enter your name first: your trials are kept under it.');
  }

  // What a trial is wanted for.
  function context() {
    for (const { axis, element: field, value: entered } of contexts) {
      if (entered() !== undefined) continue;
      field.querySelector('input, select').focus();
      throw new Error(`Enter ${axis.name} first: the server does not choose it.`);
    }
    return Object.fromEntries(contexts.map(({ axis, value: entered }) => [axis.name, entered()]));
  }

  async function readMine() {
    const trials = me() ? await list(path('/trials'), { state: 'pending', worker: me() }, signal, MOST) : [];
    const next = new Map();
    for (const trial of trials) {
      const key = `${trial.id}/${trial.attempt}`;
      const known = held.get(key) ?? new Held(trial, metrics);
      known.trial = trial;
      next.set(key, known);
    }
    const same = [...next.keys()].join() === [...held.keys()].join();
    held = next;
    tick();
    if (!same || !mine.body.firstChild) draw();
  }

  async function getTrials() {
    mustHaveName();
    const wanted = Number(many.value);
    if (!Number.isInteger(wanted) || wanted < 1) throw new Error('Enter how many trials you want, a whole number.');
    const fixed = context();
    localStorage.setItem(NAME, me());
    const earlier = new Set(held.keys());
    const before = [...held.values()].filter(({ trial }) => contexts.every(({ axis }) => trial.parameters[axis.name] === fixed[axis.name])).length;
    const { trials, reason } = await post(path('/ask'), { worker: me(), count: before + wanted, lease_seconds: Number(lease), wait_seconds: 10, ...(contexts.length && { fixed }) }, signal);
    await readMine();
    const got = trials.length - before;
    if (got < wanted) toast(`${got > 0 ? `${plural(got, 'trial')} for you. ` : ''}${REASONS[reason] ?? 'No more trials are available now.'}`, got > 0 ? 'done' : 'wrong');
    [...held].find(([key]) => !earlier.has(key))?.[1].entry.inputs[0].focus();
  }

  // Whether the person means a value that is far from all others.
  async function meant(entries) {
    const { items } = await readSharedSeries(feed.id, signal);
    const values = items.map((p) => p.value).filter((x) => x !== null);
    if (values.length < 5) return true;
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const span = FAR * (high - low);
    const far = entries.filter(({ values: v }) => span > 0 && (v[metrics[0].name] < low - span || v[metrics[0].name] > high + span));
    if (!far.length) return true;
    const words = far.map(({ row, values: v }) => `trial ${row.trial.id}: ${withUnit(number(v[metrics[0].name], 8), metrics[0].unit)}`).join(', ');
    return confirm({ title: 'Are these values right?', text: `All results so far are between ${number(low)} and ${withUnit(number(high), metrics[0].unit)}. You entered, for ${words}.`, action: 'Save them', danger: false });
  }

  async function save(rows) {
    const read = rows.map((row) => ({ row, ...row.entry.read() }));
    const wrong = read.find((r) => r.wrong);
    if (wrong) {
      wrong.wrong.focus();
      throw new Error(`Trial ${wrong.row.trial.id}: ${wrong.wrong.validationMessage}`);
    }
    if (!(await meant(read))) return;
    await post(path('/tell'), { results: read.map(({ row, values, errors }) => row.result(told(metrics, values, errors))) }, signal);
    toast(`Saved the ${rows.length === 1 ? `result of trial ${rows[0].trial.id}` : `results of ${rows.length} trials`}.`);
    await Promise.all([readMine(), readRecent()]);
  }

  async function saveAll() {
    const filled = [...held.values()].filter((row) => !row.entry.blank());
    if (!filled.length) throw new Error('Enter a value first.');
    await save(filled);
  }

  async function end(row, state, words) {
    await post(path('/tell'), { results: [row.result({ state })] }, signal);
    toast(`Trial ${row.trial.id} ${words}.`);
    await Promise.all([readMine(), readRecent()]);
  }

  async function keep(row) {
    const { lease_expires_at } = await post(path(`/trials/${row.trial.id}/heartbeat`), { lease_seconds: Number(lease) }, signal);
    if (lease_expires_at) row.trial.lease_expires_at = lease_expires_at;
    toast(`Trial ${row.trial.id} stays yours for ${TIMES.find(([s]) => s === lease)[1]} from now.`);
    await readMine();
  }

  function rowActions(row) {
    const named = (label, more) => ({ class: 'small', 'aria-label': `${label}, trial ${row.trial.id}`, ...more });
    return h(
      'div',
      { class: 'buttons' },
      actionButton('Save', named('Save', { class: 'small primary' }), () => save([row])),
      actionButton('Failed', named('It failed'), () => end(row, 'failed', 'is marked as failed')),
      h(
        'details',
        { class: 'menu' },
        h('summary', { class: 'button small', 'aria-label': `More actions on trial ${row.trial.id}` }, '⋯'),
        h(
          'div',
          { class: 'buttons' },
          actionButton('Infeasible', named('It is infeasible', { title: 'These settings cannot be measured at all' }), () => end(row, 'infeasible', 'is marked as infeasible')),
          actionButton('Give back', named('Give back'), () => end(row, 'released', 'was given back')),
          actionButton('Keep longer', named('Keep longer'), () => keep(row)),
        ),
      ),
    );
  }

  function draw() {
    plate.show(held.size);
    saveEverything.hidden = held.size < 2;
    if (!held.size) return replace(mine.body, empty(me() ? 'You have no trials. Get one.' : 'Enter your name, then get a trial.'));
    const columns = [
      { title: 'Trial', class: 'right', cell: (row) => h('a', { href: address('studies', feed.id, 'trials', row.trial.id) }, count(row.trial.id)) },
      ...settings.map((s) => ({ title: s.title, class: 'right setting', cell: (row) => setting(s.of(row.trial)) })),
      ...metrics.map((metric, i) => ({ title: titleOf(metric), class: 'entry', cell: (row) => row.entry.inputs[i] })),
      { title: 'Note', class: 'entry note', cell: (row) => row.note },
      { title: 'Yours for', class: 'right screen-only', cell: (row) => row.lease },
      { title: unseen('Actions'), name: '', class: 'screen-only', cell: rowActions },
    ];
    return replace(mine.body, table('My trials', columns, [...held.values()], 'cards bench'));
  }

  function tick() {
    for (const row of held.values()) row.tick(Date.now());
  }

  async function readRecent() {
    if (!me()) return replace(recent.body, empty('Nothing yet.'));
    const { items } = await get(path(`/trials${query({ worker: me(), sort: 'told_at', order: 'desc', limit: RECENT })}`), signal);
    const ended = items.filter((trial) => trial.told_at);
    const columns = [
      { title: 'Trial', class: 'right', cell: (t) => h('a', { href: address('studies', feed.id, 'trials', t.id) }, count(t.id)) },
      { title: 'State', cell: (t) => badge(t.state) },
      ...metrics.map((metric, i) => ({ title: titleOf(metric), class: 'right', cell: (t) => setting(i === 0 ? t.value : t.values?.[metric.name]) })),
      { title: 'Reported', cell: (t) => fullTime(t.told_at) },
      { title: 'Note', class: 'reason', cell: (t) => t.metadata?.note ?? t.reason ?? '' },
    ];
    recent.note(ended.length && editor ? 'To correct a result, open its trial.' : '');
    return replace(recent.body, ended.length ? table('My last results', columns, ended, 'cards') : empty('Nothing yet.'));
  }

  const plate = plateTools({ study, metrics, settings, rows: () => [...held.values()] });
  const saveEverything = actionButton('Save all that are filled in', { class: 'small primary' }, saveAll);
  const ask = actionButton('Get trials', { class: 'primary' }, getTrials);
  replace(mine.tools, plate.element, saveEverything);
  if (!worker) mine.note('Your token is read-only. To enter results you need one with the role “worker”.');
  for (const button of [ask, saveEverything]) button.disabled = !worker;

  const read = refresher(() => guarded(mine, 'trials', readMine, signal), signal, 1000);
  const readLast = refresher(() => guarded(recent, 'trials', readRecent, signal), signal, 2000);
  name.addEventListener('change', () => {
    localStorage.setItem(NAME, me());
    read();
    readLast();
  });
  replace(
    element,
    h(
      'div',
      { class: 'toolbar bench-start' },
      control('My name', name),
      control('How many', many),
      control('Reserve for', select(TIMES, lease, (chosen) => (lease = chosen))),
      contexts.map((field) => field.element),
      ask,
      worker ? proposeButton(feed) : null,
      inviteButton(feed.id),
    ),
    h('div', { class: 'panels' }, mine.element, recent.element, editor ? importPanel(feed, () => feed.read()) : null),
  );
  const timer = setInterval(tick, 1000);
  signal.addEventListener('abort', () => clearInterval(timer));
  feed.on('trials', () => {
    read();
    readLast();
  }, signal);
  read();
  readLast();
}
