// The model around the best point: a slice along each parameter, and a map of two parameters.
import { axesWithRanges, isActive, moved, places, position } from './axes.js';
import { basePoint } from './base-point.js';
import { chart } from './chart.js';
import { choiceAxis } from './choice-axis.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { number, titleOf, value } from './format.js';
import { heatmap } from './heatmap.js';
import { pointText } from './pending.js';
import { predict } from './predict.js';
import { modelledMetrics } from './study-actions.js';
import { colour } from './theme.js';
import { drawTried, rangeWith, triedDots } from './tried.js';
import { notableTrials } from './trials.js';
import { control, empty, guarded, legend, NothingToShow, panel, select, toggle } from './widgets.js';

const SLICE = 61; // places along a parameter
const SLICES = 24; // parameters drawn
const LABELS = 5; // labels of choices along an axis
const MAP = 48; // places per side
const TRIED = 250; // of the best trials on the maps, and as many of the newest
const BESIDE = { std: 'Standard deviation', ucb: 'Optimistic bound' };

const rangeOf = (predictions, dots) => rangeWith(Math.min(...predictions.map((p) => p.mean - 2 * p.std)), Math.max(...predictions.map((p) => p.mean + 2 * p.std)), dots);

// A small chart of the mean and two standard deviations along one axis.
class Slice {
  constructor(parent, axis, metric, signal) {
    this.axis = axis;
    this.title = h('h3', {}, axis.name);
    this.metric = metric;
    this.body = h('div');
    this.element = h('div', { class: 'slice' }, this.title, this.body);
    parent.append(this.element);
    const band = axis.choices ? { bands: undefined } : { bands: [{ series: [1, 3], colour: 'c-value', opacity: 0.2 }] };
    this.plot = chart(
      this.body,
      {
        label: `Posterior along ${axis.name}`,
        height: 170,
        x: {
          label: titleOf(axis),
          log: axis.log,
          show: (x) => (axis.choices ? value(axis.choices[x]) : number(x)),
          ...(axis.choices && choiceAxis(axis.choices, LABELS)),
        },
        y: { label: titleOf(metric), range: () => this.range ?? [0, 1] },
        series: [
          { label: '+2 std', colour: 'c-value', width: axis.choices ? 0.01 : 0.75, faint: 0.6, dots: Boolean(axis.choices), quiet: true },
          { label: 'mean', colour: 'c-value', dots: Boolean(axis.choices), width: axis.choices ? 0.01 : 2 },
          { label: '−2 std', colour: 'c-value', width: axis.choices ? 0.01 : 0.75, faint: 0.6, dots: Boolean(axis.choices), quiet: true },
        ],
        ...band,
        draw: (u) => this.mark(u),
      },
      signal,
    );
  }

  // Draws the tried settings, and a line at the best point; for choices, also the spans of two standard deviations.
  mark(u) {
    const { ctx } = u;
    drawTried(u, this.tried ?? []);
    ctx.save();
    ctx.lineWidth = 1.5 * devicePixelRatio;
    if (this.axis.choices) {
      ctx.strokeStyle = colour('c-value');
      u.data[0].forEach((x, i) => {
        const at = u.valToPos(x, 'x', true);
        ctx.beginPath();
        ctx.moveTo(at, u.valToPos(u.data[1][i], 'y', true));
        ctx.lineTo(at, u.valToPos(u.data[3][i], 'y', true));
        ctx.stroke();
      });
    }
    if (Number.isFinite(this.at)) {
      ctx.strokeStyle = colour('c-best');
      ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
      const at = u.valToPos(this.at, 'x', true);
      ctx.beginPath();
      ctx.moveTo(at, u.bbox.top);
      ctx.lineTo(at, u.bbox.top + u.bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  show(at, places_, predictions, range, metric, tried) {
    this.tried = tried;
    if (metric !== this.metric) this.plot.change({ y: { label: titleOf(metric), range: () => this.range ?? [0, 1] } });
    this.metric = metric;
    this.at = at;
    this.range = range;
    const x = this.axis.choices ? places_.map((_, i) => i) : places_;
    const mean = predictions.map((p) => p.mean);
    this.plot.set([x, predictions.map((p) => p.mean + 2 * p.std), mean, predictions.map((p) => p.mean - 2 * p.std)]);
    this.plot.describe(`Posterior mean along ${this.axis.name}, from ${number(Math.min(...mean))} to ${number(Math.max(...mean))}`);
  }
}

// The place of a trial on an axis of a map, as a fraction of places; null outside.
function placeOf(axis, places_, item) {
  const at = position(axis, item);
  if (at === undefined || at < 0) return null;
  if (axis.choices) return at;
  const [low, high] = [places_[0], places_.at(-1)];
  const share = axis.log ? Math.log(at / low) / Math.log(high / low) : (at - low) / (high - low);
  return Number.isFinite(share) ? share * (places_.length - 1) : 0;
}

export async function posteriorTab(element, feed, signal) {
  if (feed.study.domain.type === 'precomputed') {
    replace(element, empty('This study has a kernel matrix; its candidates have no parameters to vary.'));
    return;
  }
  const modelled = modelledMetrics(feed.study);
  let metric = modelled[0];
  const choice = { through: 'recommended', x: '', y: '', what: 'std', together: false };
  const slices = panel('Along each parameter', {
    wide: true,
    tools: [
      legend([['line c-value', 'mean'], ['band c-value', '± 2 std'], ['dashed c-best', 'the point'], ['points c-best', 'tried']]),
      ...(modelled.length > 1 ? [control('of', select(modelled.map(({ name }) => [name, name]), metric.name, (name) => {
        metric = modelled.find((m) => m.name === name);
        read();
      }))] : []),
      control('through', select([['recommended', 'the best mean'], ['observed', 'the best reported value']], choice.through, (which) => {
        choice.through = which;
        read();
      })),
      toggle('same scale', false, (on) => {
        choice.together = on;
        read();
      }),
    ],
  });
  const map = panel('Maps of two parameters', { wide: true });
  replace(element, h('div', { class: 'panels' }, slices.element, map.element));

  let axes = [];
  let drawn = null; // the slices
  const grid = h('div', { class: 'slices' });
  const titles = [h('h3', {}, 'Mean'), h('h3', {}, BESIDE.std)];
  const places_ = [h('div'), h('div')];
  replace(slices.body, grid);
  replace(map.body, h('div', { class: 'maps' }, titles.map((title, i) => h('div', {}, title, places_[i]))));
  const pictures = places_.map((place) => heatmap(place, signal));

  function setUp() {
    axes.slice(0, SLICES).forEach((axis) => drawn.push(new Slice(grid, axis, metric, signal)));
    [choice.x, choice.y] = [axes[0].name, axes[1]?.name];
    map.element.hidden = axes.length < 2;
    const names = axes.map((axis) => [axis.name, axis.name]);
    const pick = (which, label) => control(label, select(names, choice[which], (name) => {
      choice[which] = name;
      readMap();
    }));
    replace(map.tools, pick('x', 'horizontal'), pick('y', 'vertical'), control('second map', select(Object.entries(BESIDE), choice.what, (what) => {
      choice.what = what;
      readMap();
    })));
    slices.note(axes.length > SLICES ? `The first ${SLICES} of ${axes.length} parameters.` : '');
  }

  let base = null;
  async function readSlices() {
    if (!axes.length) axes = await axesWithRanges(feed.study, signal);
    const found = await basePoint(feed.study, choice.through, signal);
    base = found?.item ?? null;
    if (!base) {
      map.element.hidden = true;
      throw new NothingToShow('No values have been reported yet.');
    }
    if (!drawn) {
      drawn = [];
      setUp();
    }
    for (const slice of drawn) slice.element.hidden = !isActive(slice.axis, axes, base);
    const active = drawn.filter((slice) => !slice.element.hidden);
    const along = active.map(({ axis }) => places(axis, SLICE));
    const items = along.flatMap((at, k) => at.map((x) => moved(base, axes, { [active[k].axis.name]: x })));
    const [predictions, trials] = await Promise.all([predict(feed.id, items, signal, metric.name), notableTrials(feed.study, TRIED, TRIED, signal)]);
    const dots = active.map(({ axis }) => triedDots(feed.study, axis, metric, trials));
    const common = rangeOf(predictions, dots[0] ?? []); // all have the same values
    let from = 0;
    active.forEach((slice, k) => {
      const own = predictions.slice(from, from + along[k].length);
      slice.show(position(slice.axis, base), along[k], own, choice.together ? common : rangeOf(own, dots[k]), metric, dots[k]);
      from += along[k].length;
    });
    const idle = drawn.filter((slice) => slice.element.hidden).map((slice) => slice.axis.name);
    slices.note(`${found.name ? `No result keeps all bounds: the slices go through ${found.name}. ` : ''}${metric.name} as the model predicts it, through ${pointText(base, feed.study)}. The dots are tried settings, whose other parameters differ; far ones are left out.${idle.length ? ` Not active there: ${idle.join(', ')}.` : ''}`);
  }

  const readMap = refresher(
    () =>
      guarded(
        map,
        'predictions',
        async () => {
          if (!base || axes.length < 2) return;
          const [x, y] = [choice.x, choice.y].map((name) => axes.find((axis) => axis.name === name));
          if (x === y) throw new NothingToShow('Choose two different parameters.');
          const idle = [x, y].find((axis) => !isActive(axis, axes, base));
          if (idle) throw new NothingToShow(`${idle.name} is not active at the point above.`);
          const [across, up] = [places(x, MAP), places(y, MAP)];
          const items = up.flatMap((v) => across.map((u) => moved(base, axes, { [x.name]: u, [y.name]: v })));
          const predictions = await predict(feed.id, items, signal, metric.name);
          const tried = await notableTrials(feed.study, TRIED, TRIED, signal);
          const mark = (item, best) => ({ i: placeOf(x, across, item), j: placeOf(y, up, item), best });
          const marks = [...tried.map((trial) => mark(trial, false)), mark(base, true)].filter((m) => m.i !== null && m.j !== null);
          ['mean', choice.what].forEach((what, k) =>
            pictures[k].show({
              label: `${what} over ${x.name} and ${y.name}`,
              x: { ...x, places: across },
              y: { ...y, places: up },
              values: up.map((_, j) => predictions.slice(j * across.length, (j + 1) * across.length).map((p) => p[what])),
              marks,
            }),
          );
          const { goal } = metric;
          replace(titles[0], `Mean of ${titleOf(metric)}${goal ? `: ${goal === 'minimize' ? 'dark' : 'bright'} is better` : ''}`);
          replace(titles[1], titleOf({ name: BESIDE[choice.what], unit: metric.unit }));
          const others = axes.filter((axis) => axis !== x && axis !== y);
          map.note(`${others.length ? `The other parameters have their values at the point above. ` : ''}Dots: tried points${feed.study.trials_completed > tried.length ? ` (the best ${TRIED} and the newest ${TRIED})` : ''}. Ring: the point above.`);
        },
        signal,
      ),
    signal,
    1000,
  );

  const read = refresher(
    () =>
      guarded(
        slices,
        'predictions',
        async () => {
          await readSlices();
          readMap();
        },
        signal,
      ),
    signal,
    1500,
  );
  feed.on('model', read, signal);
  read();
}
