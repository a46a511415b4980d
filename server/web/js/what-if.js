// What if: move the settings, watch the prediction, and queue them as a trial.
import { post, studyPath } from './api.js';
import { axesWithRanges, isActive, moved, places, position } from './axes.js';
import { basePoint } from './base-point.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { count, number, percent, titleOf, value, withUnit } from './format.js';
import { predict } from './predict.js';
import { may } from './role.js';
import { modelledMetrics, objective } from './study-actions.js';
import { actionButton, guarded, NothingToShow, panel, toast } from './widgets.js';

const STEPS = 200; // of a slider

// One parameter: a slider over its places, or a choice. -> {element, show(base)}
function slider(axis, change) {
  const at = places(axis, STEPS);
  const shown = h('output', {});
  const input = h('input', { type: 'range', min: 0, max: at.length - 1, step: 1, 'aria-label': titleOf(axis) });
  const text = (x) => (typeof x === 'number' ? number(x, 4) : value(x));
  input.addEventListener('input', () => {
    const x = at[Number(input.value)];
    replace(shown, text(x));
    input.setAttribute('aria-valuetext', text(x));
    change(axis.name, x);
  });
  return {
    axis,
    element: h('div', { class: 'what-if-row' }, h('span', {}, titleOf(axis)), input, shown),
    show(base) {
      const now = position(axis, base);
      if (now === undefined) return;
      const nearest = axis.choices ? now : at.reduce((best, x, i) => (Math.abs(x - now) < Math.abs(at[best] - now) ? i : best), 0);
      input.value = String(nearest);
      replace(shown, text(axis.choices ? axis.choices[now] : now));
    },
  };
}

// -> {element, read()}
export function whatIfPanel(feed, signal) {
  const view = panel('What if');
  const { name } = objective(feed.study);
  const units = Object.fromEntries(modelledMetrics(feed.study).map((metric) => [metric.name, metric.unit]));
  const result = h('p', { class: 'result-value', 'aria-live': 'polite' });
  const rows = h('div', { class: 'what-if' });
  let base = null;
  let sliders = null;

  const ask = refresher(() => guarded(view, 'predictions', async () => {
    const [prediction] = await predict(feed.id, [base], signal);
    const all = prediction.values ?? { [name]: prediction };
    replace(result, Object.entries(all).map(([metric, { mean, std }]) => h('span', { class: 'predicted' }, h('span', { class: 'muted' }, `${metric} `), withUnit(`${number(mean)} ± ${number(2 * std, 2)}`, units[metric]))), prediction.feasible_probability === undefined ? null : h('small', { class: 'muted' }, `keeps all bounds with ${percent(prediction.feasible_probability)}`));
  }, signal), signal, 120);

  function show() {
    for (const row of sliders) {
      row.element.hidden = !isActive(row.axis, sliders.map((s) => s.axis), base);
      row.show(base);
    }
  }

  async function start(again) {
    if (base && !again) return ask();
    const found = await basePoint(feed.study, 'recommended', signal);
    if (!found) throw new NothingToShow('No values have been reported yet.');
    base = found.item;
    view.note(`Move the settings: the model says what it expects there, with two standard deviations.${found.name ? ` No result keeps all bounds: they begin with ${found.name}.` : ''}`);
    replace(back, `Back to ${found.name ?? 'the recommended settings'}`);
    if (!sliders) {
      const axes = await axesWithRanges(feed.study, signal);
      sliders = axes.map((axis) => slider(axis, (changed, x) => {
        base = moved(base, axes, { [changed]: x });
        show();
        ask();
      }));
      replace(rows, sliders.map((s) => s.element));
    }
    show();
    return ask();
  }

  const back = actionButton('Back to the recommended settings', { class: 'small' }, () => start(true));
  const queue = actionButton('Queue this', { class: 'small primary' }, async () => {
    const trial = await post(studyPath(feed.id, '/trials'), { parameters: base.parameters });
    toast(`Trial ${count(trial.id)} is queued. The next worker that asks gets it.`);
  });
  queue.hidden = true;
  if (feed.study.domain.type === 'space') may('worker', feed.id).then((allowed) => (queue.hidden = !allowed));
  replace(view.body, result, rows, h('div', { class: 'buttons' }, queue, back));
  return { element: view.element, read: () => guarded(view, 'predictions', () => start(false), signal) };
}
