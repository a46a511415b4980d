// The coordinates of a study's points: features of candidates, or the parameters of a space.
import { list, studyPath } from './api.js';
import { lastTrials } from './trials.js';

const SAMPLE = 1000; // candidates or trials from which the range of a feature is read

// -> [{name, choices | null, words, log, whole, min, max}]; min and max are known for a space only.
export function axesOf(study) {
  const { domain } = study;
  if (domain.type === 'candidates')
    return Array.from({ length: domain.dimension }, (_, i) => ({ name: domain.names?.[i] ?? `x${i}`, index: i, choices: null }));
  if (domain.type !== 'space') return [];
  return domain.parameters.map((p) => ({
    name: p.name,
    choices: p.type === 'boolean' ? [false, true] : (p.values ?? null),
    words: p.type === 'categorical',
    log: p.scale === 'log',
    whole: p.type === 'integer',
    min: p.min,
    max: p.max,
    step: p.step,
    unit: p.unit,
    condition: p.active_when,
    context: p.role === 'context',
  }));
}

// The units of a study's parameters, by name.
export const unitsOf = (study) => Object.fromEntries(axesOf(study).map(({ name, unit }) => [name, unit]));

// Where a trial or a candidate lies on an axis; undefined where a parameter is not active.
export function coordinate(axis, item) {
  return item.parameters ? item.parameters[axis.name] : item.point?.[axis.index];
}

// The coordinate as a number; a choice as its position.
export function position(axis, item) {
  const at = coordinate(axis, item);
  return axis.choices ? axis.choices.indexOf(at) : at;
}

// Axes with min and max: from the candidates or, if these cannot be read, from the trials.
export async function axesWithRanges(study, signal) {
  const axes = axesOf(study);
  if (!axes.some((axis) => !axis.choices && axis.min === undefined)) return axes;
  let items;
  try {
    items = await list(studyPath(study.id, '/candidates'), {}, signal, SAMPLE);
  } catch (error) {
    if (signal.aborted) throw error;
    items = await lastTrials(study, SAMPLE, signal);
  }
  for (const axis of axes) {
    const values = items.map((item) => coordinate(axis, item)).filter((x) => typeof x === 'number');
    axis.min = Math.min(...values);
    axis.max = Math.max(...values);
  }
  return axes;
}

// The nearest value of an axis with steps, without the dust of binary fractions.
function inSteps({ min, max, step }, x) {
  const k = Math.min(Math.round((x - min) / step), Math.floor((max - min) / step + 1e-9));
  return Number((min + k * step).toPrecision(12));
}

// n places along an axis; all choices if the axis has choices.
export function places(axis, n) {
  if (axis.choices) return axis.choices;
  const { min, max } = axis;
  if (!(max > min)) return [min];
  const between = (t) => (axis.log ? min * (max / min) ** t : min + (max - min) * t);
  const at = Array.from({ length: n }, (_, i) => between(i / (n - 1)));
  if (axis.step) return [...new Set(at.map((x) => inSteps(axis, x)))];
  return axis.whole ? [...new Set(at.map((x) => Math.round(x)))] : at;
}

// Whether the axis' parameter is active at this point: its condition is met, and the parameter of the condition is active.
export function isActive(axis, axes, item) {
  if (!axis.condition) return true;
  const on = axes.find((other) => other.name === axis.condition.parameter);
  const value = item.parameters[on.name];
  const { in: listed, min = -Infinity, max = Infinity } = axis.condition;
  return isActive(on, axes, item) && (listed ? listed.includes(value) : value >= min && value <= max);
}

// A value in the middle of a parameter's range.
export function somewhere(axis) {
  const at = places(axis, 3);
  return at[Math.floor(at.length / 2)];
}

// A value for every active parameter. Conditions may be listed in any order, so it takes several rounds.
function completed(parameters, axes) {
  let now = parameters;
  for (let round = 0; round < axes.length; round++) {
    const next = {};
    for (const axis of axes) if (isActive(axis, axes, { parameters: now })) next[axis.name] = now[axis.name] ?? somewhere(axis);
    if (JSON.stringify(next) === JSON.stringify(now)) break;
    now = next;
  }
  return now;
}

// The point with some coordinates changed; changes: {name: value}.
export function moved(base, axes, changes) {
  if (base.parameters) return { parameters: completed({ ...base.parameters, ...changes }, axes) };
  const point = [...base.point];
  for (const axis of axes) if (axis.name in changes) point[axis.index] = changes[axis.name];
  return { point };
}
