// The tokens of the server, for administrators: which there are, a new one, and an end to one. #/tokens
import { list, post, remove } from './api.js';
import { confirm } from './ask.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { fullTime } from './format.js';
import { address } from './router.js';
import { actionButton, control, empty, guarded, panel, select, table, toast, unseen } from './widgets.js';

const ROLES = [['viewer', 'viewer: looks'], ['worker', 'worker: asks and reports'], ['editor', 'editor: creates and changes studies'], ['admin', 'admin: everything']];
const DAYS = [['7', '1 week'], ['30', '30 days'], ['90', '90 days'], ['365', '1 year'], ['', 'without limit']];

export async function tokensPage(main, { signal }) {
  const known = panel('Tokens', { wide: true });
  const fresh = panel('New token', { wide: true });
  let role = 'worker';
  let days = '90';
  const study = h('input', { type: 'text', class: 'small', placeholder: 'all studies', autocomplete: 'off' });
  const description = h('input', { type: 'text', class: 'small', maxlength: 200, placeholder: 'what it is for', autocomplete: 'off' });
  const made = h('div', {});

  async function read() {
    const tokens = await list('v1/tokens', {}, signal);
    const columns = [
      { title: 'For', cell: (t) => t.description ?? h('span', { class: 'muted' }, 'no description') },
      { title: 'Role', cell: (t) => t.role },
      { title: 'Study', cell: (t) => (t.study ? h('a', { href: address('studies', t.study) }, t.study) : 'all') },
      { title: 'Created', cell: (t) => fullTime(t.created_at) },
      { title: 'Valid until', cell: (t) => (t.expires_at ? fullTime(t.expires_at) : 'without limit') },
      { title: unseen('Actions'), name: '', cell: (t) => actionButton('Revoke', { class: 'small quiet-danger', 'aria-label': `Revoke ${t.description ?? t.id}` }, () => revoke(t)) },
    ];
    replace(known.body, tokens.length ? table('Tokens', columns, tokens, 'cards') : empty('No tokens have been created.'));
  }
  const readAgain = refresher(() => guarded(known, 'tokens', read, signal), signal);

  async function revoke(token) {
    const what = token.description ?? token.id;
    if (!(await confirm({ title: `Revoke ${what}?`, text: 'The programs that use it are refused from the next request on.', action: 'Revoke' }))) return;
    await remove(`v1/tokens/${encodeURIComponent(token.id)}`);
    toast(`Revoked ${what}.`);
    readAgain();
  }

  const make = actionButton('Create the token', { class: 'primary' }, async () => {
    const wanted = { role, ...(study.value.trim() && { study: study.value.trim() }), ...(description.value.trim() && { description: description.value.trim() }), ...(days && { lifetime_seconds: 86400 * Number(days) }) };
    const { token } = await post('v1/tokens', wanted);
    const copy = actionButton('Copy', { class: 'small' }, async () => {
      await navigator.clipboard.writeText(token);
      toast('Copied.');
    });
    replace(made, h('p', { class: 'panel-note' }, 'Copy it now: the server does not show it again.'), h('div', { class: 'buttons' }, h('code', { class: 'token' }, token), copy));
    readAgain();
  });
  replace(
    fresh.body,
    h('div', { class: 'toolbar' }, control('For', description), control('Role', select(ROLES, role, (chosen) => (role = chosen))), control('Study', study), control('Valid for', select(DAYS, days, (chosen) => (days = chosen))), make),
    made,
  );
  replace(main, h('div', { class: 'page-head' }, h('h1', {}, 'Tokens')), h('div', { class: 'panels' }, known.element, fresh.element));
  readAgain();
}
