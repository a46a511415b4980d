// Texts are shown as text, and the token stays in sessionStorage.
import assert from 'node:assert/strict';
import { until, with_ } from './harness.mjs';
import { Api, MARKUP, work } from './seed.mjs';

const TABS = ['', '/trials', '/workers', '/bench', '/insights', '/posterior', '/parallel', '/candidates', '/algorithm', '/connect'];

// Names, labels, workers and reasons that look like markup: none becomes an element or is run.
async function markup(site) {
  await with_(site.chrome, { allowed: /409/ }, async (page) => {
    const check = async (where) => {
      await page.waitForTimeout(300);
      const found = await page.evaluate(() => ({
        elements: document.querySelectorAll('main img, main b:not(.readout b), main script').length,
        scripts: document.scripts.length,
        title: document.title,
      }));
      assert.equal(found.elements, 0, where);
      assert.equal(found.scripts, 3, where);
      assert.ok(!found.title.includes('broken in'), where);
    };
    await page.goto(`${site.url}/#/?q=markup`); // there is more than one page of studies
    await page.waitForSelector('a[href="#/studies/markup"]');
    assert.equal(await page.locator('a[href="#/studies/markup"]').textContent(), MARKUP);
    await check('the list');
    for (const tab of TABS) {
      await page.goto(`${site.url}/#/studies/markup${tab}`);
      await page.waitForSelector('.panel');
      assert.equal(await page.locator('h1').textContent(), MARKUP);
      await check(tab);
    }
    await page.goto(`${site.url}/#/studies/markup/trials`);
    await page.locator('tbody tr:has(.badge.failed) td:first-child a').first().click();
    await page.waitForSelector('pre.reason');
    assert.equal(await page.locator('pre.reason').textContent(), MARKUP);
    await check('a trial');
  });
}

// The Content-Security-Policy works in this browser: an inline script is not run.
async function policy(site) {
  await with_(site.chrome, { allowed: /Content.Security.Policy|violates/i }, async (page) => {
    await page.goto(`${site.url}/#/`);
    const ran = await page.evaluate(() => {
      const script = document.createElement('script');
      script.textContent = 'globalThis.inlineRan = true';
      document.head.append(script);
      return Boolean(globalThis.inlineRan);
    });
    assert.equal(ran, false);
  });
}

async function token(site) {
  const { url, token: secret } = site.closed;
  const api = new Api(url, secret);
  await api.create({ id: 'kept', metric: { name: 'v', goal: 'maximize' }, domain: { type: 'candidates', points: [[0], [1], [2], [3]] }, algorithm: { name: 'uniform' } });
  await with_(site.chrome, { allowed: /401/ }, async (page) => {
    const addresses = [];
    page.on('request', (request) => addresses.push(request.url()));
    await page.goto(`${url}/#/`);
    await page.waitForSelector('dialog >> text=requires a token');
    await page.locator('#token-field').fill('wrong');
    await page.click('text=Use the token');
    await page.waitForSelector('dialog >> text=not accepted');
    await page.locator('#token-field').fill(secret);
    await page.click('text=Use the token');
    await page.click('a[href="#/studies/kept"]');
    await page.waitForSelector('.connection.live');
    await work(api, 'kept', 5, ['w'], (trial) => ({ value: trial.id }));
    await until('it is live', async () => (await page.locator('.tile dd').first().textContent()) === '5');
    await page.click('.tabs >> text=Connect');
    if ((await fetch(`${url}/v1/studies/kept/export?format=csv`, { headers: { Authorization: `Bearer ${secret}` } })).ok) {
      const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=Download CSV')]);
      assert.equal(download.suggestedFilename(), 'kept.csv');
    }
    assert.ok((await page.locator('pre').first().textContent()).includes('$BANDITD_TOKEN'));
    assert.ok(!(await page.content()).includes(secret), 'it is not in the page');
    assert.ok(!addresses.some((address) => address.includes(secret)), 'nor in an address');
    assert.deepEqual(await page.context().cookies(), []);
    const kept = await page.evaluate(() => [JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage })]);
    assert.ok(!kept[0].includes(secret) && kept[1].includes(secret), 'it is in sessionStorage alone');
    await page.reload();
    await page.waitForSelector('.connection.live');
    await page.click('text=Forget the token');
    await page.waitForSelector('dialog >> text=requires a token');
    assert.ok(!(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).includes(secret));
    await page.click('text=Cancel');
    await page.waitForSelector('.empty >> text=The server requires a token');
  });
}

export const tests = {
  'markup stays text': markup,
  'the policy holds': policy,
  'the token': token,
};
