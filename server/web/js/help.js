// A small ? beside a title, which shows what its word means. The meanings are read when the first one is asked for.
import { h } from './dom.js';

// A title -> its word in words.js. Titles are compared without regard to case.
export const TERMS = {
  result: 'Recommended',
  'best measured': 'Best measured',
  regret: 'Regret',
  'learning curves': 'Learning curve',
  'the front': 'Front',
  'pending trials': 'Trial',
  pending: 'Trial',
  batches: 'Batch',
  batch: 'Batch',
  lease: 'Lease, reserved',
  'yours for': 'Lease, reserved',
  'reserved for a worker, seconds': 'Lease, reserved',
  attempt: 'Attempt',
  'maximum attempts': 'Attempt',
  'attempts per trial': 'Attempt',
  'trials at most (horizon)': 'Horizon',
  'horizon, trials': 'Horizon',
  'what matters': 'Importance',
  'along each parameter': '± 2 std',
  'how it follows each': '± 2 std',
  'how good the model is': 'Calibration',
  std: '± 2 std',
  pulls: 'Pulls, measured n times',
  'optimistic bound': 'Optimistic bound',
  kernel: 'Kernel',
  lengthscale: 'Lengthscale ℓ',
  posterior: 'Model, predicted',
  dictionary: 'Dictionary, width β',
  'dictionary size': 'Dictionary, width β',
  β: 'Dictionary, width β',
  'width β': 'Dictionary, width β',
  'width of the confidence bound, β': 'Dictionary, width β',
  ratio: 'Ended by, ratio',
  'ended by': 'Ended by, ratio',
  'parallel coordinates': 'Parallel coordinates',
  feedback: 'Feedback',
  seed: 'Seed',
  'noise, standard deviation': 'Noise',
  'noise std': 'Noise',
  'in flight': 'In flight',
  promise: 'Promise, ignorance',
  ignorance: 'Promise, ignorance',
  busy: 'Busy',
  'imported results': 'Imported result',
  candidates: 'Candidate',
  candidate: 'Candidate',
};

let shown = null; // the open explanation

async function explain(button, word) {
  shown?.remove();
  let meaning;
  try {
    const { WORDS } = await import('./words.js');
    [, meaning] = WORDS.find(([known]) => known === word);
  } catch {
    meaning = 'The explanation could not be loaded. Is the server running?';
  }
  const box = h('div', { class: 'meaning', popover: 'auto', role: 'note', tabindex: -1 }, h('b', {}, word), ' ', meaning, ' ', h('a', { href: '#/words' }, 'All words'));
  shown = box;
  (button.closest('dialog') ?? document.body).append(box);
  box.addEventListener('toggle', (event) => {
    if (event.newState !== 'closed') return;
    if (box.contains(document.activeElement) || document.activeElement === document.body) button.focus();
    box.remove();
  });
  box.showPopover();
  const { left, bottom, top } = button.getBoundingClientRect();
  const below = bottom + 4 + box.offsetHeight < innerHeight ? bottom + 4 : Math.max(4, top - 4 - box.offsetHeight);
  box.style.setProperty('left', `${Math.max(4, Math.min(left, innerWidth - box.offsetWidth - 4))}px`);
  box.style.setProperty('top', `${below}px`);
  box.focus();
}

// -> a button, null if the title has no word that needs one. The ? itself is drawn by the style sheet.
export function help(title) {
  const plain = typeof title === 'string' ? title.toLowerCase() : '';
  const word = TERMS[plain] ?? TERMS[plain.replace(/ \([^)]*\)$/, '')]; // without the unit
  return word ? h('button', { type: 'button', class: 'help', 'aria-label': 'What is this?', 'aria-description': title, onclick: (event) => explain(event.currentTarget, word) }) : null;
}
