// Any two metrics or parameters of the trials against each other, with the front where a study has one.
import { get, list, studyPath } from './api.js';
import { axesOf, position, titleOf } from './axes.js';
import { chart } from './chart.js';
import { refresher } from './feed.js';
import { count, value } from './format.js';
import { address, go } from './router.js';
import { hasFront, objective, otherMetrics } from './study-actions.js';
import { control, guarded, legend, panel, select } from './widgets.js';

const MOST = 3000; // trials drawn, the newest

// What a chart may show: [{key, title, of(trial), log, choices}]
function quantitiesOf(study) {
  const first = objective(study);
  const metric = (m) => ({ key: `metric:${m.name}`, title: titleOf(m), of: (t) => t.values?.[m.name] ?? (m === first ? t.value : undefined) });
  const parameter = (axis) => ({ key: `parameter:${axis.name}`, title: titleOf(axis), of: (t) => position(axis, t), log: axis.log, choices: axis.choices });
  return [first, ...otherMetrics(study)].map(metric).concat(axesOf(study).map(parameter));
}

function axis(quantity) {
  const { choices } = quantity;
  if (!choices) return { label: quantity.title, log: quantity.log };
  return { label: quantity.title, range: [-0.5, choices.length - 0.5], splits: () => choices.map((_, i) => i), values: () => choices.map((x, i) => (i % Math.ceil(choices.length / 8) ? '' : value(x))) };
}

// -> the panel's element, null if the study has less than two metrics
export function scatterPanel(feed, signal) {
  const { study } = feed;
  const front = hasFront(study);
  if (!otherMetrics(study).length) return null;
  const all = quantitiesOf(study);
  const view = panel(front ? 'The front' : 'Two metrics', { wide: true });
  let [x, y] = all;
  let drawn = []; // trials, by x
  const options = () => ({
    label: `${y.title} against ${x.title}`,
    height: 320,
    x: axis(x),
    y: axis(y),
    series: [
      { label: y.title, colour: 'c-value', kind: 'points', size: 5 },
      ...(front ? [{ label: 'front', colour: 'c-best', kind: 'points', size: 9 }] : []),
    ],
    open: (at) => {
      const trial = drawn.find((t) => x.of(t) === at);
      if (trial) go(address('studies', feed.id, 'trials', trial.id));
    },
  });
  const plot = chart(view.body, options(), signal);

  async function readAll() {
    const [trials, best] = await Promise.all([
      list(studyPath(feed.id, '/trials'), { state: 'completed', sort: 'id', order: 'desc' }, signal, MOST),
      front ? get(studyPath(feed.id, '/best'), signal) : null,
    ]);
    const known = (q, t) => Number.isFinite(q.of(t)) && !(q.log && q.of(t) <= 0);
    drawn = trials.filter((t) => known(x, t) && known(y, t)).sort((a, b) => x.of(a) - x.of(b));
    const onFront = new Set(best?.observed?.pareto?.map((item) => item.trial));
    const columns = [drawn.map(x.of), drawn.map(y.of)];
    plot.set(front ? [...columns, drawn.map((t) => (onFront.has(t.id) ? y.of(t) : null))] : columns);
    view.note(`${drawn.length < feed.study.trials_completed ? `The newest ${count(drawn.length)} trials. ` : ''}${front ? 'The large dots are results that no other result beats in every objective. ' : ''}Click a dot to open its trial.`);
  }
  const read = refresher(() => guarded(view, 'a list of trials', readAll, signal), signal, 2000);
  const pick = (label, chosen, take) =>
    control(label, select(all.map((q) => [q.key, q.title]), chosen.key, (key) => {
      take(all.find((q) => q.key === key));
      plot.change(options());
      read();
    }));
  view.tools.append(
    ...(front ? [legend([['points c-value', 'results'], ['points c-best', 'front']])] : []),
    pick('horizontal', x, (q) => (x = q)),
    pick('vertical', y, (q) => (y = q)),
  );
  feed.on('series', read, signal);
  read();
  return view.element;
}
