// The course of a study, thinned by the server: {trial, value, best, told_at}, extremes kept.
import { get, query, studyPath } from './api.js';

const RECENT = 5 * 60e3; // ms, over which speed is measured

// -> {items, count}: some of so many
export function readSeries(id, points, signal) {
  return get(studyPath(id, `/series${query({ points })}`), signal);
}

const SHARED = 1000; // points
let shared = null; // {id, answer}

// For parts of one page that want it at the same moment, because of the same event: read once. Not later: a reading that
// has begun may miss what the next event is about.
export function readSharedSeries(id, signal) {
  if (shared?.id !== id) {
    shared = { id, answer: readSeries(id, SHARED, signal) };
    setTimeout(() => (shared = null));
  }
  return shared.answer;
}

// Trials told a minute, over the last minutes. Trials are numbered one by one, so that a thinned series will do.
export function speed(points, now = Date.now()) {
  const recent = points.filter((p) => now - Date.parse(p.told_at) < RECENT);
  if (recent.length < 2) return 0;
  const minutes = (now - Date.parse(recent[0].told_at)) / 60e3;
  return minutes > 0 ? (recent.at(-1).trial - recent[0].trial) / minutes : 0;
}
