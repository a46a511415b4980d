// Any two metrics or parameters of the trials against each other, with the front where a study has one.
import { get, list, studyPath } from './api.js';
import { axesOf, position } from './axes.js';
import { chart } from './chart.js';
import { refresher } from './feed.js';
import { count, plural, titleOf } from './format.js';
import { address, go } from './router.js';
import { hasBounds, hasFront, isOutside, objective, otherMetrics } from './study-actions.js';
import { colour } from './theme.js';
import { control, guarded, later, legend, panel, select } from './widgets.js';

const choiceAxis = later(() => import('./choice-axis.js'), 'choiceAxis');

const MOST = 3000; // trials drawn, the newest

// What a chart may show: [{key, title, of(trial), log, choices, bounds}]
function quantitiesOf(study) {
  const first = objective(study);
  const metric = (m) => ({ bounds: [m.at_least, m.at_most].filter((x) => x !== undefined), key: `metric:${m.name}`, title: titleOf(m), of: (t) => t.values?.[m.name] ?? (m === first ? t.value : undefined) });
  const parameter = (axis) => ({ key: `parameter:${axis.name}`, title: titleOf(axis), of: (t) => position(axis, t), log: axis.log, choices: axis.choices });
  return [...[first, ...otherMetrics(study)].map(metric), { key: 'trial', title: 'trial', of: (t) => t.id }, ...axesOf(study).map(parameter)];
}

async function axis({ title, log, choices }) {
  return choices ? { label: title, ...(await choiceAxis(choices, 8)) } : { label: title, log };
}

// Dashed lines at the bounds of the two.
function drawBounds(u, x, y) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = colour('c-optimum');
  ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
  for (const [scale, { bounds = [] }] of [['x', x], ['y', y]])
    for (const bound of bounds) {
      const at = u.valToPos(bound, scale, true);
      const [from, length] = scale === 'x' ? [bbox.left, bbox.width] : [bbox.top, bbox.height];
      if (!(at >= from && at <= from + length)) continue;
      ctx.beginPath();
      ctx.moveTo(scale === 'x' ? at : bbox.left, scale === 'x' ? bbox.top : at);
      ctx.lineTo(scale === 'x' ? at : bbox.left + bbox.width, scale === 'x' ? bbox.top + bbox.height : at);
      ctx.stroke();
    }
  ctx.restore();
}

// -> the panel's element, null if the study has less than two metrics
export async function scatterPanel(feed, signal) {
  const { study } = feed;
  const front = hasFront(study);
  if (!otherMetrics(study).length) return null;
  const all = quantitiesOf(study);
  const limited = hasBounds(study);
  const metrics = [objective(study), ...otherMetrics(study)];
  const outside = (t) => metrics.some((m, i) => isOutside(m, t.values?.[m.name] ?? (i ? undefined : t.value)));
  const view = panel(front ? 'The front' : 'Two metrics', { wide: true });
  let [x, y] = all;
  let drawn = []; // trials, by x
  const options = async () => ({
    label: `${y.title} against ${x.title}`,
    height: 320,
    x: await axis(x),
    y: await axis(y),
    series: [
      { label: y.title, colour: 'c-value', kind: 'points', size: 5 },
      ...(front ? [{ label: 'front', colour: 'c-best', kind: 'points', size: 9 }] : []),
      ...(limited ? [{ label: 'outside a bound', colour: 's-other', kind: 'points', size: 7 }] : []),
    ],
    draw: (u) => drawBounds(u, x, y),
    open: (at) => {
      const trial = drawn.find((t) => x.of(t) === at);
      if (trial) go(address('studies', feed.id, 'trials', trial.id));
    },
  });
  const plot = chart(view.body, await options(), signal);

  async function readAll() {
    const [trials, best] = await Promise.all([
      list(studyPath(feed.id, '/trials'), { state: 'completed', sort: 'id', order: 'desc' }, signal, MOST),
      front ? get(studyPath(feed.id, '/best'), signal) : null,
    ]);
    const known = (q, t) => Number.isFinite(q.of(t)) && !(q.log && q.of(t) <= 0);
    drawn = trials.filter((t) => known(x, t) && known(y, t)).sort((a, b) => x.of(a) - x.of(b));
    const onFront = new Set(best?.observed?.pareto?.map((item) => item.trial));
    const only = (chosen) => drawn.map((t) => (chosen(t) ? y.of(t) : null));
    plot.set([drawn.map(x.of), drawn.map(y.of), ...(front ? [only((t) => onFront.has(t.id))] : []), ...(limited ? [only(outside)] : [])]);
    view.note(`${limited ? `${count(drawn.length - drawn.filter(outside).length)} of ${plural(drawn.length, 'result')} keep all bounds (dashed lines). ` : ''}${drawn.length < feed.study.trials_completed ? `The newest ${count(drawn.length)} trials. ` : ''}${front ? 'The large dots are results that no other result beats in every objective. ' : ''}Click a dot to open its trial.`);
  }
  const read = refresher(() => guarded(view, 'a list of trials', readAll, signal), signal, 2000);
  const pick = (label, chosen, take) =>
    control(label, select(all.map((q) => [q.key, q.title]), chosen.key, async (key) => {
      take(all.find((q) => q.key === key));
      plot.change(await options());
      read();
    }));
  view.tools.append(
    legend([['points c-value', 'results'], ...(front ? [['points c-best', 'front']] : []), ...(limited ? [['points s-other', 'outside a bound']] : [])]),
    pick('horizontal', x, (q) => (x = q)),
    pick('vertical', y, (q) => (y = q)),
  );
  feed.on('series', read, signal);
  read();
  return view.element;
}
