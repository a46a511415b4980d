// A fork: another study that begins as this one was when a trial had been reported.
import { post, studyPath } from './api.js';
import { h, replace, uniqueId } from './dom.js';
import { count } from './format.js';
import { address, go } from './router.js';
import { actionButton, reasonOf, toast } from './widgets.js';

function fork(study, trial) {
  const title = uniqueId('fork');
  const field = (label, name, attributes, hint) => {
    const input = h('input', { type: 'text', id: `${title}-${name}`, autocomplete: 'off', spellcheck: 'false', ...attributes });
    return { input, element: h('div', { class: 'field' }, h('label', { for: input.id }, label), input, h('p', { class: 'hint' }, hint)) };
  };
  const id = field('Id of the fork', 'id', { value: `${study.id.slice(0, 55)}-fork` }, 'Lower-case letters, digits, and . _ -');
  const at = field('After trial', 'trial', { value: trial ? String(trial) : '', inputmode: 'numeric', placeholder: 'all results' }, 'The last trial whose result the fork has. Empty: as the study is now.');
  const seed = field('Another seed', 'seed', { inputmode: 'numeric', placeholder: 'as it is' }, 'With it, the fork has the results so far, and chooses differently.');
  const wrong = h('p', { class: 'notice wrong', role: 'alert', hidden: true });
  const make = actionButton('Fork', { class: 'primary' }, async () => {
    try {
      const given = (name, text) => text && { [name]: /^\d+$/.test(text) ? Number(text) : text };
      const made = await post(studyPath(study.id, '/fork'), { id: id.input.value.trim(), ...given('at_trial', at.input.value.trim()), ...given('seed', seed.input.value.trim()) });
      dialog.close();
      toast(`${made.id} goes on from here by itself.`);
      go(address('studies', made.id));
    } catch (error) {
      wrong.hidden = false;
      replace(wrong, reasonOf(error, 'forks'));
    }
  });
  const dialog = h(
    'dialog',
    { class: 'dialog', 'aria-labelledby': title },
    h('h2', { id: title }, trial ? `Fork ${study.id} after trial ${count(trial)}` : `Fork ${study.id}`),
    h('p', {}, 'The fork has the same results, and the same definition except for a seed that you enter. What happens in one of the two does not touch the other.'),
    wrong,
    id.element,
    at.element,
    seed.element,
    h('div', { class: 'dialog-buttons' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'), make),
  );
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// trial: the last one whose result the fork has; without it, all
export function forkButton(study, trial) {
  return h('button', { type: 'button', class: 'small', onclick: () => fork(study, trial) }, 'Fork…');
}
