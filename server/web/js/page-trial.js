// One trial: its settings, values, intermediate measurements, attempts and history. #/studies/ID/trials/NUMBER
import { get, studyPath } from './api.js';
import { chart } from './chart.js';
import { correctButton } from './correct.js';
import { h, replace } from './dom.js';
import { errorsOf } from './entry.js';
import { forkButton } from './fork.js';
import { refresher } from './feed.js';
import { count, duration, fullTime, number, titleOf, value, withUnit } from './format.js';
import { copyButtons, identityList, identityOf, settingsList, settingsOf } from './result.js';
import { may } from './role.js';
import { address } from './router.js';
import { bounded, boundsOf, objective, otherMetrics, trialsOf } from './study-actions.js';
import { badge, facts, guarded, panel, table } from './widgets.js';

const ELSEWHERE = ['id', 'state', 'value', 'values', 'std_error', 'std_errors', 'point', 'parameters', 'candidate', 'key', 'metadata', 'reason'];
const WORDS = { issued_at: 'Handed out', told_at: 'Reported', lease_expires_at: 'Reserved until', batch: 'Batch', attempt: 'Attempt', worker: 'Worker', repeats: 'Repeats', expected: 'Expected' };

const title = (name) => WORDS[name] ?? `${name[0].toUpperCase()}${name.slice(1).replace(/_/g, ' ')}`;
const shown = (name, x) => (name.endsWith('_at') ? fullTime(x) : value(x));

// Tables of the members that are lists of objects: attempts, measurements, amendments and others.
function historyTables(trial, { unit }) {
  return Object.entries(trial)
    .filter(([, rows]) => Array.isArray(rows) && rows.length && typeof rows[0] === 'object')
    .map(([name, rows]) => {
      const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
      const columns = names.map((key) => ({ title: titleOf({ name: title(key), unit: key === 'value' && unit }), cell: (row) => (row[key] === undefined ? '–' : shown(key, row[key])) }));
      const view = panel(title(name), { wide: true });
      replace(view.body, table(`${title(name)} of trial ${trial.id}`, columns, rows));
      return view.element;
    });
}

function valuesOf(study, trial) {
  const metric = objective(study);
  const rows = [[metric, trial.value], ...otherMetrics(study).map((other) => [other, trial.values?.[other.name]])];
  const errors = errorsOf([metric], trial);
  const error = (name) => (errors[name] === undefined ? '' : ` ± ${number(errors[name], 3)}`);
  return rows.map(([known, x]) => [boundsOf(known) ? `${known.name}, ${boundsOf(known)}` : known.name, x === undefined ? '–' : bounded(known, x, withUnit(`${number(x, 8)}${error(known.name)}`, known.unit))]);
}

function withoutValue({ unit }, { state, estimate }) {
  const learned = estimate ? ` The model takes its value as ${withUnit(`${number(estimate.value, 5)} ± ${number(estimate.std_error, 3)}`, unit)}, estimated from its measurements.` : '';
  return `This trial has no value: it is ${state}.${learned}`;
}

function general(trial) {
  const plain = Object.entries(trial).filter(([name, x]) => !ELSEWHERE.includes(name) && (typeof x !== 'object' || x === null));
  const took = trial.issued_at && trial.told_at ? [['Took', duration((Date.parse(trial.told_at) - Date.parse(trial.issued_at)) / 1000)]] : [];
  return [...plain.map(([name, x]) => [title(name), shown(name, x)]), ...took];
}

// The sentence, and the figures behind it.
function reasonOf(why, metrics, link) {
  const { unit } = metrics[0];
  const unitOf = (name) => metrics.find((metric) => metric.name === name)?.unit;
  const figures = [
    ...why.predictions.map((p) => [`Expected ${p.metric}`, withUnit(`${number(p.mean, 5)} ± ${number(p.std, 3)}`, unitOf(p.metric))]),
    ['Best before', why.incumbent === null ? null : withUnit(number(why.incumbent, 5), unit)],
    ['Promise', why.promise === null ? null : number(why.promise, 3)],
    ['Ignorance', why.ignorance === null ? null : number(why.ignorance, 3)],
    ['In flight', why.in_flight.length ? count(why.in_flight.length) : null],
  ].filter(([, x]) => x !== null);
  const columns = [
    { title: 'Nearest result', cell: (n) => (n.trial === null ? 'imported' : link(n.trial)) },
    { title: titleOf({ name: 'Value', unit }), cell: (n) => (n.value === null ? '–' : number(n.value, 5)) },
    { title: 'Distance', cell: (n) => (n.distance === null ? '–' : number(n.distance, 3)) },
  ];
  return [h('p', { class: 'panel-note' }, why.sentence), figures.length ? facts(figures) : null, why.nearest.length ? table('Nearest results', columns, why.nearest) : null];
}

const AMENDED = ['completed', 'stopped', 'failed', 'infeasible']; // states whose result can be corrected

export async function trialPage(element, feed, signal, text) {
  const id = Number(text);
  const [editor, forks] = await Promise.all([may('editor', feed.id), may('editor')]);
  const values = panel('Result');
  const settings = panel('Settings');
  const curve = panel('Intermediate measurements', { wide: true });
  const about = panel('About this trial');
  const metadata = panel('Metadata');
  const why = panel('Why this point');
  const histories = h('div', { class: 'panels histories' });
  const heading = h('div', { class: 'page-head trial-head' });
  const at = (n, words, rel) => h('a', { class: 'button small', href: address('studies', feed.id, 'trials', n), rel }, words);
  curve.element.hidden = true;
  metadata.element.hidden = true;
  replace(element, heading, h('div', { class: 'panels' }, values.element, settings.element, curve.element, why.element, about.element, metadata.element), histories);
  let plot = null;

  function showCurve(trial) {
    const steps = trial.measurements ?? [];
    curve.element.hidden = !steps.length;
    if (!steps.length) return;
    const { name } = objective(feed.study);
    plot ??= chart(curve.body, { label: 'Intermediate measurements', height: 220, x: { label: 'step', show: count }, y: { label: titleOf(objective(feed.study)) }, series: [{ label: name, colour: 'c-value', dots: true }] }, signal);
    const last = steps.filter((s) => s.attempt === trial.attempt);
    plot.set([last.map((s) => s.step), last.map((s) => s.value)]);
  }

  let before = ''; // what is shown
  function show(trial) {
    const all = trialsOf(feed.study);
    const now = JSON.stringify([trial, all]);
    if (now === before) return;
    before = now;
    replace(
      heading,
      h('div', {}, h('h2', { class: 'trial-title' }, `Trial ${count(trial.id)} `, badge(trial.state)), h('p', { class: 'subtitle' }, h('a', { href: address('studies', feed.id, 'trials') }, 'All trials'))),
      h('div', { class: 'buttons' }, editor && AMENDED.includes(trial.state) ? correctButton(feed.study, trial, read) : null, forks && trial.told_at ? forkButton(feed.study, trial.id) : null, trial.id > 1 ? at(trial.id - 1, 'Previous trial', 'prev') : null, trial.id < all ? at(trial.id + 1, 'Next trial', 'next') : null),
    );
    replace(values.body, trial.value === undefined && !trial.values ? h('p', { class: 'panel-note' }, withoutValue(objective(feed.study), trial)) : facts(valuesOf(feed.study, trial)), trial.reason ? h('pre', { class: 'reason', tabindex: 0, role: 'group', 'aria-label': 'Reason' }, trial.reason) : null);
    const own = settingsOf(feed.study, trial);
    const identity = identityOf(feed.study, trial);
    replace(settings.body, identityList(identity), settingsList(feed.study, own, Infinity), copyButtons(own, 'the settings', identity));
    replace(about.body, facts(general(trial)));
    metadata.element.hidden = !trial.metadata;
    if (trial.metadata) replace(metadata.body, facts(Object.entries(trial.metadata).map(([name, x]) => [name, value(x)])));
    showCurve(trial);
    replace(histories, historyTables(trial, objective(feed.study)));
  }

  // The reason never changes, so it is read once. It may take a moment: the page does not wait for it.
  const explain = refresher(() => guarded(why, 'the reason', async () => replace(why.body, reasonOf(await get(studyPath(feed.id, `/trials/${id}/why`), signal), [objective(feed.study), ...otherMetrics(feed.study)], (n) => at(n, `Trial ${count(n)}`))), signal), signal);

  const read = refresher(() => guarded([values, settings, about], 'a trial', async () => show(await get(studyPath(feed.id, `/trials/${id}`), signal)), signal), signal, 1000);
  if (!Number.isInteger(id) || id < 1) {
    values.fail(`There is no trial ${text}.`);
    for (const view of [settings, about, metadata, why]) view.element.hidden = true;
    return;
  }
  feed.on('trials', read, signal);
  read();
  explain();
}
