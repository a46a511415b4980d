// The candidates with what the model believes of them, sorted by mean, bound, deviation, pulls or number.
import { get, list, studyPath } from './api.js';
import { axesOf } from './axes.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { count, number, value } from './format.js';
import { predictCandidates } from './predict.js';
import { objective, trialsOf } from './study-actions.js';
import { control, empty, guarded, panel, select, table } from './widgets.js';

const PAGE = 50;
const WHOLE = 20000; // so many candidates are read and sorted in the browser
const TRIALS = 20000; // so many trials are counted

const ORDERS = { mean: 'mean', ucb: 'optimistic bound', std: 'deviation', pulls: 'pulls', candidate: 'number' };

// Candidate -> {pulls, sum}, from the trials that were told.
async function pullsOf(study, signal) {
  const pulls = new Map();
  const trials = await list(studyPath(study.id, '/trials'), { page_token: Math.max(0, trialsOf(study) - TRIALS) || undefined }, signal);
  for (const trial of trials) {
    if (trial.value === undefined) continue;
    const entry = pulls.get(trial.candidate) ?? { pulls: 0, sum: 0 };
    entry.pulls += 1;
    entry.sum += trial.value;
    pulls.set(trial.candidate, entry);
  }
  return pulls;
}

// All candidates as {candidate, mean, std, ucb, pulls, told}: `told` is the mean of the told values.
async function readAll(study, signal) {
  const numbers = Array.from({ length: study.candidates }, (_, i) => i);
  const pulls = await pullsOf(study, signal);
  let predictions = [];
  try {
    predictions = await predictCandidates(study.id, numbers, signal);
  } catch (error) {
    if (error.status !== 409) throw error; // an algorithm without a model
  }
  return numbers.map((candidate) => {
    const own = pulls.get(candidate);
    return { candidate, ...predictions[candidate], pulls: own?.pulls ?? 0, told: own ? own.sum / own.pulls : null };
  });
}

export async function candidatesTab(element, feed, signal) {
  const metric = objective(feed.study);
  const view = panel('Candidates', { wide: true });
  const pager = h('div', { class: 'pager' });
  const state = { order: 'mean', page: 0, tried: false };
  let rows = [];
  const points = new Map(); // candidate -> point, of those seen so far

  // For a minimized metric the best mean is the smallest one.
  const sign = metric.goal === 'minimize' ? 1 : -1;
  const orders = {
    mean: (a, b) => sign * (a.mean - b.mean),
    ucb: (a, b) => sign * (a.ucb - b.ucb),
    std: (a, b) => b.std - a.std,
    pulls: (a, b) => b.pulls - a.pulls,
    candidate: () => 0,
  };

  async function readPoint(candidate) {
    const found = await get(studyPath(feed.id, `/candidates/${candidate}`), signal);
    points.set(candidate, found.point);
  }

  async function readPoints(visible) {
    if (feed.study.domain.type !== 'candidates') return;
    const [first, ...missing] = visible.filter((row) => !points.has(row.candidate)).map((row) => row.candidate);
    if (first !== undefined) await readPoint(first);
    await Promise.all(missing.map(readPoint));
  }

  function columns() {
    const axes = axesOf(feed.study).slice(0, 8);
    const point = (row, axis) => {
      const at = points.get(row.candidate)?.[axis.index];
      return at === undefined ? '' : value(at);
    };
    return [
      { title: 'Candidate', class: 'right', cell: (r) => `#${r.candidate}` },
      { title: 'Mean', class: 'right', cell: (r) => number(r.mean) },
      { title: 'Std', class: 'right', cell: (r) => number(r.std, 3) },
      { title: 'Optimistic bound', class: 'right', cell: (r) => number(r.ucb) },
      { title: 'Pulls', class: 'right', cell: (r) => count(r.pulls) },
      { title: 'Mean told', class: 'right', cell: (r) => number(r.told) },
      ...(points.size ? axes.map((axis) => ({ title: axis.name, class: 'right', cell: (r) => point(r, axis) })) : []),
    ];
  }

  async function draw() {
    const found = rows.filter((r) => !state.tried || r.pulls > 0).sort((a, b) => orders[state.order](a, b) || a.candidate - b.candidate);
    const last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
    state.page = Math.min(state.page, last);
    const visible = found.slice(state.page * PAGE, (state.page + 1) * PAGE);
    const step = (by, text) =>
      h('button', { type: 'button', class: 'small', disabled: state.page + by < 0 || state.page + by > last, onclick: () => {
        state.page += by;
        draw();
      } }, text);
    try {
      await readPoints(visible);
    } catch {
      if (signal.aborted) return;
      // Without their points they are still known by their numbers.
    }
    replace(view.body, visible.length ? table('Candidates', columns(), visible) : empty('There are none.'));
    replace(pager, step(-1, 'Previous'), h('span', {}, `page ${state.page + 1} of ${last + 1}`), step(1, 'Next'));
  }
  const again = (change) => {
    change();
    state.page = 0;
    draw();
  };

  replace(view.tools, control('sorted by', select(Object.entries(ORDERS), 'mean', (order) => again(() => (state.order = order)))), control('only', select([['', 'all'], ['tried', 'tried ones']], '', (only) => again(() => (state.tried = Boolean(only))))));
  replace(element, h('div', { class: 'panels' }, view.element), pager);

  if (feed.study.domain.type === 'space') {
    view.fail('A space has no list of candidates. Its trials are under Trials, and what the model believes under Posterior.');
    return;
  }
  const read = refresher(
    () =>
      guarded(
        view,
        'predictions',
        async () => {
          if (feed.study.candidates > WHOLE) throw new TypeError(`${count(feed.study.candidates)} candidates are too many to be sorted here (up to ${count(WHOLE)}).`);
          rows = await readAll(feed.study, signal);
          view.note(`${count(rows.length)} candidates, as the model of the open batch expects them.`);
          await draw();
        },
        signal,
      ),
    signal,
    2000,
  );
  feed.on('model', read, signal);
  read();
}
