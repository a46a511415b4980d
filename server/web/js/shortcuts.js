// Single keys: to the filter, along the rows of a table, to the trial before or after, to another page or part of a study.
import { h } from './dom.js';
import { address, go, here } from './router.js';
import { toggle } from './widgets.js';

const OFF = 'banditd-no-shortcuts'; // in localStorage: whoever speaks to the computer may not want them
const WAIT = 1500; // ms for the key after g

const KEYS = [
  ['/', 'go to the filter or to the number of a trial'],
  ['j, k', 'go to the next or the previous row of the first table'],
  [']  [', 'open the next or the previous trial, on the page of one'],
  ['g l', 'go to the list of studies'],
  ['g n', 'go to New study'],
  ['g o, g t, g b, g w, g i, g s, g p, g c, g a, g x', 'open a part of the study: Overview, Trials, Bench, Workers, Insights, Slices and maps, Parallel, Candidates, Algorithm, Connect'],
  ['?', 'show these keys'],
];
const PARTS = { o: '', t: 'trials', b: 'bench', w: 'workers', i: 'insights', s: 'posterior', p: 'parallel', c: 'candidates', a: 'algorithm', x: 'connect' };
const FILTERS = 'main input[type=search], main input[inputmode=numeric]';

let chosen = -Infinity; // when g was pressed, in ms

function showKeys() {
  const title = h('h2', { id: 'keys-title' }, 'Keys');
  const dialog = h(
    'dialog',
    { class: 'dialog keys', 'aria-labelledby': 'keys-title' },
    title,
    h('dl', { class: 'facts' }, KEYS.map(([key, meaning]) => h('div', {}, h('dt', {}, key), h('dd', {}, meaning)))),
    toggle('Use these keys', !localStorage.getItem(OFF), (on) => (on ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, '1'))),
    h('form', { method: 'dialog', class: 'dialog-buttons' }, h('button', { autofocus: true }, 'Close')),
  );
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// The links of the rows of the first table that has any: one for each row.
function rowLinks() {
  for (const body of document.querySelectorAll('main tbody')) {
    const links = [...body.rows].map((row) => row.querySelector('a')).filter((link) => link?.checkVisibility());
    if (links.length) return links;
  }
  return [];
}

function step(by) {
  const links = rowLinks();
  const row = document.activeElement?.closest('tr');
  const now = links.findIndex((link) => link.closest('tr') === row);
  links[now < 0 ? (by > 0 ? 0 : links.length - 1) : Math.max(0, Math.min(links.length - 1, now + by))]?.focus();
}

function open(key) {
  const { parts } = here();
  if (key === 'l') go('#/');
  else if (key === 'n') go('#/new');
  else if (key in PARTS && parts[0] === 'studies' && parts.length > 1) go(address('studies', parts[1], ...[PARTS[key]].filter(Boolean)));
}

export function press(key) {
  if (key === '?') {
    if (!document.querySelector('dialog[open]')) showKeys();
    return;
  }
  if (localStorage.getItem(OFF)) return;
  const second = performance.now() - chosen < WAIT;
  chosen = -Infinity;
  if (second) open(key);
  else if (key === 'g') chosen = performance.now();
  else if (key === '/') document.querySelector(FILTERS)?.focus();
  else if (key === 'j') step(1);
  else if (key === 'k') step(-1);
  else if (key === ']') document.querySelector('a[rel=next]')?.click();
  else if (key === '[') document.querySelector('a[rel=prev]')?.click();
}
