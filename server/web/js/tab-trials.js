// The trials, newest first, with a few of the queued ones; filtered by state and worker. A dialog shows one trial with
// all its attempts.
import { get, list, query, studyPath } from './api.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { ago, columnFormat, count, duration, fullTime, value } from './format.js';
import { pointText } from './pending.js';
import { here, setQuery } from './router.js';
import { handedOut, recorded, trialsOf } from './study-actions.js';
import { badge, control, empty, facts, guarded, panel, select, table } from './widgets.js';

const PAGE = 50;
const QUEUED = 10; // queued trials shown above the newest
const STATES = ['queued', 'pending', 'completed', 'failed', 'infeasible', 'stopped'];

function seconds(trial) {
  return trial.issued_at && trial.told_at ? (Date.parse(trial.told_at) - Date.parse(trial.issued_at)) / 1000 : null;
}

function tooltipTime(text) {
  return text ? h('span', { title: fullTime(text) }, ago(Date.parse(text))) : '–';
}

// Tables of the members that only a single trial has: attempts, measurements, amendments and others.
function historyTables(trial) {
  return Object.entries(trial)
    .filter(([, rows]) => Array.isArray(rows) && rows.length && typeof rows[0] === 'object')
    .map(([name, rows]) => {
      const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
      const columns = names.map((key) => ({ title: key.replace(/_/g, ' '), cell: (row) => (row[key] === undefined ? '–' : key.endsWith('_at') ? fullTime(row[key]) : value(row[key])) }));
      return [h('h3', {}, name.replace(/_/g, ' ')), table(`${name} of trial ${trial.id}`, columns, rows)];
    });
}

function valueColumn(title, trials, of) {
  const text = columnFormat(trials.map(of));
  return { title, class: 'right', cell: (t) => text(of(t)) };
}

async function showTrial(id, number_, signal) {
  const trial = await get(studyPath(id, `/trials/${number_}`), signal);
  const plain = Object.entries(trial).filter(([name, x]) => !['point', 'parameters', 'metadata'].includes(name) && (typeof x !== 'object' || x === null));
  const dialog = h(
    'dialog',
    { class: 'dialog large', 'aria-labelledby': 'trial-title' },
    h('h2', { id: 'trial-title' }, `Trial ${trial.id}`),
    facts([
      ...plain.filter(([name]) => name !== 'id').map(([name, x]) => [name.replace(/_/g, ' '), name.endsWith('_at') ? fullTime(x) : value(x)]),
      ['point', pointText(trial)],
      ...(trial.values ? [['values', value(trial.values)]] : []),
      ...(trial.metadata ? [['metadata', JSON.stringify(trial.metadata)]] : []),
    ]),
    historyTables(trial),
    h('form', { method: 'dialog', class: 'dialog-buttons' }, h('button', {}, 'Close')),
  );
  dialog.addEventListener('close', () => dialog.remove());
  signal.addEventListener('abort', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

export async function trialsTab(element, feed, signal) {
  const asked = here().query;
  const filter = { state: asked.get('state') ?? '', worker: asked.get('worker') ?? '' };
  const view = panel('Trials', { wide: true });
  const worker = h('input', { type: 'search', class: 'small', placeholder: 'exact name', value: filter.worker });
  const pager = h('div', { class: 'pager' });
  let before = null; // the last number on the page; null: the newest
  let tokens = [undefined]; // the page tokens of a filtered list, which starts with the oldest trial

  const columns = (trials) => [
    { title: 'Trial', class: 'right', cell: (t) => h('button', { type: 'button', class: 'link', onclick: () => guarded(view, 'a trial', () => showTrial(feed.id, t.id, signal), signal) }, count(t.id)) },
    { title: 'State', cell: (t) => badge(t.state) },
    valueColumn('Value', trials, (t) => t.value),
    ...recorded(feed.study).map(({ name }) => valueColumn(name, trials, (t) => t.values?.[name])),
    { title: 'Worker', cell: (t) => t.worker ?? h('span', { class: 'muted' }, '–') },
    { title: 'Batch', class: 'right', cell: (t) => t.batch ?? '–' },
    { title: 'Attempt', class: 'right', cell: (t) => t.attempt },
    { title: 'Took', class: 'right', cell: (t) => duration(seconds(t)) },
    { title: 'Reported', cell: (t) => tooltipTime(t.told_at) },
    { title: 'Point', class: 'point', cell: pointText },
    { title: 'Reason', class: 'reason', cell: (t) => t.reason ?? '' },
  ];

  const button = (text, enabled, onclick) => h('button', { type: 'button', class: 'small', disabled: !enabled, onclick }, text);

  async function readNewest() {
    const newest = Math.min(trialsOf(feed.study), handedOut(feed.study) + QUEUED);
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
      button('Older', after > 0, () => turn(after)),
    );
    return trials.reverse();
  }

  async function readFiltered() {
    const page = await get(studyPath(feed.id, `/trials${query({ ...filter, limit: PAGE, page_token: tokens.at(-1) })}`), signal);
    replace(
      pager,
      button('Previous', tokens.length > 1, () => {
        tokens.pop();
        read();
      }),
      button('Next', page.next_page_token, () => {
        tokens.push(page.next_page_token);
        read();
      }),
    );
    return page.items;
  }

  const read = refresher(
    () =>
      guarded(
        view,
        'a list of trials',
        async () => {
          const filtered = filter.state || filter.worker;
          const trials = filtered ? await readFiltered() : await readNewest();
          const focused = view.body.contains(document.activeElement) ? document.activeElement.textContent : null;
          replace(view.body, trials.length ? table('Trials', columns(trials), trials) : empty(filtered ? 'No trials match.' : 'No trials have been handed out yet.'));
          if (focused) [...view.body.querySelectorAll('button')].find((b) => b.textContent === focused)?.focus();
        },
        signal,
      ),
    signal,
    1000,
  );

  function changed() {
    tokens = [undefined];
    before = null;
    setQuery(filter);
    read();
  }
  worker.addEventListener('change', () => {
    filter.worker = worker.value.trim();
    changed();
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
    ),
    h('div', { class: 'panels' }, view.element),
    pager,
  );
  feed.on('trials', () => before === null && read(), signal);
  read();
}
