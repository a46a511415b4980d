// The point from which slices, maps and what-ifs start.
import { get, list, studyPath } from './api.js';
import { lastTrials } from './trials.js';

// A result, if none keeps all bounds: the last trial's or, without any, an imported one. -> null if there is none
async function anyResult(study, signal) {
  const [trial] = await list(studyPath(study.id, '/trials'), { state: 'completed', sort: 'id', order: 'desc' }, signal, 1);
  const [item] = trial ? [trial] : await list(studyPath(study.id, '/observations'), {}, signal, 1);
  return item ? { item, name: trial ? 'the last result' : 'an imported result' } : null;
}

// -> {item, name}, null without results; item: {point} or {parameters}; name: in words, if it is not the best one
export async function basePoint(study, which, signal) {
  const best = await get(studyPath(study.id, '/best'), signal);
  const of = (side) => (side?.pareto ? side.pareto[0] : side); // of a front, its first point
  const chosen = of(best[which]) ?? of(best.observed);
  if (!chosen) return anyResult(study, signal);
  if (chosen.parameters) return { item: { parameters: chosen.parameters } };
  if (chosen.trial) return { item: await get(studyPath(study.id, `/trials/${chosen.trial}`), signal) };
  try {
    return { item: await get(studyPath(study.id, `/candidates/${chosen.candidate}`), signal) };
  } catch (error) {
    const same = (await lastTrials(study, 1000, signal)).find((t) => t.candidate === chosen.candidate);
    if (!same) throw error;
    return { item: same };
  }
}
