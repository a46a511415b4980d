// The workers: a timeline of trials by worker, the same as figures, and the pending trials.
import { get, list, studyPath } from './api.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { ago, count, duration, percent } from './format.js';
import { ROWS, timeline } from './gantt.js';
import { pendingTable } from './pending.js';
import { drawnAs, saveMenu } from './save-menu.js';
import { lastTrials } from './trials.js';
import { control, empty, guarded, legend, NothingToShow, panel, select, table } from './widgets.js';

const TRIALS = 500; // in the timeline
const RETURNED = 100; // trials whose earlier attempts are shown
const MOST = 200; // pending trials shown
const NO_NAME = 'no name';

const WINDOWS = [['0', 'all'], ['300', '5 minutes'], ['1800', '30 minutes'], ['7200', '2 hours'], ['86400', '1 day']];

// {worker, state, from, to, trial}: the time for which a worker held a trial. `to` is now if the trial is pending.
function span(trial, now) {
  return {
    trial,
    worker: trial.worker ?? NO_NAME,
    state: trial.state,
    from: Date.parse(trial.issued_at),
    to: trial.told_at ? Date.parse(trial.told_at) : now,
  };
}

// The attempts that ended without being the trial's last word, one span each. The list has the attempt with the result.
function earlier(trial) {
  return trial.attempts
    .filter((a) => a.ended_at && (a.attempt !== trial.attempt || trial.state === 'queued' || trial.state === 'pending'))
    .map((a) => ({
      trial: { ...trial, attempt: a.attempt, value: undefined, reason: a.outcome },
      worker: a.worker ?? NO_NAME,
      state: a.outcome === 'failed' ? 'failed' : 'ended',
      returned: true,
      from: Date.parse(a.issued_at),
      to: Date.parse(a.ended_at),
    }));
}

// The length of the union of the spans, so that simultaneous trials do not count twice.
function busy(spans) {
  let [sum, end] = [0, -Infinity];
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    sum += Math.max(0, to - Math.max(from, end));
    end = Math.max(end, to);
  }
  return sum;
}

function summary(spans, now) {
  return [...Map.groupBy(spans, (s) => s.worker)].map(([worker, own]) => {
    const done = own.filter((s) => s.state !== 'pending' && !s.returned);
    const times = done.map((s) => (s.to - s.from) / 1000).sort((a, b) => a - b);
    const begun = Math.min(...own.map((s) => s.from));
    return {
      worker,
      told: done.length,
      failed: own.filter((s) => s.state === 'failed').length,
      attempts: own.filter((s) => s.state !== 'pending').length,
      pending: own.filter((s) => s.state === 'pending').length,
      median: times.length ? times[Math.floor(times.length / 2)] : null,
      busy: now > begun ? busy(own) / (now - begun) : 1,
      seen: Math.max(...own.map((s) => (s.state === 'pending' ? s.from : s.to))),
    };
  });
}

const COLUMNS = [
  { title: 'Worker', cell: (w) => w.worker },
  { title: 'Reported', class: 'right', cell: (w) => count(w.told) },
  { title: 'Failed', class: 'right', cell: (w) => (w.failed ? h('span', { class: 'alarm', title: 'including failures that are tried again' }, `${count(w.failed)} (${percent(w.failed / w.attempts)})`) : '0') },
  { title: 'Pending', class: 'right', cell: (w) => count(w.pending) },
  { title: 'Median', class: 'right', cell: (w) => duration(w.median) },
  { title: 'Busy', class: 'right', cell: (w) => percent(w.busy) },
  { title: 'Last seen', class: 'when', cell: (w) => ago(w.seen) },
];

export async function workersTab(element, feed, signal) {
  let seconds = 0; // length of the timeline; 0: all
  let trials = [];
  let returned = []; // spans of earlier attempts
  let unread = 0; // trials with earlier attempts that are not among them
  const histories = new Map(); // trial with its attempt and state -> the trial with all attempts
  const gantt = panel('Timeline', {
    wide: true,
    tools: [
      legend([['box s-pending', 'pending'], ['box s-completed', 'completed'], ['box s-failed', 'failed'], ['box s-other', 'infeasible, stopped, lease expired']]),
      control('last', select(WINDOWS, '0', (text) => {
        seconds = Number(text);
        draw();
      })),
    ],
  });
  const figures = panel('Workers');
  const pending = panel('Pending trials');
  replace(element, h('div', { class: 'panels' }, gantt.element, figures.element, pending.element));
  const picture = timeline(gantt.body, signal);
  gantt.tools.append(saveMenu(() => `timeline of ${feed.id}`, ...drawnAs(picture.picture)));
  const out = pendingTable(feed.study, pending.body, signal);

  function draw() {
    const now = Date.now();
    const spans = trials.filter((t) => t.issued_at && t.state !== 'queued').map((t) => span(t, now));
    spans.push(...returned);
    const active = spans.some((s) => s.state === 'pending');
    const end = active ? now : Math.max(...spans.map((s) => s.to));
    const begin = seconds ? end - 1000 * seconds : Math.min(...spans.map((s) => s.from));
    const seen = spans.filter((s) => s.to >= begin);
    picture.show(seen, begin, end);
    const notes = [unread ? `The earlier attempts of ${count(unread)} more trials are not counted.` : '', trials.length >= TRIALS ? `The last ${count(trials.length)} trials.` : '', new Set(seen.map((s) => s.worker)).size > ROWS ? `The ${ROWS} most recent workers.` : ''];
    gantt.note(notes.filter(Boolean).join(' '));
    return summary(seen, end);
  }

  // Trials that were handed out more than once are read one by one, because lists have only the last attempt.
  async function readReturned() {
    const all = trials.filter((t) => t.attempt > 1 || t.state === 'queued');
    const back = all.slice(-RETURNED);
    unread = all.length - back.length;
    const found = await Promise.all(
      back.map(async (t) => {
        const key = `${t.id} ${t.attempt} ${t.state}`;
        if (!histories.has(key)) histories.set(key, await get(studyPath(feed.id, `/trials/${t.id}`), signal));
        return histories.get(key);
      }),
    );
    returned = found.flatMap(earlier);
  }

  const read = refresher(
    () =>
      guarded(
        [gantt, figures],
        'the times of trials',
        async () => {
          trials = await lastTrials(feed.study, TRIALS, signal);
          if (!trials.some((t) => t.issued_at)) throw new NothingToShow('No trials have been handed out yet.');
          await readReturned();
          const workers = draw().sort((a, b) => a.worker.localeCompare(b.worker, undefined, { numeric: true }));
          replace(figures.body, workers.length ? table('Workers', COLUMNS, workers) : empty('No workers in this period.'));
        },
        signal,
      ),
    signal,
  );
  const readPending = refresher(
    () => guarded(pending, 'a list of trials', async () => out.show(await list(studyPath(feed.id, '/trials'), { state: 'pending' }, signal, MOST), feed.study.trials_pending), signal),
    signal,
  );
  feed.on('trials', read, signal);
  feed.on('trials', readPending, signal);
  const clock = setInterval(() => trials.some((t) => t.state === 'pending') && !document.hidden && draw(), 1000);
  signal.addEventListener('abort', () => clearInterval(clock));
  read();
  readPending();
}
