// The access token. It is kept in this tab's sessionStorage or, if the user wants that, in the browser's localStorage. It
// is sent in a header, never in an address.
import { h } from './dom.js';

const KEY = 'banditd-token';
let entered = null; // the promise of the open dialog
let declined = false; // the user has closed the dialog, and is not asked again unasked

export function currentToken() {
  return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
}

// Takes the token out of an invitation's address, #/studies/ID/bench?token=…, which browsers do not send to the server.
// It replaces the tab's token, and is not remembered.
export function takeToken() {
  const [path, search = ''] = location.hash.split('?');
  const query = new URLSearchParams(search);
  const token = query.get('token');
  if (!token) return;
  query.delete('token');
  sessionStorage.setItem(KEY, token);
  history.replaceState(null, '', path + (query.size ? `?${query}` : ''));
  declined = false;
  dispatchEvent(new Event('banditd-token'));
}

export function forgetToken() {
  sessionStorage.removeItem(KEY);
  localStorage.removeItem(KEY);
  declined = false;
}

// Opens the dialog, one for all requests that wait. Resolves when a token is entered; rejects when the dialog is closed,
// and from then on at once, until the user wants the dialog again.
export function askForToken(refused, wanted = false) {
  if (declined && !wanted) return Promise.reject(new Error('no token was entered'));
  entered ??= openDialog(refused).finally(() => {
    entered = null;
  });
  return entered;
}

// A button that opens the dialog, and shows the page again with the new token.
export function tokenButton(attributes = {}) {
  const open = async () => {
    try {
      await askForToken(null, true);
      dispatchEvent(new Event('banditd-reload'));
    } catch {
      // The user has closed the dialog again.
    }
  };
  return h('button', { type: 'button', ...attributes, onclick: open }, 'Enter a token');
}

// Keeps the token for this tab, or for this browser.
function keepToken(token, remember) {
  forgetToken();
  (remember ? localStorage : sessionStorage).setItem(KEY, token);
}

function openDialog(refused) {
  const remember = h('input', { type: 'checkbox', id: 'token-remember' });
  const field = h('input', {
    type: 'password',
    id: 'token-field',
    autocomplete: 'off',
    spellcheck: 'false',
    required: true,
    'aria-describedby': 'token-note',
  });
  const dialog = h(
    'dialog',
    { class: 'dialog', 'aria-labelledby': 'token-title' },
    h(
      'form',
      { method: 'dialog' },
      h('h2', { id: 'token-title' }, refused ? 'This token is not accepted' : 'This server requires a token'),
      h(
        'p',
        { id: 'token-note' },
        refused ? 'It may have expired or been revoked. ' : '',
        'An administrator can create one with ',
        h('code', {}, 'banditd token create --role viewer'),
        '. The token is stored in this tab only, and removed when the tab is closed, unless it is remembered.',
      ),
      h('div', { class: 'field' }, h('label', { for: 'token-field' }, 'Token'), field),
      h('p', { class: 'control' }, remember, h('label', { for: remember.id }, 'Remember in this browser, until “Forget the token”')),
      h(
        'div',
        { class: 'dialog-buttons' },
        h('button', { type: 'button', onclick: () => dialog.close('cancel') }, 'Cancel'),
        h('button', { class: 'primary', value: 'use' }, 'Use the token'),
      ),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve, reject) => {
    dialog.addEventListener('close', () => {
      dialog.remove();
      const token = field.value.trim();
      if (dialog.returnValue === 'use' && token) {
        keepToken(token, remember.checked);
        dispatchEvent(new Event('banditd-token'));
        resolve();
      } else {
        declined = true;
        dispatchEvent(new Event('banditd-token'));
        reject(new Error('no token was entered'));
      }
    });
  });
}
