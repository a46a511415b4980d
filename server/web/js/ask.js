// Dialogs that ask before an action.
import { h, uniqueId } from './dom.js';

/* Asks the user to confirm an action. -> whether the user confirmed
 *   label  of a text that has to be entered first */
export async function confirm(given) {
  return (await ask({ danger: true, ...given })) !== null;
}

/* The same. -> the text that was entered, '' without a label; null if the user cancelled
 *   valid(text)  whether the action may be done with it */
export function ask({ title, text, action, danger = false, label = null, valid = () => true }) {
  const id = uniqueId('ask');
  const input = label && h('input', { type: 'text', id: `${id}-input`, autocomplete: 'off', spellcheck: 'false', required: true });
  const go = h('button', { value: 'yes', class: danger ? 'danger' : 'primary', disabled: Boolean(input) }, action);
  const entered = () => input?.value.trim() ?? '';
  input?.addEventListener('input', () => (go.disabled = !valid(entered())));
  const dialog = h(
    'dialog',
    { class: 'dialog', 'aria-labelledby': id, 'aria-describedby': `${id}-text` },
    h(
      'form',
      { method: 'dialog' },
      h('h2', { id }, title),
      h('p', { id: `${id}-text` }, text),
      input && h('div', { class: 'field' }, h('label', { for: input.id }, label), input),
      h('div', { class: 'dialog-buttons' }, h('button', { type: 'button', autofocus: !input, onclick: () => dialog.close('no') }, 'Cancel'), go),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue === 'yes' ? entered() : null);
    });
  });
}
