// The page's frame: it chooses the page, and shows the parts that all pages share.
import { get } from './api.js';
import { createPage } from './page-create.js';
import { h, replace } from './dom.js';
import { address, here } from './router.js';
import { studiesPage } from './page-studies.js';
import { studyPage } from './page-study.js';
import { themeSwitch } from './theme.js';
import { currentToken, forgetToken } from './token.js';
import { empty, reasonOf } from './widgets.js';

const main = document.getElementById('main');
let leaving = new AbortController();
let shown = null; // the key of the page that is shown

function crumbs(...steps) {
  const items = steps.map(([text, hash], i) =>
    h('li', {}, i === steps.length - 1 ? h('span', { 'aria-current': 'page' }, text) : h('a', { href: hash }, text)),
  );
  replace(document.getElementById('crumbs'), h('ol', {}, items));
}

function pageOf(parts) {
  if (parts.length === 0) return { key: 'studies', page: studiesPage, title: 'Studies', steps: [['Studies', '#/']] };
  if (parts[0] === 'new' && parts.length === 1)
    return { key: 'new', page: createPage, title: 'New study', steps: [['Studies', '#/'], ['New study', '#/new']] };
  if (parts[0] === 'studies' && parts.length >= 2)
    return {
      key: `study ${parts[1]}`, // a study's page switches its tabs itself
      page: studyPage,
      title: parts[1],
      steps: [['Studies', '#/'], [parts[1], address('studies', parts[1])]],
    };
  return null;
}

async function show({ again = false } = {}) {
  const { parts } = here();
  const found = pageOf(parts);
  if (!again && found && shown === found.key) return;
  const first = shown === null;
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
  if (!first) main.focus({ preventScroll: true });
  scrollTo(0, 0);
  try {
    await found.page(main, { parts, signal });
  } catch (error) {
    if (signal.aborted) return;
    replace(main, h('h1', {}, found.title), empty(reasonOf(error, 'this')));
  }
}

async function frame() {
  const leave = h('button', { class: 'small', type: 'button', onclick: () => {
    forgetToken();
    leave.hidden = true;
    show({ again: true });
  } }, 'Forget the token');
  leave.hidden = !currentToken();
  addEventListener('banditd-token', () => (leave.hidden = false));
  replace(document.getElementById('top-tools'), leave, themeSwitch());
  try {
    const { version } = await get('v1/version');
    replace(document.getElementById('bottom'), `banditd ${version}`, h('a', { href: 'openapi.yaml' }, 'API'));
  } catch {
    // The line at the bottom stays empty.
  }
}

addEventListener('hashchange', () => show());
addEventListener('banditd-reload', () => show({ again: true }));
frame();
show();
