// No part of a page is blank: while its reads are on their way, when they fail, when there is nothing to show, and again
// when they have succeeded.
import assert from 'node:assert/strict';
import { inspect } from './test_looks.mjs';
import { until, with_ } from './harness.mjs';

const TABS = ['', '/trials', '/bench', '/workers', '/insights', '/posterior', '/parallel', '/candidates', '/algorithm', '/connect'];
const PAGES = [...TABS.map((tab) => `#/studies/bread${tab}`), '#/studies/training/posterior', '#/studies/bread/trials/8', '#/compare?studies=bread,molecules', '#/tokens', '#/', '#/new'];

// The titles of the visible panels with neither text nor a picture, and 'page' if the page has none at all.
const blank = (page) =>
  page.evaluate(() => {
    const titles = '.panel-head, .panel-note, .chart-head, .page-head, main > .toolbar, h1';
    const shown = (element) => element.getClientRects().length > 0;
    const filled = (root) => {
      if ([...root.querySelectorAll('canvas, svg, input, img')].some((e) => shown(e) && !e.closest(titles))) return true;
      const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const { parentElement, textContent } = walker.currentNode;
        if (textContent.trim() && shown(parentElement) && !parentElement.closest(titles)) return true;
      }
      return false;
    };
    const panels = [...document.querySelectorAll('main .panel')].filter((panel) => shown(panel) && !filled(panel));
    const place = document.querySelector('.tab-content') ?? document.querySelector('main');
    return [...panels.map((panel) => panel.querySelector('h2').textContent), ...(filled(place) ? [] : ['page'])];
  });

async function nothingBlank(page, when) {
  let last = [];
  await until(`nothing is blank ${when}`, async () => (last = await blank(page)).length === 0).catch((error) => {
    throw new assert.AssertionError({ message: `${error.message}: ${last.join(', ')}` });
  });
}

const loading = (page) => page.evaluate(() => [...document.querySelectorAll('.loading')].some((e) => e.getClientRects().length > 0));

// Reads other than those of the frame and of the study itself.
const isPart = (url) => url.pathname.startsWith('/v1/') && !/^\/v1\/(whoami|version|studies\/[^/]+|studies\/[^/]+\/events)$/.test(url.pathname);

// Everything that a part reads is held back; then the server answers.
async function slow(site, hash) {
  await with_(site.chrome, {}, async (page) => {
    const held = [];
    let open = false;
    await page.route(isPart, (route) => (open ? route.continue() : held.push(route)));
    await page.goto(`${site.url}/${hash}`);
    await page.waitForSelector(hash.startsWith('#/studies/') ? '.tabs' : 'main *');
    await nothingBlank(page, 'while the server has not answered');
    await inspect(page);
    open = true;
    for (const route of held) await route.continue();
    await until('everything is there', async () => !(await loading(page)), 30);
    await nothingBlank(page, 'when it has answered');
  });
}

async function failing(site, hash, offline) {
  await with_(site.chrome, { allowed: /503|ERR_/ }, async (page) => {
    let broken = true;
    await page.route(isPart, (route) => (!broken ? route.continue() : offline ? route.abort('internetdisconnected') : route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"title":"Unavailable","status":503,"detail":"the server is busy"}' })));
    await page.goto(`${site.url}/${hash}`);
    await page.waitForSelector(hash.startsWith('#/studies/') ? '.tabs' : 'main *');
    await until('it is not loading', async () => !(await loading(page)));
    await nothingBlank(page, 'when reads fail');
    broken = false;
    await until('nothing fails', async () => !/The server (is busy|cannot be reached)/.test(await page.locator('main').innerText()), 40);
    await nothingBlank(page, 'when the server is back');
  });
}

async function nothingYet(site) {
  for (const tab of [...TABS, '/trials/1'])
    await with_(site.chrome, { allowed: /40[49]/ }, async (page) => {
      await page.goto(`${site.url}/#/studies/nothing-yet${tab}`);
      await page.waitForSelector('.tabs');
      await until('it is not loading', async () => !(await loading(page)));
      await nothingBlank(page, `in ${tab || 'the overview'} of a study without trials`);
    });
}

// The list before it has been read: it loads, or says why it cannot be read; in no case that there are no studies.
async function listUnread(site) {
  await with_(site.chrome, { allowed: /503/ }, async (page) => {
    const held = [];
    let answer = (route) => held.push(route);
    await page.route('**/v1/studies?*', (route) => answer(route));
    await page.goto(`${site.url}/#/`);
    await page.waitForSelector('main .loading');
    const said = async () => {
      await page.getByLabel('Filter').fill('bread');
      return page.locator('main').innerText();
    };
    assert.doesNotMatch(await said(), /no studies|0 studies/i);
    answer = (route) => route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"title":"Unavailable","status":503,"detail":"the server is busy"}' });
    for (const route of held) await answer(route);
    await page.waitForSelector('.notice:has-text("The server is busy"):has-text("Trying again")');
    assert.equal(await loading(page), false);
    assert.doesNotMatch(await said(), /no studies|0 studies/i);
    answer = (route) => route.continue();
    await page.waitForSelector('a[href="#/studies/bread"]', { timeout: 30000 });
    assert.equal(await page.locator('.notice:visible').count(), 0);
  });
}

// Nobody who may not create studies is sent to the form.
async function listEmpty(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.route('**/v1/studies?*', (route) => route.fulfill({ json: { items: [] } }));
    await page.goto(`${site.url}/#/`);
    await page.waitForSelector('.empty:has-text("There are no studies yet") a[href="#/new"]');
    await page.route('**/v1/whoami', (route) => route.fulfill({ json: { role: 'viewer' } }));
    await page.reload();
    await page.waitForSelector('.empty:has-text("There are no studies yet")');
    assert.equal(await page.locator('a[href="#/new"]:visible').count(), 0);
  });
}

// A study that has imported results alone says how many they are, not that there are none.
async function importsAlone(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/?q=imported`);
    assert.match(await page.locator('tr:has(a[href="#/studies/imported"]) .wide-cell').textContent(), /12 imported/);
    await page.goto(`${site.url}/#/studies/imported`);
    assert.match(await page.locator('.tile:has(dt:text-is("Reported"))').textContent(), /12 imported/);
  });
}

// Titles of figures, and times, have one line each on a phone.
async function oneLine(site) {
  await with_(site.chrome, { phone: true }, async (page) => {
    await page.goto(`${site.url}/#/studies/bread/workers`);
    const cell = page.locator('.panel:has(h2:text-is("Workers")) td').last();
    await cell.evaluate((td) => (td.textContent = '59 min ago'));
    for (const one of [...(await page.locator('.tile dt').all()), cell]) assert.ok((await one.evaluate((e) => e.clientHeight)) < 36, await one.textContent());
    assert.equal(await page.evaluate(() => [...document.querySelectorAll('.tile')].some((tile) => tile.scrollWidth > tile.clientWidth)), false, 'nothing is cut off');
  });
}

export const tests = {
  ...Object.fromEntries(PAGES.map((hash) => [`gaps: ${hash}, slow`, (site) => slow(site, hash)])),
  ...Object.fromEntries(PAGES.map((hash, i) => [`gaps: ${hash}, ${i % 2 ? 'offline' : '503'}`, (site) => failing(site, hash, i % 2 > 0)])),
  'gaps: a study of imported results': importsAlone,
  'gaps: one line on a phone': oneLine,
  'gaps: a study without trials': nothingYet,
  'gaps: the list before it is read': listUnread,
  'gaps: an empty list': listEmpty,
};
