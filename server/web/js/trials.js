// Reading trials. Their lists go by number, and a page token is the number after which a page begins.
import { list, studyPath } from './api.js';
import { trialsOf } from './study-actions.js';

// The last n trials, oldest first.
export function lastTrials(study, n, signal) {
  const after = Math.max(0, trialsOf(study) - n);
  return list(studyPath(study.id, '/trials'), { page_token: after || undefined }, signal, n + 1000);
}
