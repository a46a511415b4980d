// Learning curves: the intermediate measurements of the last trials as lines. Trials that were stopped are dashed; the
// best trial and the median of all are drawn on top. A click opens the trial of the nearest line.
import { list, studyPath } from './api.js';
import { chart, robustRange } from './chart.js';
import { refresher } from './feed.js';
import { count, plural, titleOf } from './format.js';
import { address, go } from './router.js';
import { handedOut, hasFront, objective } from './study-actions.js';
import { faded, colour } from './theme.js';
import { lastTrials } from './trials.js';
import { guarded, legend, panel, toggle } from './widgets.js';

const MOST = 500; // trials
const POINTS = 60; // of a line
const RUNGS = 40;

// The value of a curve at a step, between its measurements; NaN outside them.
function valueAt({ steps, values }, step) {
  const after = steps.findIndex((s) => s >= step);
  if (after < 0 || step < steps[0]) return NaN;
  if (steps[after] === step) return values[after];
  const share = (step - steps[after - 1]) / (steps[after] - steps[after - 1]);
  return values[after - 1] + share * (values[after] - values[after - 1]);
}

function median(values) {
  const known = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (!known.length) return null;
  const middle = known.length / 2;
  return Number.isInteger(middle) ? (known[middle - 1] + known[middle]) / 2 : known[Math.floor(middle)];
}

// -> [{trial, stopped, value, steps, values}] of the last trials that have measurements, by number
async function readCurves(study, signal) {
  const last = handedOut(study);
  if (!last) return [];
  const [items, trials] = await Promise.all([
    list(studyPath(study.id, '/measurements'), { trials: `${Math.max(1, last - MOST + 1)}-${last}`, points: POINTS }, signal, MOST),
    lastTrials(study, MOST, signal),
  ]);
  const byId = new Map(trials.map((trial) => [trial.id, trial]));
  return items.map(({ trial, measurements }) => {
    const attempt = Math.max(...measurements.map((m) => m.attempt));
    const own = measurements.filter((m) => m.attempt === attempt);
    const { state, value } = byId.get(trial) ?? {};
    return { trial, stopped: state === 'stopped', value, steps: own.map((m) => m.step), values: own.map((m) => m.value) };
  });
}

// The steps at which successive halving judges, up to the last step.
function rungsOf({ stopping }, last) {
  if (stopping?.rule !== 'successive_halving') return [];
  return Array.from({ length: RUNGS }, (_, k) => stopping.min_resource * stopping.reduction ** k).filter((step) => step <= last);
}

function drawCurves(u, curves, rungs) {
  const { ctx, bbox } = u;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineWidth = ratio;
  ctx.strokeStyle = colour('strong-line');
  ctx.setLineDash([2 * ratio, 4 * ratio]);
  for (const step of rungs) {
    const x = u.valToPos(step, 'x', true);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  for (const { stopped, steps, values } of curves) {
    ctx.strokeStyle = stopped ? faded('muted', 0.5) : faded('c-value', curves.length > 60 ? 0.3 : 0.5);
    ctx.setLineDash(stopped ? [4 * ratio, 3 * ratio] : []);
    ctx.beginPath();
    steps.forEach((step, i) => ctx.lineTo(u.valToPos(step, 'x', true), u.valToPos(values[i], 'y', true)));
    ctx.stroke();
  }
  ctx.restore();
}

// -> the panel's element; it is hidden while no trial has measurements
export function curvesPanel(feed, signal) {
  const metric = hasFront(feed.study) ? { name: 'value', goal: 'maximize' } : objective(feed.study);
  const better = (a, b) => (metric.goal === 'minimize' ? a < b : a > b);
  const view = panel('Learning curves', { wide: true });
  let [curves, rungs, best, range, whole] = [[], [], null, null, false];
  const logs = { x: false, y: false };
  const options = () => ({
    label: 'Learning curves: the intermediate measurements by step',
    height: 300,
    x: { label: 'step', log: logs.x, show: count },
    y: { label: titleOf(metric), log: logs.y, ...(!logs.y && range && { range: () => [range.low, range.high] }) },
    series: [
      { label: best ? `trial ${count(best.trial)}, the best` : 'best', colour: 'c-best', width: 2.5 },
      { label: 'median', colour: 'c-third', width: 2, dash: [8, 4] },
      { label: 'least', colour: 'muted', kind: 'points', size: 0, quiet: true },
      { label: 'greatest', colour: 'muted', kind: 'points', size: 0, quiet: true },
    ],
    draw: (u) => drawCurves(u, curves.filter((curve) => curve !== best), rungs),
    open: (step, y) => {
      const near = curves.filter((curve) => Number.isFinite(valueAt(curve, step)));
      const found = y === undefined ? best : near.reduce((a, b) => (!a || Math.abs(valueAt(b, step) - y) < Math.abs(valueAt(a, step) - y) ? b : a), null);
      if (found) go(address('studies', feed.id, 'trials', found.trial));
    },
  });
  const plot = chart(view.body, options(), signal);

  function show() {
    view.element.hidden = !curves.length;
    if (!curves.length) return;
    const steps = [...new Set(curves.flatMap((curve) => curve.steps))].sort((a, b) => a - b);
    rungs = rungsOf(feed.study, steps.at(-1));
    best = curves.filter((curve) => curve.value !== undefined && !curve.stopped).reduce((a, b) => (!a || better(b.value, a.value) ? b : a), null);
    const all = curves.flatMap((curve) => curve.values);
    range = whole ? null : robustRange(all, metric.goal === 'minimize' ? 'low' : 'high');
    const at = steps.map((step) => curves.map((curve) => valueAt(curve, step)).filter(Number.isFinite));
    plot.change(options());
    plot.set([
      steps,
      best ? steps.map((step) => valueAt(best, step)).map((x) => (Number.isNaN(x) ? null : x)) : steps.map(() => null),
      at.map(median),
      at.map((values) => Math.min(...values)),
      at.map((values) => Math.max(...values)),
    ]);
    const stopped = curves.filter((curve) => curve.stopped).length;
    view.note(`${plural(curves.length, 'trial')} with measurements among the last ${count(Math.min(MOST, handedOut(feed.study)))}${stopped ? `; ${count(stopped)} of them stopped` : ''}. Click a line to open its trial.`);
  }
  const change = (set) => {
    set();
    show();
  };
  view.tools.append(
    legend([['line c-value', 'trial'], ['dashed muted', 'stopped'], ['line c-best', 'best'], ['dashed c-third', 'median']]),
    toggle('log steps', false, (on) => change(() => (logs.x = on))),
    toggle('log values', false, (on) => change(() => (logs.y = on))),
    toggle('outliers', false, (on) => change(() => (whole = on))),
  );
  view.element.hidden = true;
  const read = refresher(
    () =>
      guarded(
        view,
        'learning curves',
        async () => {
          const before = JSON.stringify(curves);
          curves = await readCurves(feed.study, signal);
          if (JSON.stringify(curves) !== before) show();
        },
        signal,
      ),
    signal,
    3000,
  );
  feed.on('trials', read, signal);
  read();
  return view.element;
}
