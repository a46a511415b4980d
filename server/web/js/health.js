// Whether a study needs attention although its state does not say so.
import { count, duration, percent, plural } from './format.js';
import { told } from './study-actions.js';

const QUIET = 600; // s without a change, at least, until an active study counts as idle
const MANY = 0.2; // of the reported trials failed

// Words for the trials that failed; null if they are few.
export function failing(study) {
  const n = told(study);
  const failed = study.trials_failed;
  if (failed && !study.trials_completed && failed === n) return failed === 1 ? 'the only trial failed' : `all ${count(failed)} trials failed`;
  return failed / n >= MANY ? `${plural(failed, 'trial')} failed (${percent(failed / n)})` : null;
}

// Words for people, the most serious first; none if all is well.
export function troubles(study, now = Date.now()) {
  const words = [failing(study)].filter(Boolean);
  const n = told(study);
  // A worker that holds a trial renews its lease, or the trial is queued again: nobody works if none is pending.
  const idle = (now - Date.parse(study.updated_at)) / 1000;
  const open = study.state === 'active' && (!study.horizon || n < study.horizon);
  if (open && n && !study.trials_pending && idle > Math.max(QUIET, study.lease_seconds ?? 0)) words.push(`no worker for ${duration(idle)}`);
  if (open && study.stop_when?.some(({ rule, total }) => rule === 'cost' && study.cost >= total)) words.push('its rule “cost” still holds and will end it again');
  if (study.advice === 'no_feasible_point') words.push('no point seems to keep all bounds');
  if (study.advice?.stop && study.state !== 'finished') words.push(`its rule "${study.advice.rule}" advises to finish`);
  return words;
}

export const needsAttention = (study) => study.state === 'error' || troubles(study).length > 0;
