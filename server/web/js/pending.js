// The pending trials: worker, point, attempt, and the time left of each lease.
import { unitsOf } from './axes.js';
import { h, replace, setText } from './dom.js';
import { countdown, count, fullTime, value, withUnit } from './format.js';
import { address } from './router.js';
import { empty, table } from './widgets.js';

const SOON = 30; // s

// What a user calls the candidate: its key, or its number.
export const candidateName = (item) => item.key ?? `#${item.candidate}`;

// The settings of a trial of the study in one line.
export function pointText(trial, study) {
  const units = trial.parameters && unitsOf(study);
  if (units) return Object.entries(trial.parameters).map(([name, x]) => `${name} ${withUnit(value(x), units[name])}`).join(', ');
  const point = trial.point ? value(trial.point.slice(0, 6)) + (trial.point.length > 6 ? ', …' : '') : '';
  return trial.candidate === undefined ? point : `${candidateName(trial)}${point && `: ${point}`}`;
}

// -> {show(trials, howMany)}, which draws the study's trials into `body` and counts their leases down.
export function pendingTable(study, body, signal) {
  let leases = []; // [[element, time]]

  function tick() {
    const now = Date.now();
    for (const [element, ends] of leases) {
      const left = (ends - now) / 1000;
      setText(element, left > 0 ? countdown(left) : 'expired');
      element.className = `lease${left <= 0 ? ' over' : left < SOON ? ' soon' : ''}`;
    }
  }
  const timer = setInterval(tick, 500);
  signal.addEventListener('abort', () => clearInterval(timer));

  return {
    show(trials, howMany = trials.length) {
      leases = [];
      if (!trials.length) return replace(body, empty('No trials are pending.'));
      const lease = (trial) => {
        const element = h('span', { class: 'lease', title: fullTime(trial.lease_expires_at) });
        leases.push([element, Date.parse(trial.lease_expires_at)]);
        return element;
      };
      const columns = [
        { title: 'Trial', class: 'right', cell: (t) => h('a', { href: address('studies', study.id, 'trials', t.id) }, count(t.id)) },
        { title: 'Worker', cell: (t) => t.worker ?? h('span', { class: 'muted' }, 'no name') },
        { title: 'Lease', class: 'right', cell: lease },
        { title: 'Attempt', class: 'right', cell: (t) => t.attempt },
        { title: 'Batch', class: 'right', cell: (t) => t.batch ?? '–' },
        { title: 'Point', class: 'point', cell: (t) => pointText(t, study) },
      ];
      replace(body, table('Pending trials', columns, trials, 'cards'), howMany > trials.length ? empty(`and ${count(howMany - trials.length)} more`) : null);
      tick();
      return undefined;
    },
  };
}
