// The posterior at any points: mean, standard deviation and optimistic bound, in the metric's units.
import { post, studyPath } from './api.js';

const MOST = 10000; // points per call

// items: [{point} | {parameters}] -> [{mean, std, ucb}]; of several metrics, those of the one that is named, or
// [{values: {name: {mean, std, ucb}}}]
export async function predict(id, items, signal, metric = null) {
  const predictions = [];
  for (let i = 0; i < items.length; i += MOST) {
    const part = items.slice(i, i + MOST);
    const body = part[0].parameters ? { parameters: part.map((p) => p.parameters) } : { points: part.map((p) => p.point) };
    predictions.push(...(await post(studyPath(id, '/predict'), body, signal)).predictions);
  }
  return metric ? predictions.map((p) => p.values?.[metric] ?? p) : predictions;
}
