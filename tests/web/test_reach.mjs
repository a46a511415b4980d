// What makes the pages easy to use: sorting by a click, explanations, keys, a token that is remembered, messages.
import assert from 'node:assert/strict';
import { until, with_ } from './harness.mjs';

const SPACE = { type: 'candidates', points: [[0], [1], [2]] };

async function listed(site) {
  const several = [{ name: 'yield', goal: 'maximize' }, { name: 'price', role: 'recorded' }];
  for (const [id, value, price, trials] of [['reach-a', 5, 30, 1], ['reach-b', 9, 10, 3], ['reach-c', 7, 20, 2]]) {
    await site.api.create({ id, metrics: several, domain: SPACE, algorithm: { name: 'uniform' } });
    const asked = await site.api.ask(id, trials, 'w');
    await site.api.tell(id, asked.map((trial) => ({ trial: trial.id, values: { yield: value, price } })));
  }
  await site.api.create({ id: 'reach-d', metrics: several, domain: SPACE, algorithm: { name: 'uniform' } });
}

const ids = (page) => page.locator('.studies tbody th a').allTextContents();

async function sorted(site) {
  await listed(site);
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/?q=reach-`);
    await page.waitForSelector('.studies tbody tr');
    const click = (title) => page.locator(`.studies thead button:has-text("${title}")`).click();
    const inOrder = (what, order) => until(what, async () => (await ids(page)).join() === order.map((x) => `reach-${x}`).join());
    await click('Best');
    await inOrder('the largest best first, none last', ['b', 'c', 'a', 'd']);
    assert.equal(await page.locator('th[aria-sort]').textContent(), 'Best ▼');
    await click('Best');
    await inOrder('the smallest first, none last', ['a', 'c', 'b', 'd']);
    assert.match(page.url(), /order=best&turned=1/);
    await click('Progress');
    await inOrder('most trials first', ['b', 'c', 'a', 'd']);
    await click('Study');
    await inOrder('by name', ['a', 'b', 'c', 'd']);
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Study ▲');
    await page.click('summary:text-is("Metrics")');
    await page.getByLabel('price', { exact: true }).check();
    await page.waitForSelector('.studies td.figure:text-is("30")');
    await click('price');
    await inOrder('the largest price first', ['a', 'c', 'b', 'd']);
    await page.reload();
    await inOrder('the address has it', ['a', 'c', 'b', 'd']);
    assert.deepEqual(await page.locator('.studies td.figure').allTextContents(), ['30', '20', '10', '–']);
  });
}

async function explained(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/bread`);
    const help = page.locator('.help[aria-description="Best measured"]');
    await help.focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('.meaning:popover-open >> text=partly luck');
    await page.keyboard.press('Escape');
    await page.waitForSelector('.meaning', { state: 'detached' });
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-description')), 'Best measured');
    await page.goto(`${site.url}/#/studies/bread/candidates`);
    await page.locator('.help[aria-description="Pulls"]').click();
    await page.waitForSelector('.meaning:popover-open >> text=How many results');
    await page.click('h1');
    await page.waitForSelector('.meaning', { state: 'detached' });
    await page.goto(`${site.url}/#/new`);
    await page.locator('.help[aria-description="Trials at most (horizon)"]').click();
    await page.waitForSelector('.meaning:popover-open >> text=is finished');
    await page.click('.meaning a');
    await page.waitForSelector('h1:text-is("What the words mean")');
  });
  // Every title with an explanation has one.
  const [{ TERMS }, { WORDS }] = await Promise.all([import('../../server/web/js/help.js'), import('../../server/web/js/words.js')]);
  const known = WORDS.map(([word]) => word);
  assert.deepEqual(Object.values(TERMS).filter((word) => !known.includes(word)), []);
}

async function byKeys(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/?order=name&q=tr`);
    await page.waitForSelector('.studies tbody tr');
    const focused = () => page.evaluate(() => document.activeElement.closest('tr')?.sectionRowIndex);
    await page.keyboard.press('j');
    await until('the first row', async () => (await focused()) === 0);
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await until('the first row again', async () => (await focused()) === 0);
    await page.keyboard.press('/');
    await until('the filter', () => page.evaluate(() => document.activeElement.type === 'search'));
    await page.keyboard.press('End');
    await page.keyboard.type('ainingj'); // typed, not a step
    assert.equal(await page.getByLabel('Filter').inputValue(), 'trainingj');
    await page.goto(`${site.url}/#/studies/training/trials/2`);
    await page.waitForSelector('a[rel=next]');
    await page.keyboard.press(']');
    await page.waitForSelector('.trial-title >> text=Trial 3');
    await page.keyboard.press('g');
    await page.keyboard.press('w');
    await page.waitForSelector('.tabs a[aria-current]:text-is("Workers")');
    await page.keyboard.press('?');
    await page.waitForSelector('dialog h2:text-is("Keys")');
    await page.getByLabel('Use these keys').uncheck();
    await page.keyboard.press('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    await page.keyboard.press('?'); // handled after them
    await page.waitForSelector('dialog h2:text-is("Keys")');
    assert.ok(page.url().endsWith('/workers'), page.url());
  });
}

async function remembered(site) {
  const { url, token } = site.closed;
  await with_(site.chrome, { allowed: /401/ }, async (page) => {
    await page.goto(`${url}/#/`);
    await page.getByLabel('Token', { exact: true }).fill(token);
    await page.getByLabel('Remember in this browser').check();
    await page.click('text=Use the token');
    await page.waitForSelector('h1:text-is("Studies")');
    await until('it is kept', () => page.evaluate((t) => Object.values(localStorage).includes(t) && !Object.values(sessionStorage).includes(t), token));
    const other = await page.context().newPage();
    await other.goto(`${url}/#/`);
    await other.waitForSelector('button:text-is("Forget the token")');
    assert.equal(await other.locator('dialog').count(), 0);
    await other.click('button:text-is("Forget the token")');
    await other.waitForSelector('dialog h2');
    assert.equal(await other.evaluate((t) => Object.values(localStorage).includes(t), token), false);
  });
}

// A message about a page goes with it; one about what led to the next page stays.
async function messages(site) {
  await site.api.create({ id: 'reach-gone', metric: { name: 'v', goal: 'maximize' }, domain: SPACE, algorithm: { name: 'uniform' } });
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/reach-gone/bench`);
    await page.getByLabel('My name').fill('');
    await page.click('button:text-is("Get trials")');
    await page.waitForSelector('.toast >> text=Enter your name first');
    await page.waitForTimeout(600);
    await page.click('.tabs a:text-is("Workers")');
    await page.waitForSelector('.toast', { state: 'detached', timeout: 3000 });
    await page.click('.study-head button:has-text("Delete")');
    await page.getByLabel('Name of the study').fill('reach-gone');
    await page.click('dialog button:has-text("Delete")');
    await page.waitForSelector('h1:text-is("Studies")');
    await page.waitForSelector('.toast >> text=reach-gone was deleted');
  });
}

// What a new study chooses from: three cards, by keyboard, with what was filled in on each; a link and a copy take their own.
async function cards(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/new`);
    const group = page.getByRole('radiogroup', { name: 'Choose from' });
    await group.waitFor();
    const chosen = () => group.getByRole('radio', { checked: true }).evaluate((radio) => (document.activeElement === radio ? 'focused ' : '') + document.getElementById(radio.getAttribute('aria-labelledby')).textContent);
    assert.equal(await group.getByRole('radio').count(), 3);
    for (const radio of await group.getByRole('radio').all()) assert.match(await radio.evaluate((r) => document.getElementById(r.getAttribute('aria-describedby')).textContent), /\w.*\.$/);
    await page.locator('.parameter').getByLabel('Name').fill('heat');
    await group.getByLabel('Named parameters').focus();
    await page.keyboard.press('ArrowDown');
    await page.getByLabel('Points, one per line').fill('0\n1');
    assert.equal(await chosen(), 'A list of candidates');
    await group.getByLabel('A list of candidates').focus();
    await page.keyboard.press('ArrowRight');
    await page.getByLabel('File with the kernel matrix').waitFor();
    assert.equal(await chosen(), 'focused A kernel matrix');
    await page.keyboard.press('ArrowRight');
    assert.equal(await chosen(), 'focused Named parameters');
    assert.equal(await page.locator('.parameter').getByLabel('Name').inputValue(), 'heat');
    await page.click('text=You have a fixed set'); // anywhere on the card
    assert.equal(await page.getByLabel('Points, one per line').inputValue(), '0\n1');
    const tops = async () => new Set(await page.locator('.choice').evaluateAll((all) => all.map((card) => card.getBoundingClientRect().top))).size;
    assert.equal(await tops(), 1, 'beside each other');
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await tops(), 3, 'below each other on a phone');
    for (const [address, card] of [['?definition=%7B%22domain%22:%7B%22type%22:%22precomputed%22,%22size%22:4%7D%7D', 'A kernel matrix'], ['?from=bread', 'A list of candidates'], ['?from=training', 'Named parameters']]) {
      await page.goto(`${site.url}/#/new${address}`);
      await until(`${address} takes ${card}`, async () => (await group.count()) && (await chosen()) === card);
    }
  });
}

export const tests = {
  'reach: the list sorted by a click, and columns of metrics': sorted,
  'reach: explanations of words': explained,
  'reach: the cards of a new study': cards,
  'reach: single keys': byKeys,
  'reach: a remembered token': remembered,
  'reach: messages': messages,
};
