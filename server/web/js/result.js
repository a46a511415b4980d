// The result of a study: what the model recommends, and the best that was measured, with settings to copy.
import { get, studyPath } from './api.js';
import { axesOf, coordinate, unitsOf } from './axes.js';
import { h, replace } from './dom.js';
import { count, number, percent, plural, titleOf, value, withUnit } from './format.js';
import { address } from './router.js';
import { pointText } from './pending.js';
import { bounded, boundsOf, hasBounds, modelledMetrics, NONE_KEEPS_BOUNDS, objective, otherMetrics } from './study-actions.js';
import { actionButton, facts, later, table, toast } from './widgets.js';

const settingsText = later(() => import('./settings-text.js'), 'settingsText');

const SHOWN = 8; // settings shown at once; the others are unfolded

// The settings of {candidate} or {parameters} as {name: value}; a point without names as {point}.
export function settingsOf(study, item) {
  if (item.parameters) return item.parameters;
  const named = study.domain.names && item.point;
  if (named) return Object.fromEntries(axesOf(study).map((axis) => [axis.name, coordinate(axis, item)]));
  return { ...(item.candidate !== undefined && { candidate: item.candidate }), ...(item.key && { key: item.key }), ...(item.point && { point: item.point }) };
}

// The number and the key of a candidate whose settings have names: {} for others, whose settings say what they are.
export function identityOf(study, item) {
  if (item.candidate === undefined || study.domain.type !== 'candidates' || !study.domain.names || !item.point) return {};
  return { candidate: item.candidate, ...(item.key && { key: item.key }) };
}

// The same in rows.
export function identityList({ candidate, key }) {
  return candidate === undefined ? null : facts([['Candidate', `#${candidate}`], ...(key ? [['Key', key]] : [])]);
}

// identity: of a candidate, for JSON
export function copyButtons(settings, what, identity = {}) {
  const copy = (name) =>
    actionButton(name, { class: 'small', 'aria-label': `Copy ${what} as ${name}` }, async () => {
      await navigator.clipboard.writeText(await settingsText(name, settings, identity));
      toast(`Copied ${what} as ${name}.`);
    });
  return h('div', { class: 'buttons copy' }, h('span', { class: 'muted' }, 'Copy as'), ['JSON', 'Python', 'shell'].map(copy));
}

// The settings in rows, with the units that the study's parameters have.
export function settingsList(study, settings, shown = SHOWN) {
  const units = unitsOf(study);
  const text = (x) => (Array.isArray(x) ? value(x) : typeof x === 'number' ? number(x, 6) : value(x));
  const pairs = Object.entries(settings).map(([name, x]) => [name, withUnit(text(x), units[name])]);
  const rest = pairs.slice(shown);
  return [facts(pairs.slice(0, shown)), rest.length ? h('details', { class: 'more' }, h('summary', {}, `${plural(rest.length, 'more setting')}`), facts(rest)) : null];
}

// The candidate's coordinates, which `best` does not have.
async function withPoint(study, item, signal) {
  if (item.parameters || item.candidate === undefined || study.domain.type !== 'candidates') return item;
  try {
    return { ...(await get(studyPath(study.id, `/candidates/${item.candidate}`), signal)), ...item };
  } catch (error) {
    if (signal.aborted) throw error;
    return item;
  }
}

const same = (a, b) => (a.parameters ? JSON.stringify(a.parameters) === JSON.stringify(b.parameters) : a.candidate === b.candidate);
const around = (mean, std) => (std ? `${number(mean)} ± ${number(2 * std, 2)}` : number(mean));

// The other metrics; those with bounds say which. of(name) -> {text, x}, or nothing
function otherValues(study, of) {
  const rows = otherMetrics(study).map((metric) => [metric, of(metric.name)]).filter(([, found]) => found);
  return rows.length ? facts(rows.map(([metric, { text, x }]) => [boundsOf(metric) ? `${metric.name}, ${boundsOf(metric)}` : metric.name, bounded(metric, x, withUnit(text, metric.unit))])) : null;
}

const kept = (p) => (p === undefined || p === null ? '' : ` All bounds are kept with a probability of ${percent(p)}.`);

function recommendedPart(study, { recommended, observed }) {
  const { name, unit } = objective(study);
  const settings = settingsOf(study, recommended);
  const identity = identityOf(study, recommended);
  const from = recommended.pulls ? ` Measured ${recommended.pulls === 1 ? 'once' : `${count(recommended.pulls)} times`}.` : '';
  const note = recommended.std === null ? 'The tried settings with the best mean of their values' : 'The tried settings that the model considers best, with two standard deviations';
  return h(
    'div',
    { class: 'result-part recommended' },
    h('h3', {}, 'Recommended'),
    h('p', { class: 'result-value' }, h('span', { class: 'muted' }, `${name} `), withUnit(around(recommended.mean, recommended.std), unit)),
    h('p', { class: 'panel-note' }, `${note}.${from}${kept(recommended.feasible_probability)}${same(recommended, observed) ? ' They are also the best measured.' : ''}`),
    otherValues(study, (metric) => recommended.values?.[metric] && { text: around(recommended.values[metric].mean, recommended.values[metric].std), x: recommended.values[metric].mean }),
    identityList(identity),
    settingsList(study, settings),
    copyButtons(settings, 'the recommended settings', identity),
  );
}

function measuredPart(study, { observed, recommended }, trial) {
  const { name, unit } = objective(study);
  const settings = settingsOf(study, observed);
  const identity = identityOf(study, observed);
  const values = trial?.values ?? observed.values ?? {};
  const { expected, lucky } = observed;
  const where = observed.trial ? h('a', { href: address('studies', study.id, 'trials', observed.trial) }, `trial ${count(observed.trial)}`) : 'an imported value';
  return h(
    'div',
    { class: 'result-part measured' },
    h('h3', {}, 'Best measured'),
    h('p', { class: 'result-value' }, h('span', { class: 'muted' }, `${name} `), withUnit(number(observed.value), unit), h('small', {}, ' in ', where)),
    expected === null || expected === undefined ? null : h('p', { class: lucky ? 'notice warning' : 'panel-note' }, `${lucky ? 'Partly luck: the' : 'The'} model expects ${withUnit(number(expected), unit)} at these settings.`),
    otherValues(study, (metric) => values[metric] !== undefined && { text: number(values[metric]), x: values[metric] }),
    recommended && same(recommended, observed) ? null : [identityList(identity), settingsList(study, settings), copyButtons(settings, 'the best measured settings', identity)],
  );
}

const FRONT = 50; // points shown

// A front as a table: the settings, and one column per metric.
function frontPart(study, title, note, points) {
  const shown = points.slice(0, FRONT);
  const settings = (p) => pointText(p, study);
  const text = (x) => (typeof x === 'number' ? number(x) : around(x.mean, x.std));
  const columns = [
    ...study.metrics.filter(({ name }) => name in shown[0].values).map((metric) => ({ title: titleOf(metric), class: 'right', cell: (p) => text(p.values[metric.name]) })),
    ...(shown.some((p) => p.feasible_probability !== undefined) ? [{ title: 'Keeps all bounds', class: 'right', cell: (p) => percent(p.feasible_probability) }] : []),
    { title: 'Settings', class: 'point', cell: (p) => (p.trial ? h('a', { href: address('studies', study.id, 'trials', p.trial) }, settings(p)) : settings(p)) },
  ];
  return h('div', { class: 'result-part' }, h('h3', {}, title), h('p', { class: 'panel-note' }, note), table(title, columns, shown, 'cards'), points.length > FRONT ? h('p', { class: 'panel-note' }, `and ${count(points.length - FRONT)} more`) : null);
}

// There may be results although none is the best. -> whether it says so
function showNone(body, study) {
  if (!hasBounds(study) || !study.observations) return false;
  delete body.dataset.shown;
  const far = `${NONE_KEEPS_BOUNDS}: ${modelledMetrics(study).filter(boundsOf).map((metric) => `${metric.name} must be ${boundsOf(metric)}`).join('; ')}.`;
  replace(body, h('p', { class: 'empty' }, far));
  return true;
}

function showFronts(body, study, best) {
  const text = JSON.stringify(best);
  if (!best.observed.pareto.length) return showNone(body, study);
  if (body.dataset.shown === text) return true;
  body.dataset.shown = text;
  const volume = best.hypervolume === null ? '' : ` Their hypervolume is ${number(best.hypervolume)}.`;
  replace(
    body,
    h(
      'div',
      { class: 'result' },
      best.recommended.pareto.length ? frontPart(study, 'Recommended', 'Tried settings that the models consider best, none better than another in every objective, with two standard deviations.', best.recommended.pareto) : null,
      frontPart(study, 'Best measured', `Results that no other result beats in every objective.${volume}`, best.observed.pareto),
    ),
  );
  return true;
}

// Draws the result into `body`. -> false if there is none yet
export async function showResult(body, study, signal) {
  const best = await get(studyPath(study.id, '/best'), signal);
  if (best.observed?.pareto) return showFronts(body, study, best);
  if (!best.observed) return showNone(body, study);
  const [recommended, observed] = await Promise.all([best.recommended && withPoint(study, best.recommended, signal), withPoint(study, best.observed, signal)]);
  const trial = observed.trial && study.metrics?.length > 1 ? await get(studyPath(study.id, `/trials/${observed.trial}`), signal) : null;
  const text = JSON.stringify([recommended, observed, trial?.values]);
  if (body.dataset.shown === text) return true; // what is unfolded stays so
  body.dataset.shown = text;
  replace(body, h('div', { class: 'result' }, recommended ? recommendedPart(study, { recommended, observed }) : null, measuredPart(study, { observed, recommended }, trial)));
  return true;
}
