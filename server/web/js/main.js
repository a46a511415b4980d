// The page's frame: it chooses the page, and shows the parts that all pages share. The list of studies is loaded at once,
// other pages when they are opened.
import { get } from './api.js';
import { h, replace } from './dom.js';
import { address, here } from './router.js';
import { studiesPage } from './page-studies.js';
import { may, roleSign } from './role.js';
import { themeSwitch } from './theme.js';
import { currentToken, forgetToken, takeToken, tokenButton } from './token.js';
import { clearToasts, empty, later, loadingSign, reasonOf, SOON } from './widgets.js';

const RETRIES = [1000, 2000, 4000]; // ms until a page that could not be opened is opened again; then the last one
const main = document.getElementById('main');
let leaving = new AbortController();
let shown = null; // the key of the page that is shown

function crumbs(...steps) {
  const items = steps.map(([text, hash], i) =>
    h('li', {}, i === steps.length - 1 ? h('span', { 'aria-current': 'page' }, text) : h('a', { href: hash }, text)),
  );
  replace(document.getElementById('crumbs'), h('ol', {}, items));
}

// A page with `own` follows changes of its address itself.
function pageOf(parts) {
  if (parts.length === 0) return { key: 'studies', page: studiesPage, title: 'Studies', steps: [['Studies', '#/']] };
  if (parts[0] === 'new' && parts.length === 1)
    return { key: 'new', page: later(() => import('./page-create.js'), 'createPage'), title: 'New study', steps: [['Studies', '#/'], ['New study', '#/new']] };
  if (parts[0] === 'compare' && parts.length === 1)
    return { key: 'compare', page: later(() => import('./page-compare.js'), 'comparePage'), title: 'Compare studies', steps: [['Studies', '#/'], ['Compare', '#/compare']] };
  if (parts[0] === 'tokens' && parts.length === 1)
    return { key: 'tokens', page: later(() => import('./page-tokens.js'), 'tokensPage'), title: 'Tokens', steps: [['Studies', '#/'], ['Tokens', '#/tokens']] };
  if (parts[0] === 'words' && parts.length === 1)
    return { key: 'words', page: later(() => import('./page-words.js'), 'wordsPage'), title: 'Words', steps: [['Studies', '#/'], ['Words', '#/words']] };
  if (parts[0] === 'studies' && parts.length >= 2)
    return {
      key: `study ${parts[1]}`,
      own: true,
      page: later(() => import('./page-study.js'), 'studyPage'),
      title: parts[1],
      steps: [['Studies', '#/'], [parts[1], address('studies', parts[1])]],
    };
  return null;
}

function failure(title, error) {
  const forward = error.status === 401 ? tokenButton({ class: 'primary' }) : h('a', { href: '#/' }, 'All studies');
  const again = error.isTemporary ? empty('Trying again…') : null;
  return [h('h1', {}, title), empty(reasonOf(error, 'this')), again, h('p', { class: 'empty forward' }, forward)];
}

// Opens the page. If it cannot be opened for a reason that may pass, tries again.
async function open(found, parts, signal) {
  for (let attempt = 0; !signal.aborted; attempt++) {
    const loading = setTimeout(() => main.firstChild || replace(main, h('h1', {}, found.title), loadingSign()), SOON);
    signal.addEventListener('abort', () => clearTimeout(loading));
    try {
      await found.page(main, { parts, signal });
      return;
    } catch (error) {
      if (signal.aborted) return;
      replace(main, failure(found.title, error));
      if (!error.isTemporary) return;
    } finally {
      clearTimeout(loading);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRIES[Math.min(attempt, RETRIES.length - 1)]));
  }
}

async function show({ again = false } = {}) {
  const { parts } = here();
  const found = pageOf(parts);
  if (!again && found?.own && shown === found.key) return;
  const first = shown === null;
  const same = shown === found?.key;
  shown = found?.key ?? '';
  leaving.abort();
  leaving = new AbortController();
  const { signal } = leaving;
  document.title = found ? `${found.title} · banditd` : 'banditd';
  crumbs(...(found?.steps ?? [['Studies', '#/'], ['Not found', '#/']]));
  replace(main);
  if (!found) {
    replace(main, h('h1', {}, 'Not found'), empty('This page does not exist. ', h('a', { href: '#/' }, 'All studies')));
    return;
  }
  if (!first && !same) main.focus({ preventScroll: true });
  scrollTo(0, 0);
  await open(found, parts, signal);
}

// The button for the token: to forget it or, after the dialog was closed, to enter one.
function tokenTools() {
  const leave = h('button', { class: 'small', type: 'button', onclick: () => {
    forgetToken();
    dispatchEvent(new Event('banditd-token'));
    show({ again: true });
  } }, 'Forget the token');
  const enter = tokenButton({ class: 'small' });
  const tokens = h('a', { class: 'button small', href: '#/tokens', hidden: true }, 'Tokens');
  const tools = async () => {
    leave.hidden = !currentToken();
    enter.hidden = Boolean(currentToken());
    tokens.hidden = !currentToken() || !(await may('admin'));
  };
  tools();
  enter.hidden = true;
  addEventListener('banditd-token', tools);
  return [tokens, leave, enter];
}

async function frame() {
  replace(document.getElementById('top-tools'), roleSign(), tokenTools(), themeSwitch());
  try {
    const { version } = await get('v1/version');
    replace(document.getElementById('bottom'), `banditd ${version}`, h('a', { href: '#/words' }, 'What the words mean'), h('span', {}, 'Keys: ', h('kbd', {}, '?')), h('a', { href: 'openapi.yaml' }, 'API'));
  } catch {
    // The line at the bottom stays empty.
  }
}

// The keys of shortcuts.js, which is loaded with the first of them.
const SHORTCUTS = '/?gjk[]';
let keys = null; // a promise of shortcuts.js
addEventListener('keydown', async (event) => {
  const wanted = SHORTCUTS.includes(event.key) || keys;
  const typing = event.target.closest?.('input:not([type=checkbox]), select, textarea, [contenteditable], dialog');
  if (!wanted || typing || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (event.key === '/') event.preventDefault(); // browsers open a search of their own
  keys ??= import('./shortcuts.js').catch(() => (keys = null)); // without the server, there are none
  (await keys)?.press(event.key);
});

takeToken();
addEventListener('hashchange', () => {
  takeToken();
  clearToasts();
  show();
});
addEventListener('banditd-reload', () => show({ again: true }));
frame();
show();
