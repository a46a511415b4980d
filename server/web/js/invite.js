// An invitation to this study's bench: a link and a QR code, with a worker's token if the server requires tokens.
import { post } from './api.js';
import { h, replace, uniqueId } from './dom.js';
import { may } from './role.js';
import { address } from './router.js';
import { currentToken } from './token.js';
import { actionButton, control, reasonOf, select, toast } from './widgets.js';
import { generate } from '../vendor/lean-qr.min.js';

const DAYS = [['1', '1 day'], ['7', '1 week'], ['30', '30 days'], ['90', '90 days']];
const MARGIN = 4; // modules around a QR code, by its standard

const bench = (id, token) => `${location.href.split('#')[0]}${address('studies', id, 'bench')}${token ? `?token=${encodeURIComponent(token)}` : ''}`;

// The code as a picture of one pixel per module; the style sheet enlarges it.
export function qrCode(text, label) {
  const canvas = h('canvas', { class: 'qr', role: 'img', 'aria-label': label });
  generate(text).toCanvas(canvas, { on: [0, 0, 0], off: [255, 255, 255], pad: MARGIN });
  return canvas;
}

function showLink(place, link, words) {
  const copy = actionButton('Copy the link', {}, async () => {
    await navigator.clipboard.writeText(link);
    toast('Copied the link.');
  });
  replace(place, h('p', { class: 'panel-note' }, words), qrCode(link, 'QR code of the link'), copy);
}

// With tokens, an administrator makes one for this study alone.
function invite(id, makesTokens) {
  const title = uniqueId('invite');
  const place = h('div', { class: 'invitation' });
  let days = '7';
  const who = h('input', { type: 'text', class: 'small', maxlength: 100, placeholder: 'anna’s phone' });
  const make = actionButton('Make the link', { class: 'primary' }, async () => {
    const made = await post('v1/tokens', { role: 'worker', study: id, description: who.value.trim() || 'bench', lifetime_seconds: 86400 * Number(days) });
    showLink(place, bench(id, made.token), 'Anybody who has this link may get trials of this study and report their results. It is shown only now.');
  });
  const dialog = h(
    'dialog',
    { class: 'dialog', 'aria-labelledby': title },
    h('h2', { id: title }, 'Invite somebody to measure'),
    place,
    h('form', { method: 'dialog', class: 'dialog-buttons' }, h('button', { autofocus: true }, 'Close')),
  );
  if (makesTokens) replace(place, control('For', who), control('Valid for', select(DAYS, days, (chosen) => (days = chosen))), make);
  else showLink(place, bench(id), currentToken() ? 'The link opens this page. Your token does not allow to make tokens: an administrator can add one.' : 'The link opens this page.');
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

export function inviteButton(id) {
  return h('button', { type: 'button', onclick: async () => {
    try {
      invite(id, Boolean(currentToken()) && (await may('admin')));
    } catch (error) {
      toast(reasonOf(error, 'this'), 'wrong');
    }
  } }, 'Invite…');
}
