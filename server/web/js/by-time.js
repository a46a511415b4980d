// A chart's values by the time at which they were reported, in place of the trial's number.
import { fullTime } from './format.js';
import { hasBounds } from './study-actions.js';

const DAY = 86400e3; // ms
const dateFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });
const minuteFormat = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });
const secondFormat = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const exactFormat = new Intl.DateTimeFormat('en-GB', { minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3 });

// The ticks in the local time, as exact as their distance `step` needs; the first of a new day is its date.
function ticks(u, places, number, space, step) {
  const format = step >= DAY ? dateFormat : step >= 60e3 ? minuteFormat : step >= 1e3 ? secondFormat : exactFormat;
  return places.map((at, i) => {
    const newDay = step < DAY && i > 0 && new Date(at).getDate() !== new Date(places[i - 1]).getDate();
    return (newDay ? dateFormat : format).format(at);
  });
}

const axis = { label: 'time', time: true, show: fullTime, values: ticks };

/* The points by time; `at` is the time in ms. Trials may be reported in another order than that of their numbers, so the
 * best so far is worked out again; with bounds, from the values that were the best by number, since the others may be outside. */
export function byTime(study, goal, points) {
  const minimize = goal === 'minimize';
  const limited = hasBounds(study);
  let best = null;
  return points
    .map((p) => ({ ...p, at: Date.parse(p.told_at) }))
    .sort((a, b) => a.at - b.at)
    .map((p) => {
      const counts = goal && Number.isFinite(p.value) && (!limited || p.value === p.best);
      if (counts && (best === null || (minimize ? p.value < best : p.value > best))) best = p.value;
      return { ...p, best };
    });
}

// -> {axis, order(goal, points)} for the chart of a study's values
export async function timeView(study) {
  return { axis, order: (goal, points) => byTime(study, goal, points) };
}
