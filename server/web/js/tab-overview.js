// Progress: every value and the best so far, the regret if the optimum is known, and the pending trials.
import { list, studyPath } from './api.js';
import { chart } from './chart.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { count, number } from './format.js';
import { pendingTable } from './pending.js';
import { readSharedSeries } from './series.js';
import { objective } from './study-actions.js';
import { guarded, legend, panel, toggle } from './widgets.js';

const MOST = 200; // pending trials shown

// The regret of the best value so far; if all values are given, also the mean regret of the trials so far.
function regretColumns(points, optimum, minimize, complete) {
  const gap = (value) => (value === null ? null : Math.max(0, minimize ? value - optimum : optimum - value));
  let sum = 0;
  let n = 0;
  const mean = points.map((p) => {
    if (p.value === null) return null;
    sum += gap(p.value);
    n += 1;
    return sum / n;
  });
  const columns = [points.map((p) => p.trial), points.map((p) => gap(p.best))];
  return complete ? [...columns, mean] : columns;
}

export async function overviewTab(element, feed, signal) {
  const metric = objective(feed.study);
  const { optimum } = feed.study;
  const logs = { x: false, y: false };
  const axes = () => ({
    x: { label: 'trial', log: logs.x, whole: true, show: count },
    y: { label: metric.name, log: logs.y },
  });

  const course = panel('Values and the best so far', {
    wide: true,
    tools: [
      legend([['points c-value', 'value'], ['line c-best', 'best so far'], ...(optimum === undefined ? [] : [['dashed c-optimum', 'optimum']])]),
      toggle('log trials', false, (on) => {
        logs.x = on;
        plot.change(axes());
      }),
      toggle('log values', false, (on) => {
        logs.y = on;
        plot.change(axes());
      }),
    ],
  });
  const pending = panel('Pending trials', { wide: true });
  const regret = optimum === undefined ? null : panel('Regret', { wide: true, note: `The distance to the known optimum, ${number(optimum)}.` });
  replace(element, h('div', { class: 'panels' }, course.element, regret?.element, pending.element));

  const plot = chart(
    course.body,
    {
      label: 'Values and the best so far by trial',
      height: 320,
      ...axes(),
      series: [
        { label: 'value', colour: 'c-value', kind: 'points', faint: 0.55, size: 4 },
        { label: 'best', colour: 'c-best', kind: 'steps', width: 2.25 },
        ...(optimum === undefined ? [] : [{ label: 'optimum', colour: 'c-optimum', dash: [6, 5], quiet: true, width: 1.25 }]),
      ],
    },
    signal,
  );
  const regretPlot =
    regret &&
    chart(
      regret.body,
      {
        label: 'Regret by trial',
        height: 220,
        x: { label: 'trial', whole: true, show: count },
        y: { label: 'regret', log: true },
        series: [
          { label: 'of the best so far', colour: 'c-best', kind: 'steps' },
          { label: 'mean over all trials', colour: 'c-third' },
        ],
      },
      signal,
    );

  const readCourse = refresher(
    () =>
      guarded(
        course,
        'the series of a study',
        async () => {
          const { items: points, count: all } = await readSharedSeries(feed.id, feed.signal);
          const trials = points.map((p) => p.trial);
          plot.set([trials, points.map((p) => p.value), points.map((p) => p.best), ...(optimum === undefined ? [] : [trials.map(() => optimum)])]);
          plot.describe(`Values and the best so far by trial: ${count(all)} values, the best is ${number(points.at(-1)?.best)}`);
          const complete = points.length === all;
          course.note(complete ? '' : `${count(points.length)} of ${count(all)} values are drawn, including all extremes. Drag to zoom in; double-click to see all.`);
          if (!regret) return;
          const columns = regretColumns(points, optimum, metric.goal === 'minimize', complete);
          regretPlot.set(complete ? columns : [...columns, columns[0].map(() => null)]);
        },
        signal,
      ),
    signal,
  );
  const readPending = refresher(
    () =>
      guarded(
        pending,
        'a list of trials',
        async () => {
          const trials = await list(studyPath(feed.id, '/trials'), { state: 'pending' }, signal, MOST);
          table.show(trials, feed.study.trials_pending);
        },
        signal,
      ),
    signal,
  );
  const table = pendingTable(pending.body, signal);
  feed.on('series', readCourse, signal);
  feed.on('trials', readPending, signal);
  readCourse();
  readPending();
}
