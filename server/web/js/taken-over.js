// What a new study took over from another one (history_from), and what was left out. Only the answer to its creation says so.
import { h, uniqueId } from './dom.js';
import { count, plural } from './format.js';
import { table, toast } from './widgets.js';

const COLUMNS = [
  { title: 'Result', cell: (item) => (item.trial ? `trial ${count(item.trial)}` : `imported result ${count(item.observation)}`) },
  { title: 'Setting', cell: (item) => item.pointer.slice(1).replaceAll('~1', '/').replaceAll('~0', '~') || '–' },
  { title: 'Why', class: 'reason', cell: (item) => item.detail },
];

// history: of the answer; undefined without history_from
export function showTakenOver(history) {
  if (!history) return;
  const taken = `${plural(history.imported, 'result')} of ${history.study} ${history.imported === 1 ? 'was' : 'were'} taken over`;
  if (!history.left_out) {
    toast(`${taken}.`);
    return;
  }
  const title = uniqueId('taken');
  const more = history.left_out - history.examples.length;
  const dialog = h(
    'dialog',
    { class: 'dialog large', 'aria-labelledby': title },
    h('h2', { id: title }, `${count(history.left_out)} left out`),
    h('p', {}, `${taken}. The others do not fit this study:`),
    history.examples.length ? table('Left out', COLUMNS, history.examples) : null,
    more > 0 ? h('p', {}, `and ${count(more)} more`) : null,
    h('div', { class: 'dialog-buttons' }, h('button', { type: 'button', class: 'primary', autofocus: true, onclick: () => dialog.close() }, 'Close')),
  );
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
