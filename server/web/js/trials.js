// Reads trials. Lists are sorted by number, and a page token is the number after which a page begins.
import { list, studyPath } from './api.js';
import { handedOut, objective } from './study-actions.js';

// The best `best` trials, and the last `last` ones that were handed out, each once; all have a value.
export async function notableTrials(study, best, last, signal) {
  const order = objective(study).goal === 'minimize' ? 'asc' : 'desc';
  const [good, recent] = await Promise.all([list(studyPath(study.id, '/trials'), { sort: 'value', order }, signal, best), lastTrials(study, last, signal)]);
  const byId = new Map([...good, ...recent].map((trial) => [trial.id, trial]));
  return [...byId.values()].filter((trial) => trial.value !== undefined).sort((a, b) => a.id - b.id);
}

// The last n trials that were handed out, oldest first.
export async function lastTrials(study, n, signal) {
  const after = Math.max(0, handedOut(study) - n);
  const trials = await list(studyPath(study.id, '/trials'), { page_token: after || undefined }, signal, n + 100);
  return trials.filter((trial) => trial.attempt > 0).slice(-n);
}
