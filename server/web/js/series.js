// The values of a study by trial, thinned by the server, with the extremes kept: {trial or observation, value, best, told_at}.
import { get, query, studyPath } from './api.js';

const RECENT = 5 * 60e3; // ms over which the speed is measured

// Adds `at`, the place on an axis of trials: imported values lie between the trials before and after them, side by side.
// Without trials, their own numbers are the axis.
export function place(items) {
  if (!items.some((item) => item.trial)) return items.map((item) => ({ ...item, at: item.observation }));
  let last = 0; // trial
  let begun = 0; // the first value after it
  return items.map((item, i) => {
    if (item.trial) {
      [last, begun] = [item.trial, i + 1];
      return { ...item, at: last };
    }
    const next = items.findIndex((other, k) => k > i && other.trial);
    return { ...item, at: last + (i - begun + 1) / ((next < 0 ? items.length : next) - begun + 1) };
  });
}

// What an axis of these places is called.
export const placeTitle = (items) => (items.length && !items.some((item) => item.trial) ? 'imported result' : 'trial');

// -> {items, count}: `items` is a selection of `count` values; with several objectives and no metric, of hypervolumes
export async function readSeries(id, points, signal, metric = '') {
  const answer = await get(studyPath(id, `/series${query({ points, metric })}`), signal);
  const items = answer.items.map((p) => (p.hypervolume === undefined ? p : { ...p, value: p.hypervolume, best: p.hypervolume }));
  return { ...answer, items: place(items) };
}

export const SHARED = 1000; // points
let shared = null; // {id, answer}

// Reads the series once for all parts of a page that need it because of the same event. It is not reused later, because a
// read that has begun may miss the change of the next event.
export function readSharedSeries(id, signal) {
  if (shared?.id !== id) {
    shared = { id, answer: readSeries(id, SHARED, signal) };
    setTimeout(() => (shared = null));
  }
  return shared.answer;
}

const QUIET = 15e3; // ms without a result after which a study stands still, unless its trials take longer

// Trials reported per minute, over the last minutes. Trials have consecutive numbers, so a thinned series is enough. 0 if
// no result has come for much longer than usual.
export function speed(points, now = Date.now()) {
  const recent = points.filter((p) => p.trial && now - Date.parse(p.told_at) < RECENT);
  if (recent.length < 2) return 0;
  const times = recent.map((p) => Date.parse(p.told_at));
  const newest = Math.max(...times);
  const each = (newest - Math.min(...times)) / Math.max(1, recent.at(-1).trial - recent[0].trial);
  if (now - newest > Math.max(QUIET, 5 * each)) return 0;
  const minutes = (now - Date.parse(recent[0].told_at)) / 60e3;
  return minutes > 0 ? (recent.at(-1).trial - recent[0].trial) / minutes : 0;
}
