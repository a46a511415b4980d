// What the model says: which parameters matter, how the metric follows each, how well it predicts, and what if.
import { get, query, studyPath } from './api.js';
import { axesOf } from './axes.js';
import { chart } from './chart.js';
import { choiceAxis } from './choice-axis.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { count, number, percent, plural, titleOf, value } from './format.js';
import { modelledMetrics, objective } from './study-actions.js';
import { colour } from './theme.js';
import { drawTried, rangeWith, triedDots } from './tried.js';
import { notableTrials } from './trials.js';
import { whatIfPanel } from './what-if.js';
import { control, empty, guarded, legend, panel, select } from './widgets.js';

const DRAWN = 12; // parameters whose effect is drawn, the most important ones
const POINTS = 25;
const TRIED = 300; // of the best and of the newest trials, drawn beside an effect
const BAD_CALIBRATION = 0.6; // of the results that should be inside

// The parameters in the order of their importance, as bars.
function importanceTable({ parameters, measure }) {
  const rows = [...parameters].sort((a, b) => b.total - a.total);
  const whole = Math.max(1, ...rows.map((row) => row.total));
  const sobol = measure === 'sobol';
  const titles = ['Parameter', 'Share', 'Total', ...(sobol ? ['Alone'] : []), 'For the best tenth'];
  return h(
    'table',
    { class: 'relevance importance' },
    h('caption', { class: 'unseen' }, 'Shares of the predicted variation'),
    h('thead', {}, h('tr', {}, titles.map((t, i) => h('th', { scope: 'col', class: i > 2 ? 'right not-phone' : i > 1 ? 'right' : '' }, i === 1 ? h('span', { class: 'unseen' }, t) : t)))),
    h(
      'tbody',
      {},
      rows.map((row) =>
        h(
          'tr',
          {},
          h('th', { scope: 'row' }, row.parameter),
          h('td', { class: 'bar-cell' }, h('span', { class: 'bar', style: { width: `${(100 * row.total) / whole}%` } })),
          h('td', { class: 'right' }, `${percent(row.total)} ± ${percent(2 * row.std)}`),
          sobol ? h('td', { class: 'right not-phone' }, percent(row.first)) : null,
          h('td', { class: 'right not-phone' }, percent(row.top)),
        ),
      ),
    ),
  );
}

const listFormat = new Intl.ListFormat('en', { type: 'conjunction' });

// In one sentence: what to look at first, and what hardly matters.
function importanceWords({ parameters, observations }) {
  const rows = [...parameters].sort((a, b) => b.total - a.total);
  const names = (list) => listFormat.format(list.map((row) => row.parameter));
  const most = rows.filter((row) => row.total >= 0.2);
  const least = rows.filter((row) => row.total + 2 * row.std < 0.02);
  const unsure = rows.filter((row) => row.std > 0.5 * row.total && row.total > 0.05);
  const words = [`By the model of ${plural(observations, 'value')}`, most.length ? `${names(most)} ${most.length === 1 ? 'matters' : 'matter'} most` : 'no parameter stands out'];
  return `${words.join(', ')}.${least.length ? ` Hardly any difference: ${names(least)}.` : ''}${unsure.length ? ` Not certain yet: ${names(unsure)}.` : ''}`;
}

// The mean and two standard deviations along one parameter, averaged over the others, and tried points.
class EffectChart {
  constructor(axis, metric, signal) {
    this.axis = axis;
    this.body = h('div');
    this.element = h('div', { class: 'slice' }, h('h3', {}, axis.name), this.body);
    const words = axis.choices;
    this.plot = chart(
      this.body,
      {
        label: `Effect of ${axis.name} on ${metric.name}`,
        height: 180,
        x: {
          label: titleOf(axis),
          log: axis.log,
          show: (x) => (words ? value(words[Math.round(x)]) : number(x)),
          ...(words && choiceAxis(words, 5)),
        },
        y: { label: titleOf(metric), range: () => this.range ?? [0, 1] },
        series: [
          { label: '+2 std', colour: 'c-value', width: 0.75, faint: 0.6, dots: Boolean(words), quiet: true },
          { label: 'mean', colour: 'c-value', width: 2, dots: Boolean(words) },
          { label: '−2 std', colour: 'c-value', width: 0.75, faint: 0.6, dots: Boolean(words), quiet: true },
        ],
        bands: [{ series: [1, 3], colour: 'c-value', opacity: 0.2 }],
        draw: (u) => drawTried(u, this.tried ?? []),
      },
      signal,
    );
  }

  show(effects, tried) {
    const { axis } = this;
    this.tried = tried;
    const low = effects.map((e) => e.mean - 2 * e.std);
    const high = effects.map((e) => e.mean + 2 * e.std);
    this.range = rangeWith(Math.min(...low), Math.max(...high), tried);
    this.plot.set([effects.map((e) => (axis.choices ? axis.choices.indexOf(e.value) : e.value)), high, effects.map((e) => e.mean), low]);
  }
}

// Predicted against measured, each point predicted from all others.
function fitChart(body, metric, signal) {
  let range = [0, 1];
  const plot = chart(
    body,
    {
      label: `Predicted against measured ${metric.name}`,
      height: 280,
      x: { label: `measured ${titleOf(metric)}`, range: () => range },
      y: { label: titleOf({ name: 'predicted from all others', unit: metric.unit }), range: () => range },
      series: [{ label: 'predicted', colour: 'c-value', kind: 'points', size: 5 }],
      draw: (u) => {
        const { ctx } = u;
        ctx.save();
        ctx.strokeStyle = colour('c-optimum');
        ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
        ctx.beginPath();
        ctx.moveTo(u.valToPos(range[0], 'x', true), u.valToPos(range[0], 'y', true));
        ctx.lineTo(u.valToPos(range[1], 'x', true), u.valToPos(range[1], 'y', true));
        ctx.stroke();
        ctx.restore();
      },
    },
    signal,
  );
  return (predictions) => {
    const sorted = predictions.filter((p) => !p.set_aside).sort((a, b) => a.value - b.value);
    const all = sorted.flatMap((p) => [p.value, p.mean]);
    const margin = 0.05 * (Math.max(...all) - Math.min(...all)) || 1;
    range = [Math.min(...all) - margin, Math.max(...all) + margin];
    plot.set([sorted.map((p) => p.value), sorted.map((p) => p.mean)]);
  };
}

function fitWords({ rank_correlation: rank, calibration, points, set_aside: outliers }) {
  const sure = calibration.find((c) => c.share === 0.95);
  const order = rank === null ? '' : rank > 0.8 ? 'The model orders new points well' : rank > 0.4 ? 'The model orders new points roughly' : 'The model hardly tells good points from bad ones';
  const own = sure.inside < BAD_CALIBRATION ? 'it is too sure of itself' : 'its uncertainty can be believed';
  return `${order ? `${order} (rank correlation ${number(rank, 2)}); ` : ''}${percent(sure.inside)} of ${plural(points, 'point')} are within its 95 % interval: ${own}.${outliers ? ` It leaves out ${plural(outliers, 'outlier')}.` : ''}`;
}

export async function insightsTab(element, feed, signal) {
  const modelled = modelledMetrics(feed.study);
  let metric = objective(feed.study);
  const axes = axesOf(feed.study);
  if (!axes.length) {
    replace(element, empty('This study has a kernel matrix; its candidates have no parameters.'));
    return;
  }
  const matters = panel('What matters', { wide: true });
  const effects = panel('How it follows each', { wide: true, tools: [legend([['line c-value', 'average over the others'], ['band c-value', '± 2 std'], ['points c-best', 'tried']])] });
  effects.element.hidden = true;
  const fit = panel('How good the model is');
  const whatIf = whatIfPanel(feed, signal);
  const place = h('div', { class: 'panels' }, matters.element, effects.element, whatIf.element, fit.element);
  const grid = h('div', { class: 'slices' });
  replace(effects.body, grid);
  const charts = new Map(); // parameter -> EffectChart
  let showFit = fitChart(fit.body, metric, signal);
  const of = () => (modelled.length > 1 ? { metric: metric.name } : {});
  if (modelled.length > 1) {
    const choice = control('of', select(modelled.map(({ name }) => [name, name]), metric.name, (name) => {
      metric = modelled.find((m) => m.name === name);
      charts.clear();
      replace(grid);
      showFit = fitChart(fit.body, metric, signal);
      read();
    }));
    choice.hidden = true; // until the server is known to answer for other metrics than the first
    matters.tools.append(choice);
    if (feed.study.observations) get(studyPath(feed.id, `/importance${query({ metric: modelled[1].name })}`), signal).then(
      () => (choice.hidden = false),
      (error) => (choice.hidden = error.status === 422),
    );
  }

  async function readEffects(importance) {
    const order = [...importance.parameters].sort((a, b) => b.total - a.total).slice(0, DRAWN);
    const tried = await notableTrials(feed.study, TRIED, TRIED, signal);
    const answers = await Promise.all(order.map(({ parameter }) => get(studyPath(feed.id, `/effects${query({ parameter, points: POINTS, ...of() })}`), signal)));
    for (const { parameter, effects: items } of answers) {
      const axis = axes.find(({ name }) => name === parameter);
      if (!charts.has(parameter)) charts.set(parameter, new EffectChart(axis, metric, signal));
      const drawn = charts.get(parameter);
      if (drawn.element.parentNode !== grid) grid.append(drawn.element);
      drawn.show(items, triedDots(feed.study, axis, metric, tried));
    }
    const placed = order.map(({ parameter }) => charts.get(parameter).element);
    if (placed.some((e, i) => grid.children[i] !== e)) replace(grid, placed);
    effects.note(`In the order of importance${axes.length > DRAWN ? `, the first ${DRAWN} of ${count(axes.length)}` : ''}. The dots are tried settings, whose other parameters differ; far ones are left out.`);
  }

  async function readImportance() {
    let importance = null;
    const fine = await guarded(matters, 'importance', async () => {
      importance = await get(studyPath(feed.id, `/importance${query(of())}`), signal);
      matters.note(importanceWords(importance));
      replace(matters.body, importanceTable(importance));
    }, signal);
    effects.element.hidden = !importance && !charts.size;
    return importance ? guarded(effects, 'effects', () => readEffects(importance), signal) : fine;
  }
  const readFit = () =>
    guarded(fit, 'diagnostics', async () => {
      const diagnostics = await get(studyPath(feed.id, `/diagnostics${query(of())}`), signal);
      fit.note(fitWords(diagnostics));
      showFit(diagnostics.predictions);
    }, signal);
  const nothing = empty('No values have been reported yet.');
  const read = refresher(async () => {
    const any = feed.study.observations > 0;
    nothing.hidden = any;
    place.hidden = !any;
    if (!any) return true;
    const fine = await Promise.all([readImportance(), readFit(), whatIf.read()]);
    return fine.every(Boolean);
  }, signal, 3000);
  replace(element, nothing, place);
  feed.on('model', read, signal);
  feed.on('series', () => place.hidden && read(), signal);
  read();
}
