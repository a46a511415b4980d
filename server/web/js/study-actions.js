// The actions on a whole study: pause, resume, finish, reopen, delete.
import { get, patch, studyPath } from './api.js';
import { h } from './dom.js';
import { number, withUnit } from './format.js';
import { may } from './role.js';
import { actionButton, later, toast } from './widgets.js';

const finish = later(() => import('./end-study.js'), 'finish');
const reopen = later(() => import('./end-study.js'), 'reopen');
const drop = later(() => import('./end-study.js'), 'drop');
const edit = later(() => import('./edit-study.js'), 'edit');

export function told(study) {
  return study.trials_completed + study.trials_failed + study.trials_infeasible + study.trials_stopped;
}

// The imported results of a study that has no others.
export const importedAlone = (study) => (told(study) ? 0 : study.observations);

export function trialsOf(study) {
  return told(study) + study.trials_queued + study.trials_pending;
}

// Trials are handed out by number. The queued trials are therefore the last ones, except for a few that were returned.
export function handedOut(study) {
  return trialsOf(study) - study.trials_queued;
}

// The metrics that a result may have beside the objective, in the order of the definition.
export function otherMetrics(study) {
  const { name } = objective(study);
  return (study.metrics ?? []).filter((metric) => metric.name !== name);
}

export function objective(study) {
  return study.metric ?? study.metrics.find((metric) => metric.role === 'objective') ?? study.metrics[0];
}

// The metrics that have a model: objectives and constraints; the first objective first.
export function modelledMetrics(study) {
  const first = objective(study);
  return [first, ...otherMetrics(study).filter(({ role }) => role !== 'recorded')];
}

// Are several metrics optimized, so that there is no best value but a front?
export function hasFront(study) {
  return (study.metrics ?? []).filter((metric) => metric.role === 'objective').length > 1;
}

// The bounds of a metric in words, '' without any; and whether a value is outside.
export const boundsOf = ({ at_least: low, at_most: high, unit }) => [low === undefined ? '' : `at least ${withUnit(number(low), unit)}`, high === undefined ? '' : `at most ${withUnit(number(high), unit)}`].filter(Boolean).join(', ');
export const isOutside = ({ at_least: low, at_most: high }, x) => x < low || x > high;
export const hasBounds = (study) => Boolean(study.metrics?.some(boundsOf));

// What pages say where there are results, but no best one.
export const NONE_KEEPS_BOUNDS = 'No result keeps all bounds';

// A value as text; one that is outside its metric's bounds says so.
export function bounded(metric, x, text) {
  return isOutside(metric, x) ? h('span', { class: 'alarm', title: `must be ${boundsOf(metric)}` }, text, h('span', { class: 'unseen' }, `, must be ${boundsOf(metric)}`)) : text;
}

// done('changed') is called afterwards.
export async function change(study, state, done) {
  await patch(studyPath(study.id), { state });
  toast(`${study.id} is now ${state}.`);
  done('changed');
}

// The buttons that the study's state and the caller's role allow; done('changed' | 'deleted') is called afterwards.
export async function actions(study, done) {
  if (!(await may('editor', study.id))) return [];
  const named = (label) => ({ class: 'small', 'aria-label': `${label} ${study.id}` });
  const now = () => get(studyPath(study.id)); // another page may have renamed it
  const buttons = [];
  if (study.state === 'active') buttons.push(actionButton('Pause', named('Pause'), () => change(study, 'paused', done)));
  if (study.state === 'paused') buttons.push(actionButton('Resume', named('Resume'), () => change(study, 'active', done)));
  if (study.state === 'error') buttons.push(actionButton('Try again', named('Try again'), () => change(study, 'active', done)));
  if (study.state !== 'finished') buttons.push(actionButton('Finish', named('Finish'), () => finish(study, done)));
  if (study.state === 'finished') buttons.push(actionButton('Reopen', named('Reopen'), async () => reopen(await now(), done)));
  buttons.push(actionButton('Edit…', named('Edit'), async () => edit(await now(), done)));
  buttons.push(actionButton('Delete', { ...named('Delete'), class: 'small quiet-danger' }, async () => drop(await now(), done)));
  return buttons;
}
