// The result and the progress: recommended and best settings, every value and the best so far, the regret if the optimum
// is known, the reasons of failures, and the pending trials.
import { list, studyPath } from './api.js';
import { chart, robustRange } from './chart.js';
import { curvesPanel } from './curves.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { count, number, plural, titleOf, withUnit } from './format.js';
import { pendingTable } from './pending.js';
import { showResult } from './result.js';
import { address, go, here, setQuery } from './router.js';
import { placeTitle, readSeries, readSharedSeries, SHARED } from './series.js';
import { hasFront, objective, otherMetrics, told } from './study-actions.js';
import { colour } from './theme.js';
import { control, guarded, later, legend, panel, reasonOf, select, toggle } from './widgets.js';

const startSnippets = later(() => import('./tab-connect.js'), 'startSnippets');
const readEnded = later(() => import('./failures.js'), 'readEnded');
const showFailures = later(() => import('./failures.js'), 'showFailures');
const scatterPanel = later(() => import('./scatter.js'), 'scatterPanel');
const timeView = later(() => import('./by-time.js'), 'timeView');
const hoverLabel = later(() => import('./hover-label.js'), 'hoverLabel');
const MOST = 200; // pending trials shown

// The regret of the best value so far; if all values are given, also the mean regret of the trials so far. With noise, a
// value may be better than the optimum, and its regret is then negative.
function regretColumns(points, optimum, minimize, complete) {
  const gap = (value) => (value === null ? null : minimize ? value - optimum : optimum - value);
  let sum = 0;
  let n = 0;
  const mean = points.map((p) => {
    if (p.value === null) return null;
    sum += gap(p.value);
    n += 1;
    return sum / n;
  });
  const columns = [points.map((p) => p.at), points.map((p) => gap(p.best))];
  return complete ? [...columns, mean] : columns;
}

const MARK = 5; // px

// Lines through the point 0, 0 of a mark, in halves of its size.
const MARKS = {
  failed: ['bad', [[-1, -1, 1, 1], [1, -1, -1, 1]]],
  infeasible: ['muted', [[-1, -1, 1, 1], [1, -1, -1, 1]]],
  stopped: ['muted', [[-1, 1, 1, 1]]],
};

// Marks on the chart's edge: at the bottom trials without a full value, [{at, state}], and arrows where values are beyond the axis.
function drawMarks(u, ended) {
  const { ctx, bbox } = u;
  const size = MARK * devicePixelRatio;
  const inside = (x) => x >= bbox.left && x <= bbox.left + bbox.width;
  ctx.save();
  ctx.lineWidth = 1.5 * devicePixelRatio;
  for (const { at, state } of ended) {
    const x = u.valToPos(at, 'x', true);
    const y = bbox.top + bbox.height - size;
    if (!inside(x)) continue;
    const [line, strokes] = MARKS[state];
    ctx.strokeStyle = colour(line);
    ctx.beginPath();
    for (const [fromX, fromY, toX, toY] of strokes) {
      ctx.moveTo(x + (fromX * size) / 2, y + (fromY * size) / 2);
      ctx.lineTo(x + (toX * size) / 2, y + (toY * size) / 2);
    }
    ctx.stroke();
  }
  ctx.fillStyle = colour('c-value');
  const { min, max } = u.scales.y;
  u.data[1].forEach((value, i) => {
    if (!Number.isFinite(value) || (value >= min && value <= max)) return;
    const x = u.valToPos(u.data[0][i], 'x', true);
    if (!inside(x)) return;
    const [edge, step] = value > max ? [bbox.top, size] : [bbox.top + bbox.height, -size];
    ctx.beginPath();
    ctx.moveTo(x, edge);
    ctx.lineTo(x - size, edge + 1.6 * step);
    ctx.lineTo(x + size, edge + 1.6 * step);
    ctx.fill();
  });
  ctx.restore();
}

export async function overviewTab(element, feed, signal) {
  const front = { name: 'hypervolume', goal: 'maximize' };
  const first = hasFront(feed.study) ? front : objective(feed.study);
  const metrics = [...new Set([first, objective(feed.study), ...otherMetrics(feed.study)])];
  const asked = here().query;
  let metric = metrics.find(({ name }) => name === asked.get('metric')) ?? first; // what the chart shows
  const { optimum } = feed.study; // of the first metric
  const logs = { x: false, y: false };
  let [whole, robust, ended, endedThen] = [false, null, [], '0,0,0'];
  let [points, drawn, reported] = [[], [], 0]; // by trial, as they are drawn, and how many there are in all
  let scale = ''; // what the axes were made for
  let time = null; // {axis, order}, while the chart is by time
  // The axis reaches as far as the trials without a value.
  const reach = (u, from, to) => {
    const places = marked().map(({ at }) => at);
    const [low, high] = [Math.min(from, ...places), Math.max(to, ...places)];
    return low < high ? [low, high] : [low - 1, high + 1];
  };
  const axes = () => ({
    x: time ? { ...time.axis, range: reach } : { ...(logs.x ? {} : { range: reach }), label: placeTitle(points), log: logs.x, whole: true, show: (at) => (Number.isInteger(at) ? count(at) : '–, imported') },
    y: { label: titleOf(metric), log: logs.y, ...(!logs.y && !whole && robust && { range: () => [robust.low, robust.high] }) },
  });
  const openTrial = (id) => Number.isInteger(id) && go(address('studies', feed.id, 'trials', id)); // no imported value
  const marked = () => ended.map((t) => ({ at: time ? Date.parse(t.told_at) : t.id, state: t.state }));
  const hover = (u, stage) => hoverLabel(u, stage, feed.study, drawn[u.cursor.idx], metric, signal).catch((error) => course.fail(reasonOf(error, 'this'), true));
  const logTrials = toggle('log trials', false, (on) => {
    logs.x = on;
    plot.change(axes());
  });
  async function along(chosen) {
    keep(chosen);
    try {
      time = chosen === 'time' ? await timeView(feed.study) : null;
    } catch (error) {
      course.fail(reasonOf(error, 'this'), true);
      return;
    }
    logTrials.hidden = Boolean(time);
    plot.change(axes());
    if (points.length) draw();
  }
  const keep = (way) => setQuery({ along: way === 'time' ? way : '', metric: metric === first ? '' : metric.name });
  async function choose(name) {
    metric = metrics.find((m) => m.name === name);
    if (metric === front && time) time = null; // hypervolumes are by trial
    alongChoice.hidden = metric === front;
    alongChoice.querySelector('select').value = time ? 'time' : 'trial';
    logTrials.hidden = Boolean(time);
    keep(time ? 'time' : 'trial');
    readCourse();
  }
  function draw() {
    drawn = time ? time.order(metric.goal, points) : points;
    const places = drawn.map((p) => p.at);
    plot.set([places, drawn.map((p) => p.value), drawn.map((p) => p.best ?? null), ...(optimum === undefined ? [] : [places.map(() => (metric === first ? optimum : null))])]);
    const best = points.at(-1)?.best;
    plot.describe(`Values and the best so far by ${time ? 'time' : placeTitle(points)}: ${count(reported)} values${best === undefined ? '' : `, the best is ${withUnit(number(best), metric.unit)}`}`);
  }

  const alongChoice = control('Along', select([['trial', 'trials'], ['time', 'time']], asked.get('along') === 'time' ? 'time' : 'trial', along));
  alongChoice.hidden = metric === front;
  const keys = h('div');
  const showKeys = () => {
    const states = [['cross', 'failed'], ['cross grey', 'infeasible'], ['cross bar grey', 'stopped']].filter(([, state]) => ended.some((t) => t.state === state));
    replace(keys, legend([['points c-value', 'value'], ['line c-best', 'best so far'], ...(optimum === undefined ? [] : [['dashed c-optimum', 'optimum']]), ...states]));
  };
  showKeys();
  const course = panel('Values and the best so far', {
    wide: true,
    tools: [
      keys,
      metrics.length > 1 ? control('Metric', select(metrics.map(({ name }) => [name, name]), metric.name, choose)) : null,
      alongChoice,
      logTrials,
      toggle('log values', false, (on) => {
        logs.y = on;
        plot.change(axes());
      }),
      toggle('outliers', false, (on) => {
        whole = on;
        plot.change(axes());
      }),
    ],
  });
  const result = panel('Result', { wide: true });
  const start = panel('No results yet', { wide: true, note: 'Start a worker: it asks for a trial, evaluates it and reports the value. One of these will do.' });
  const failures = panel('Failures', { wide: true });
  const pending = panel('Pending trials', { wide: true });
  const known = optimum !== undefined && `The distance to the known optimum, ${withUnit(number(optimum), first.unit)}.`;
  const regret = known ? panel('Regret', { wide: true, note: known }) : null;
  result.element.hidden = true;
  start.element.hidden = true;
  failures.element.hidden = true;
  const scatter = otherMetrics(feed.study).length ? await scatterPanel(feed, signal) : null;
  replace(element, h('div', { class: 'panels' }, result.element, start.element, failures.element, scatter, course.element, curvesPanel(feed, signal), regret?.element, pending.element));

  const plot = chart(
    course.body,
    {
      label: 'Values and the best so far by trial',
      height: 320,
      ...axes(),
      open: (x, y, index) => openTrial(drawn[index].trial),
      hover,
      draw: (u) => drawMarks(u, marked()),
      series: [
        { label: 'value', colour: 'c-value', kind: 'points', faint: 0.85, size: 5.5 },
        { label: 'best', colour: 'c-best', kind: 'steps', width: 2.25 },
        ...(optimum === undefined ? [] : [{ label: 'optimum', colour: 'c-optimum', dash: [6, 5], quiet: true, width: 1.25 }]),
      ],
    },
    signal,
  );
  let regretPoints = [];
  const regretPlot =
    regret &&
    chart(
      regret.body,
      {
        label: 'Regret by trial',
        height: 220,
        x: { label: 'trial', whole: true, show: count },
        y: { label: titleOf({ name: 'regret', unit: first.unit }), log: true },
        open: (x, y, index) => openTrial(regretPoints[index].trial),
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
          const wanted = metric;
          const own = await readSharedSeries(feed.id, feed.signal);
          const { items, count: all } = wanted === first ? own : await readSeries(feed.id, SHARED, feed.signal, wanted.name);
          if (wanted !== metric) return; // another has been chosen, and is read next
          [points, reported] = [items, all];
          showStart(!own.count);
          const good = { minimize: 'low', maximize: 'high' }[metric.goal] ?? 'none';
          robust = robustRange(points.map((p) => p.value), good);
          const now = JSON.stringify([robust, metric.name, placeTitle(points)]);
          const rescaled = now !== scale;
          scale = now;
          if (rescaled) plot.change(axes());
          draw();
          const complete = points.length === all;
          const notes = [
            complete ? '' : `${count(points.length)} of ${count(all)} values are drawn, including all extremes.`,
            robust && !whole && !logs.y ? `${plural(robust.outside, 'value')} ${robust.outside === 1 ? 'is' : 'are'} beyond the axis (arrows); tick “outliers” to see ${robust.outside === 1 ? 'it' : 'them'}.` : '',
            all ? 'Click a value to open its trial. Drag to zoom in; double-click to see all.' : '',
          ];
          course.note(notes.filter(Boolean).join(' '));
          if (!regret) return;
          const exact = own.items.length === own.count;
          const columns = regretColumns(own.items, optimum, first.goal === 'minimize', exact);
          const below = columns.slice(1).some((column) => column.some((gap) => gap < 0));
          regret.note(`${known}${below ? ' Below zero: noise made values better than the optimum.' : ''}`);
          regretPoints = own.items;
          if (rescaled) regretPlot.change({ x: { label: placeTitle(own.items), whole: true, show: count } });
          regretPlot.set(exact ? columns : [...columns, columns[0].map(() => null)]);
        },
        signal,
      ),
    signal,
  );
  // While there are no values, the panels that would be empty give way to what to do.
  function showStart(on) {
    start.element.hidden = !on || feed.study.state !== 'active' || told(feed.study) > 0;
    course.element.hidden = on;
    if (regret) regret.element.hidden = on;
    if (on && !start.body.firstChild) startSnippets(feed.study).then((snippets) => replace(start.body, snippets), () => {}); // read again later
  }
  const readResult = refresher(
    () =>
      guarded(
        result,
        'a result',
        async () => {
          const any = feed.study.best || feed.study.observations;
          result.element.hidden = !any || !(await showResult(result.body, feed.study, signal));
        },
        signal,
      ),
    signal,
    1500,
  );
  const readFailed = refresher(
    () =>
      guarded(
        failures,
        'a list of trials',
        async () => {
          const { trials_failed: failed, trials_infeasible: infeasible, trials_stopped: stopped } = feed.study;
          const now = [failed, infeasible, stopped].join();
          failures.element.hidden = !failed;
          if (now === endedThen) return;
          ended = await readEnded(feed.study, signal);
          if (failed) await showFailures(failures.body, feed.study, ended.filter(({ state }) => state === 'failed'));
          endedThen = now;
          showKeys();
          plot.change(axes());
        },
        signal,
      ),
    signal,
    3000,
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
  const table = pendingTable(feed.study, pending.body, signal);
  if (asked.get('along') === 'time' && metric !== front) await along('time');
  feed.on('series', readCourse, signal);
  feed.on('series', readResult, signal);
  feed.on('model', readResult, signal);
  feed.on('shown', readFailed, signal);
  feed.on('trials', readPending, signal);
  readResult();
  readCourse();
  readFailed();
  readPending();
}
