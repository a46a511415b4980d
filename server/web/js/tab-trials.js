// The trials as a table: a column for each metric and parameter, filtered and sorted by the server. The address holds
// the filter, the order and the columns.
import { get, list, query, studyPath } from './api.js';
import { axesOf, coordinate } from './axes.js';
import { saveCsv } from './csv.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { importedPanel } from './imported-list.js';
import { ago, columnFormat, count, duration, fullTime, number, plural, titleOf, value } from './format.js';
import { address, go, here, setQuery } from './router.js';
import { bounded, handedOut, modelledMetrics, objective, otherMetrics, trialsOf } from './study-actions.js';
import { rangeFilter } from './trial-ranges.js';
import { actionButton, badge, control, empty, guarded, panel, select, table, toggle } from './widgets.js';

const PAGE = 50;
const PARAMETERS = 12; // columns of parameters shown unless others are chosen
const MOST = 100000; // rows of a CSV file
const STATES = ['queued', 'pending', 'completed', 'failed', 'infeasible', 'stopped'];
const NEWEST = { sort: 'id', order: 'desc' };

function seconds(trial) {
  return trial.issued_at && trial.told_at ? (Date.parse(trial.told_at) - Date.parse(trial.issued_at)) / 1000 : null;
}

/* The columns that there are: {key, title, of(trial), kind, sort, usual, choices}
 *   of     the plain value, as in the CSV file; undefined if the trial has none
 *   kind   number | log | text | time | seconds | state | trial
 *   sort   the server's name for it
 *   usual  shown unless the address says otherwise
 *   choices  the values of a parameter that is not a number */
function columnsOf(study) {
  const metric = objective(study);
  const parameters = axesOf(study).map((axis, i) => ({
    key: `parameter:${axis.name}`,
    title: titleOf(axis),
    of: (t) => coordinate(axis, t),
    kind: axis.choices ? 'text' : axis.log ? 'log' : 'number',
    sort: `parameter:${axis.name}`,
    usual: i < PARAMETERS,
    choices: axis.words || typeof axis.choices?.[0] === 'boolean' ? axis.choices : null,
  }));
  return [
    { key: 'trial', title: 'Trial', of: (t) => t.id, kind: 'trial', sort: 'id', usual: true },
    { key: 'state', title: 'State', of: (t) => t.state, kind: 'state', usual: true },
    { key: `metric:${metric.name}`, title: titleOf(metric), metric, of: (t) => t.value, kind: 'number', sort: 'value', usual: true },
    ...otherMetrics(study).map((other) => ({ key: `metric:${other.name}`, title: titleOf(other), metric: other, of: (t) => t.values?.[other.name], kind: 'number', sort: `metric:${other.name}`, usual: true })),
    ...(study.domain.type === 'space' ? [] : [{ key: 'candidate', title: 'Candidate', of: (t) => t.key ?? t.candidate, kind: 'candidate', usual: true }]),
    ...parameters,
    ...modelledMetrics(study).map(({ name }, i) => ({ key: `std_error:${name}`, title: `Std. error of ${name}`, of: (t) => t.std_errors?.[name] ?? (i ? undefined : t.std_error), kind: 'log', usual: false })),
    { key: 'cost', title: 'Cost', of: (t) => t.cost, kind: 'log', usual: false },
    { key: 'worker', title: 'Worker', of: (t) => t.worker, kind: 'text', usual: true },
    { key: 'batch', title: 'Batch', of: (t) => t.batch, kind: 'whole', usual: false },
    { key: 'attempt', title: 'Attempt', of: (t) => t.attempt, kind: 'whole', usual: false },
    { key: 'took', title: 'Took', of: seconds, kind: 'seconds', usual: true },
    { key: 'told_at', title: 'Reported', of: (t) => t.told_at, kind: 'time', sort: 'told_at', usual: true },
    { key: 'reason', title: 'Reason', of: (t) => t.reason, kind: 'text', usual: true },
    { key: 'note', title: 'Metadata', of: (t) => (t.metadata ? JSON.stringify(t.metadata) : undefined), kind: 'text', usual: false },
  ];
}

const nothing = () => h('span', { class: 'muted' }, '–');

// The cell of a column, given all trials of the page.
function cellOf(column, trials, id) {
  const decimals = column.kind === 'number' ? columnFormat(trials.map(column.of)) : null;
  const texts = {
    trial: (x) => h('a', { href: address('studies', id, 'trials', x) }, count(x)),
    state: badge,
    number: (x) => (typeof x === 'number' ? decimals(x) : value(x)),
    log: (x) => number(x, 4),
    whole: count,
    candidate: (x) => (typeof x === 'number' ? count(x) : x), // its key, if it has one
    seconds: duration,
    time: (x) => h('span', { title: fullTime(x) }, ago(Date.parse(x))),
    text: (x) => value(x),
  };
  return (trial) => {
    const x = column.of(trial);
    if (x === undefined || x === null) return nothing();
    return column.metric ? bounded(column.metric, x, texts[column.kind](x)) : texts[column.kind](x);
  };
}

const RIGHT = ['number', 'log', 'whole', 'candidate', 'seconds', 'trial'];

function chosenColumns(all, text) {
  const keys = text?.split(',').map(decodeURIComponent);
  return new Set(all.filter((c) => (keys ? keys.includes(c.key) : c.usual) || c.key === 'trial').map((c) => c.key));
}

export async function trialsTab(element, feed, signal) {
  const asked = here().query;
  const filter = { state: asked.get('state') ?? '', worker: asked.get('worker') ?? '' };
  const order = { sort: asked.get('sort') ?? NEWEST.sort, order: asked.get('order') ?? NEWEST.order };
  const all = columnsOf(feed.study);
  let chosen = chosenColumns(all, asked.get('columns'));
  const view = panel('Trials', { wide: true });
  const worker = h('input', { type: 'search', class: 'small', placeholder: 'exact name', value: filter.worker });
  const pager = h('div', { class: 'pager' });
  let before = null; // the last number on the page of newest trials; null: the newest
  let tokens = [undefined]; // the page tokens of a list in another order

  const ranges = rangeFilter(all, asked, () => changed());
  const plain = () => !Object.keys(ranges.query()).length && !filter.state && !filter.worker && order.sort === NEWEST.sort && order.order === NEWEST.order;
  const visible = () => all.filter((column) => chosen.has(column.key));

  // The title of a column that the server can sort by: the first click sorts the best or the newest first.
  function heading(column) {
    if (!column.sort) return column.title;
    const first = column.sort === 'value' && objective(feed.study).goal === 'minimize' ? 'asc' : 'desc';
    const now = order.sort === column.sort;
    const next = now ? (order.order === 'asc' ? 'desc' : 'asc') : first;
    const turn = () => {
      Object.assign(order, { sort: column.sort, order: next });
      changed();
    };
    return h('button', { type: 'button', class: 'link sort', onclick: turn }, `${column.title}${now ? (order.order === 'asc' ? ' ▲' : ' ▼') : ''}`);
  }

  const button = (text, enabled, onclick) => h('button', { type: 'button', class: 'small', disabled: !enabled, onclick }, text);

  // Without a filter, the newest trials that were handed out are found by their numbers.
  async function readNewest() {
    const newest = handedOut(feed.study);
    const top = before ?? newest;
    const after = Math.max(0, top - PAGE);
    const trials = await list(studyPath(feed.id, '/trials'), { page_token: after || undefined }, signal, top - after);
    const turn = (to) => {
      before = to;
      read();
    };
    replace(
      pager,
      button('Newest', before !== null, () => turn(null)),
      button('Newer', before !== null, () => turn(top + PAGE >= newest ? null : top + PAGE)),
      h('span', {}, trials.length ? `${count(trials[0].id)} to ${count(trials.at(-1).id)} of ${count(trialsOf(feed.study))}` : ''),
      button('Older', after > 0, () => turn(after)),
    );
    return trials.reverse();
  }

  async function readOrdered() {
    const page = await get(studyPath(feed.id, `/trials${query({ ...filter, ...ranges.query(), ...order, limit: PAGE, page_token: tokens.at(-1) })}`), signal);
    const counted = order.sort !== 'id' || order.order === 'desc' || Object.keys(ranges.query()).length; // else the token is an id
    const from = Number(tokens.at(-1) ?? 0) + 1;
    const turn = (change) => {
      change();
      read();
    };
    replace(
      pager,
      button('Previous', tokens.length > 1, () => turn(() => tokens.pop())),
      h('span', {}, page.items.length && counted ? `rows ${count(from)} to ${count(from + page.items.length - 1)}` : ''),
      button('Next', page.next_page_token, () => turn(() => tokens.push(page.next_page_token))),
    );
    return page.items;
  }

  function draw(trials) {
    const columns = visible().map((column) => ({
      title: heading(column),
      name: column.title,
      class: RIGHT.includes(column.kind) ? 'right' : column.key === 'reason' || column.key === 'note' ? 'reason' : '',
      sorted: column.sort && order.sort === column.sort ? (order.order === 'asc' ? 'ascending' : 'descending') : null,
      cell: cellOf(column, trials, feed.id),
    }));
    const focused = view.body.contains(document.activeElement) ? document.activeElement.textContent.replace(/ [▲▼]$/, '') : null;
    const place = view.body.querySelector('.scroll')?.scrollLeft ?? 0;
    replace(view.body, trials.length ? table('Trials', columns, trials, 'cards') : empty(plain() ? 'No trials have been handed out yet.' : 'No trials match.'));
    if (view.body.firstChild.scrollLeft !== undefined) view.body.firstChild.scrollLeft = place;
    if (focused) [...view.body.querySelectorAll('button, a')].find((b) => b.textContent.replace(/ [▲▼]$/, '') === focused)?.focus();
    const queued = feed.study.trials_queued;
    view.note(plain() && queued ? `${plural(queued, 'queued trial')} not listed: choose the state “queued”.` : '');
  }

  const read = refresher(() => guarded(view, 'a list of trials', async () => draw(plain() ? await readNewest() : await readOrdered()), signal), signal, 1000);

  function keep() {
    const usual = all.every((column) => chosen.has(column.key) === (column.usual || column.key === 'trial'));
    const columns = usual ? '' : [...chosen].map(encodeURIComponent).join(',');
    setQuery({ ...filter, ...ranges.query(), ...(order.sort === NEWEST.sort && order.order === NEWEST.order ? {} : order), columns });
  }
  function changed() {
    tokens = [undefined];
    before = null;
    keep();
    read();
  }
  worker.addEventListener('change', () => {
    filter.worker = worker.value.trim();
    changed();
  });

  const boxes = all
    .filter((column) => column.key !== 'trial')
    .map((column) => {
      const box = toggle(column.title, chosen.has(column.key), (on) => {
        chosen = new Set(all.filter((c) => (c === column ? on : chosen.has(c.key))).map((c) => c.key));
        keep();
        read();
      });
      box.querySelector('input').setAttribute('aria-label', `Column ${column.title}`);
      return box;
    });
  const jump = h('input', { type: 'text', class: 'small short', inputmode: 'numeric', placeholder: 'number' });
  const jumping = h('form', { class: 'control', onsubmit: (event) => {
    event.preventDefault();
    if (/^\d+$/.test(jump.value.trim())) go(address('studies', feed.id, 'trials', Number(jump.value)));
  } }, control('Go to trial', jump));
  const save = actionButton('CSV of this view', { class: 'small' }, async () => {
    const rows = await list(studyPath(feed.id, '/trials'), { ...filter, ...ranges.query(), ...order }, signal, MOST);
    saveCsv(`${feed.id}-trials.csv`, visible().map((c) => (c.key === 'took' ? 'seconds' : c.title)), rows.map((trial) => visible().map((c) => c.of(trial))));
  });
  replace(
    element,
    h(
      'div',
      { class: 'toolbar' },
      control('State', select([['', 'any'], ...STATES.map((s) => [s, s])], filter.state, (state) => {
        filter.state = state;
        changed();
      })),
      control('Worker', worker),
      jumping,
      save,
    ),
    ranges.element,
    h('details', { class: 'columns' }, h('summary', {}, 'Columns'), h('div', { class: 'column-boxes' }, boxes)),
    h('div', { class: 'panels' }, view.element),
    pager,
    h('div', { class: 'panels' }, importedPanel(feed, signal)),
  );
  feed.on('trials', () => before === null && tokens.length === 1 && read(), signal);
  read();
}
