// What the caller's token allows: GET /v1/whoami. Pages do not offer what it does not.
import { get } from './api.js';
import { h, replace } from './dom.js';
import { clock, fullTime } from './format.js';
import { currentToken } from './token.js';

const ROLES = ['viewer', 'worker', 'editor', 'admin']; // each includes those before it
const EVERYTHING = { role: 'admin', study: null, expires_at: null, name: null };
let asked = null; // the promise of the answer

export function forgetRole() {
  asked = null;
}

// -> {role, study, expires_at, name}. A server that cannot say it decides with each call.
export function whoami() {
  asked ??= get('v1/whoami').catch((error) => {
    if (!error.isUnbuilt) asked = null;
    return EVERYTHING;
  });
  return asked;
}

// Whether the caller may do what `role` is needed for; `study` is the study that it concerns, null: none.
export async function may(role, study = null) {
  const who = await whoami();
  if (who.study && who.study !== study) return false;
  return ROLES.indexOf(who.role) >= ROLES.indexOf(role);
}

// The role of the token at the top of the page.
export function roleSign() {
  const sign = h('span', { class: 'role' });
  let before = null; // the role that the page was shown with
  async function show() {
    sign.hidden = true;
    if (!currentToken()) return;
    const who = await whoami();
    const rights = `${who.role} ${who.study}`;
    if (before && before !== rights) dispatchEvent(new Event('banditd-reload'));
    before = rights;
    const words = [who.role, who.study ? `of ${who.study}` : ''].filter(Boolean).join(' ');
    const left = who.expires_at ? Date.parse(who.expires_at) - Date.now() : Infinity;
    replace(sign, words, left < 86400e3 ? `, until ${clock(who.expires_at)}` : '');
    sign.title = [who.name ? `Token ${who.name}` : 'This token', who.expires_at ? `is valid until ${fullTime(who.expires_at)}` : 'does not expire'].join(' ');
    sign.hidden = !currentToken() || who === EVERYTHING;
  }
  addEventListener('banditd-token', () => {
    forgetRole();
    show();
  });
  show();
  return sign;
}
