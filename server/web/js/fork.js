// A fork: another study that begins as this one was when a trial had been reported, with another definition if wanted.
import { get, post, studyPath } from './api.js';
import { h, replace, uniqueId } from './dom.js';
import { Field, KINDS } from './form-fields.js';
import { count } from './format.js';
import { address, go } from './router.js';
import { handedOut } from './study-actions.js';
import { actionButton, later, reasonOf, toast } from './widgets.js';

const showTakenOver = later(() => import('./taken-over.js'), 'showTakenOver');

const FIRST = [
  { pointer: '/id', label: 'Id of the fork', hint: 'Lower-case letters, digits, and . _ -' },
  { pointer: '/at_trial', label: 'After trial', kind: KINDS.number, placeholder: 'all results', hint: 'The last trial whose result the fork has. Empty: as the study is now.' },
  { pointer: '/seed', label: 'Another seed', kind: KINDS.number, placeholder: 'as it is', hint: 'With it, the fork has the results so far, and chooses differently.' },
];

// What else may differ; an empty field leaves it as it is.
function changeable(study, algorithms) {
  const kept = (now) => `as it is: ${now}`;
  const choice = (now, options) => [['', kept(now)], ...options.map((x) => [x, x])];
  return [
    { pointer: '/aim', label: 'Aim', options: choice(study.aim ?? 'regret', ['best', 'regret']), hint: 'With its default algorithm, unless you choose one' },
    { pointer: '/algorithm/name', label: 'Algorithm', options: choice(study.algorithm.name, algorithms.map(({ name }) => name)) },
    { pointer: '/repeats', label: 'Try the same settings twice', options: choice(study.repeats ?? 'auto', ['auto', 'never']) },
    { pointer: '/feedback', label: 'Feedback', options: choice(study.feedback, ['async', 'batch']) },
    { pointer: '/horizon', label: 'Trials at most (horizon)', kind: KINDS.number, placeholder: kept(study.horizon ?? 'no limit') },
    ...(study.domain.type === 'space' ? [{ pointer: '/constraints', label: 'Constraints', kind: KINDS.lines, rows: 2, hint: 'One per line; without any line, none' }] : []),
  ];
}

// The request: without constraints that are as before; null removes all.
function requestOf(study, wanted) {
  const { constraints, ...request } = wanted;
  const before = study.domain.constraints;
  return JSON.stringify(constraints) === JSON.stringify(before) ? request : { ...request, constraints: constraints ?? null };
}

async function fork(study, trial) {
  const title = uniqueId('fork');
  const { algorithms } = await get('v1/algorithms');
  const wanted = { id: `${study.id.slice(0, 55)}-fork`, at_trial: trial, constraints: study.domain.constraints };
  const fields = FIRST.map((spec) => new Field(wanted, spec));
  const more = changeable(study, algorithms).map((spec) => new Field(wanted, spec));
  const others = h('details', { class: 'more' }, h('summary', {}, 'Change more'), more.map((field) => field.element));
  const wrong = h('p', { class: 'notice wrong', role: 'alert', hidden: true });
  const make = actionButton('Fork', { class: 'primary' }, async () => {
    try {
      const made = await post(studyPath(study.id, '/fork'), requestOf(study, wanted));
      dialog.close();
      toast(`${made.id} is now a separate study.`);
      const parted = wanted.at_trial === undefined ? { from: handedOut(study) } : { after: wanted.at_trial };
      go(`${address('compare')}?${new URLSearchParams({ studies: `${study.id},${made.id}`, ...parted })}`);
      await showTakenOver(made.history);
    } catch (error) {
      for (const field of [...fields, ...more]) field.fail(error.errors?.find((e) => `${e.pointer}/`.startsWith(`${field.pointer}/`))?.detail ?? null);
      if (more.some((field) => field.input.getAttribute('aria-invalid'))) others.open = true;
      wrong.hidden = false;
      replace(wrong, reasonOf(error, 'forks'));
    }
  });
  const dialog = h(
    'dialog',
    { class: 'dialog', 'aria-labelledby': title },
    h('h2', { id: title }, trial ? `Fork ${study.id} after trial ${count(trial)}` : `Fork ${study.id}`),
    h('p', {}, 'The fork has the same results, and the same definition except for what you change here. Later changes in one do not affect the other.'),
    wrong,
    fields.map((field) => field.element),
    others,
    h('div', { class: 'dialog-buttons' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'), make),
  );
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// trial: the last one whose result the fork has; without it, all
export function forkButton(study, trial) {
  return actionButton('Fork…', { class: 'small' }, () => fork(study, trial));
}
