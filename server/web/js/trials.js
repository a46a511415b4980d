// Reads trials. Lists are sorted by number, and a page token is the number after which a page begins.
import { list, studyPath } from './api.js';
import { handedOut } from './study-actions.js';

// The last n trials that were handed out, oldest first.
export async function lastTrials(study, n, signal) {
  const after = Math.max(0, handedOut(study) - n);
  const trials = await list(studyPath(study.id, '/trials'), { page_token: after || undefined }, signal, n + 100);
  return trials.filter((trial) => trial.attempt > 0);
}
