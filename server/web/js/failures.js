// Why trials failed: the reasons of the newest failures, grouped.
import { list, studyPath } from './api.js';
import { h, replace } from './dom.js';
import { ago, count } from './format.js';
import { address } from './router.js';
import { table } from './widgets.js';

const NEWEST = 500; // failed trials read
const GROUPS = 8;

// A reason without what differs from trial to trial: the last line of a traceback says what happened.
function kindOf(reason) {
  const lines = (reason ?? '').trim().split('\n').filter(Boolean);
  const text = lines.length > 1 && lines[0].startsWith('Traceback') ? lines.at(-1) : (lines[0] ?? '');
  return text.replace(/\b(0x[0-9a-f]+|\d+(\.\d+)?)\b/gi, '#') || 'no reason given';
}

// The newest trials of each state that ended without a full value. -> [{id, state, reason, told_at, worker}], the newest first
export async function readEnded(study, signal) {
  const states = ['failed', 'infeasible', 'stopped'].filter((state) => study[`trials_${state}`]);
  return (await Promise.all(states.map((state) => list(studyPath(study.id, '/trials'), { state, sort: 'id', order: 'desc' }, signal, NEWEST)))).flat();
}

export function showFailures(body, study, failed) {
  const groups = [...Map.groupBy(failed, (t) => kindOf(t.reason)).values()].sort((a, b) => b.length - a.length);
  const columns = [
    { title: 'Trials', class: 'right', cell: (g) => count(g.length) },
    { title: 'Reason', class: 'reason', cell: (g) => (g[0].reason ?? '').trim().split('\n').at(-1) || h('span', { class: 'muted' }, 'no reason given') },
    { title: 'Workers', cell: (g) => [...new Set(g.map((t) => t.worker ?? 'no name'))].slice(0, 4).join(', ') },
    { title: 'Last', cell: (g) => h('span', {}, h('a', { href: address('studies', study.id, 'trials', g[0].id) }, `trial ${count(g[0].id)}`), g[0].told_at ? `, ${ago(Date.parse(g[0].told_at))}` : '') },
  ];
  replace(
    body,
    table('Failures by reason', columns, groups.slice(0, GROUPS)),
    h('p', { class: 'panel-note' }, groups.length > GROUPS ? `${count(groups.length - GROUPS)} more reasons. ` : '', failed.length >= NEWEST ? `Of the newest ${count(NEWEST)} failures. ` : '', h('a', { href: `${address('studies', study.id, 'trials')}?state=failed` }, 'All failed trials')),
  );
}
