// What goes wrong: lost and silent connections, failed reads, empty studies, tokens that are refused.
import assert from 'node:assert/strict';
import net from 'node:net';
import { until, with_ } from './harness.mjs';
import { Api, work } from './seed.mjs';

const TABS = ['', '/trials', '/workers', '/bench', '/insights', '/posterior', '/parallel', '/candidates', '/algorithm', '/connect'];
const SPACE = { type: 'space', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }, { name: 'rate', type: 'double', min: 0.001, max: 1, scale: 'log' }] };
const failing = { allowed: /ERR_|Canvas2D|Failed to load resource|50[0-9]/ };

// The number of canvas pixels in the first chart that are not transparent.
const drawn = (page) =>
  page.locator('.chart').first().evaluate((chart) => {
    const canvas = chart.querySelector('canvas');
    return canvas ? canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.filter((x, i) => i % 4 === 3 && x > 0).length : 0;
  });

// A server that forwards to another until it is told to keep silent. -> {url, silence(on), close()}
async function proxy(target) {
  const { hostname, port } = new URL(target);
  const sockets = new Set();
  let silent = false;
  const server = net.createServer((from) => {
    const to = net.connect(port, hostname);
    for (const socket of [from, to]) {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => [from, to].forEach((s) => s.destroy()));
    }
    for (const [one, other] of [[from, to], [to, from]]) one.on('data', (bytes) => silent || other.write(bytes)); // eslint-disable-line no-restricted-properties -- a socket
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    silence: (on) => (silent = on),
    drop: () => sockets.forEach((socket) => socket.destroy()),
    close() {
      sockets.forEach((socket) => socket.destroy());
      server.close();
    },
  };
}

async function failedRead(site) {
  await with_(site.chrome, failing, async (page) => {
    let broken = true;
    await page.route('**/series?points=1000', (route) => (broken ? route.fulfill({ status: 503, contentType: 'application/problem+json', body: '{"status":503,"detail":"busy now"}' }) : route.continue()));
    await page.goto(`${site.url}/#/studies/training`);
    await page.waitForSelector('.panel >> text=busy now');
    broken = false;
    await until('the chart is drawn without an event', async () => (await drawn(page)) > 500, 10);
    assert.equal(await page.locator('.panel >> text=busy now').isVisible(), false);
    broken = true;
    await work(site.api, 'training', 1, ['late'], () => ({ value: 1 }));
    await page.waitForSelector('.panel >> text=busy now');
    assert.ok((await drawn(page)) > 500, 'what was read before stays');
    broken = false;
    await until('the message goes away', async () => !(await page.locator('.panel >> text=busy now').isVisible()), 10);
    assert.ok((await drawn(page)) > 500);
  });
}

// A chart that had no room while it was drawn again.
async function noRoom(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/training`);
    await until('the chart is drawn', async () => (await drawn(page)) > 500);
    const show = (on) => page.evaluate((yes) => (document.querySelector('main').style.display = yes ? '' : 'none'), on);
    await show(false);
    await page.selectOption('.top-tools select', 'dark');
    await page.waitForTimeout(200);
    await show(true);
    await until('the chart is drawn again', async () => (await drawn(page)) > 500, 5);
  });
}

async function silentConnection(site) {
  const between = await proxy(site.url);
  await with_(site.chrome, failing, async (page) => {
    await page.goto(`${between.url}/#/studies/training`);
    await page.waitForSelector('.connection.live');
    between.silence(true);
    await until('the page says that it is not live', async () => (await page.locator('.connection.waiting').count()) === 1, 25);
    await page.waitForSelector('.notice >> text=/Last update \\d+:\\d+/');
    await work(site.api, 'training', 2, ['late'], () => ({ value: 1 }));
    between.silence(false);
    between.drop();
    await until('it is live again', async () => (await page.locator('.connection.live').count()) === 1, 25);
    const { observations } = await site.api.get('/v1/studies/training');
    await until('what was missed is shown', async () => (await page.locator('.tile:has(dt:text-is("Batches")) .tile-note').textContent()) === `${observations} values`);
  });
  between.close();
}

// After a read that took long, the list of studies is not left alone for a multiple of that time.
async function hiccup(site) {
  await with_(site.chrome, failing, async (page) => {
    let [slow, begun] = [true, 0];
    const later = [];
    await page.route('**/v1/studies?*', async (route) => {
      if (!slow) {
        later.push(Date.now());
        return route.continue();
      }
      slow = false;
      begun = Date.now();
      await new Promise((resolve) => setTimeout(resolve, 7000));
      return route.abort();
    });
    await page.goto(`${site.url}/#/`);
    await page.waitForSelector('.notice >> text=Trying again', { timeout: 10000 });
    await page.waitForSelector('a[href="#/studies/training"]', { timeout: 10000 });
    const took = later[0] - begun;
    assert.ok(took < 13000, `the next read came after ${took} ms`);
  });
}

async function empty(site) {
  await site.api.create({ id: 'empty', metric: { name: 'loss', goal: 'minimize' }, domain: SPACE, algorithm: { name: 'bbkb' } });
  await site.api.create({ id: 'empty-optimum', optimum: 0, metric: { name: 'loss', goal: 'minimize' }, domain: SPACE, algorithm: { name: 'bbkb' } });
  await with_(site.chrome, {}, async (page) => {
    await page.addInitScript(() => {
      globalThis.longest = 0;
      new PerformanceObserver((list) => list.getEntries().forEach((e) => (globalThis.longest = Math.max(globalThis.longest, e.duration)))).observe({ type: 'longtask' });
    });
    for (const id of ['empty', 'empty-optimum'])
      for (const tab of TABS) {
        await page.goto(`${site.url}/#/studies/${id}${tab}`);
        await page.locator('.panel:visible, .empty:visible').first().waitFor();
        await page.waitForTimeout(600);
        for (const name of ['log trials', 'log values', 'log']) {
          const box = page.getByLabel(name, { exact: true });
          if ((await box.count()) && (await box.first().isVisible())) await box.first().check();
        }
        await page.waitForTimeout(200);
        const text = await page.locator('main').innerText();
        assert.ok(!/query parameter|must be|Infinity|NaN/.test(text), `${id}${tab}: ${text}`);
      }
    const longest = await page.evaluate(() => globalThis.longest);
    assert.ok(longest < 2000, `a task of ${longest} ms`);
  });
}

// Failures that are tried again count for their worker.
async function retries(site) {
  await site.api.create({ id: 'retries', metric: { name: 'v', goal: 'maximize' }, domain: { type: 'candidates', points: [[0], [1], [2], [3]] }, algorithm: { name: 'uniform' }, max_attempts: 9 });
  for (let i = 0; i < 3; i++) {
    const [trial] = await site.api.ask('retries', 1, 'sick');
    await site.api.tell('retries', [{ trial: trial.id, state: 'failed', retry: true, reason: 'no space left' }]);
  }
  await work(site.api, 'retries', 4, ['well'], () => ({ value: 1 }));
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/retries/workers`);
    const failed = (name) => page.locator(`tr:has(td:text-is("${name}")) td`).nth(2).textContent();
    await page.waitForSelector('td:text-is("sick")');
    assert.match(await failed('sick'), /^3 \(100\s%\)$/);
    assert.equal(await failed('well'), '0');
    assert.equal(await page.locator('.gantt .s-failed').count(), 3);
  });
}

async function refusedToken(site) {
  const { url, token: secret } = site.closed;
  const api = new Api(url, secret);
  await with_(site.chrome, { allowed: /401/ }, async (page) => {
    await page.goto(`${url}/#/`);
    await page.waitForSelector('dialog >> text=requires a token');
    await page.keyboard.press('Escape');
    await page.waitForSelector('main button:has-text("Enter a token")');
    await page.waitForTimeout(4000);
    assert.equal(await page.locator('dialog').count(), 0, 'the dialog does not come back unasked');
    await page.click('main button:has-text("Enter a token")');
    const short = await api.post('/v1/tokens', { role: 'viewer', lifetime_seconds: 4 });
    await page.locator('#token-field').fill(short.token);
    await page.click('text=Use the token');
    await page.waitForSelector('.role:has-text("viewer")');
    await page.waitForSelector('dialog >> text=not accepted', { timeout: 15000 });
    await page.waitForSelector('dialog >> text=expired');
    await page.locator('#token-field').fill(secret);
    await page.click('text=Use the token');
    await page.waitForSelector('.role:has-text("admin")');
    await page.waitForSelector('a:has-text("New study")');
  });
}

async function viewer(site) {
  const { url, token: secret } = site.closed;
  const api = new Api(url, secret);
  await api.create({ id: 'seen', metric: { name: 'v', goal: 'maximize' }, domain: { type: 'candidates', points: [[0], [1]] }, algorithm: { name: 'uniform' } });
  const { token } = await api.post('/v1/tokens', { role: 'viewer' });
  const bound = await api.post('/v1/tokens', { role: 'editor', study: 'seen', lifetime_seconds: 3600 });
  await with_(site.chrome, {}, async (page) => {
    const use = (text) => page.evaluate((t) => sessionStorage.setItem('banditd-token', t), text);
    await page.goto(`${url}/#/nothing`);
    await use(token);
    await page.goto(`${url}/#/`);
    await page.reload();
    await page.waitForSelector('a[href="#/studies/seen"]');
    await page.waitForSelector('.role:text-is("viewer")');
    assert.equal(await page.locator('main button:has-text("Pause"), main button:has-text("Delete")').count(), 0);
    assert.equal(await page.locator('text=New study').isVisible(), false);
    await page.goto(`${url}/#/studies/seen`);
    await page.waitForSelector('.study-head h1');
    await page.waitForTimeout(500);
    assert.deepEqual(await page.locator('.study-head button:not(.help)').allTextContents(), []);
    await page.goto(`${url}/#/new`);
    await page.waitForSelector('.notice >> text=require the role editor');
    assert.equal(await page.locator('button:text-is("Create the study")').isDisabled(), true);
    await use(bound.token);
    await page.reload();
    await page.waitForSelector('.role:has-text("editor of seen")');
    await page.waitForSelector('.notice >> text=require the role editor');
    await page.goto(`${url}/#/studies/seen`);
    await page.waitForSelector('.study-head button:has-text("Pause")');
  });
}

// A page whose first read failed opens when the server is back.
async function opensLater(site) {
  await with_(site.chrome, failing, async (page) => {
    let broken = true;
    await page.route('**/v1/studies/training', (route) => (broken ? route.abort() : route.continue()));
    await page.goto(`${site.url}/#/studies/training`);
    await page.waitForSelector('text=The server cannot be reached');
    broken = false;
    await page.waitForSelector('.study-head h1:text-is("Training of a small network")');
    await page.waitForSelector('.chart canvas');
  });
}

// Addresses that are entered while the same page is open; the page of a long list is in the address.
async function addresses(site) {
  await Promise.all(Array.from({ length: 60 }, (_, i) => site.api.create({ id: `many-${i}`, labels: { team: 'many' }, metric: { name: 'v', goal: 'maximize' }, domain: SPACE, algorithm: { name: 'uniform' } })));
  await with_(site.chrome, {}, async (page) => {
    const rows = () => page.locator('.studies tbody tr').count();
    await page.goto(`${site.url}/#/`);
    await page.waitForSelector('.studies tbody tr');
    await page.evaluate(() => (location.hash = '#/?q=team:many&order=name'));
    await until('the filter is applied', async () => (await page.getByLabel('Filter').inputValue()) === 'team:many' && (await rows()) === 50);
    await page.click('button:text-is("Next")');
    await until('the second page', async () => (await rows()) === 10);
    await page.locator('.studies tbody a').first().click();
    await page.waitForSelector('.study-head h1');
    await page.goBack();
    await until('the second page again', async () => (await rows()) === 10);
    await page.goto(`${site.url}/#/new`);
    await page.waitForSelector('.form-end');
    await page.evaluate(() => (location.hash = '#/new?from=training'));
    await until('the form is filled', async () => (await page.locator('.parameter').count()) >= 6);
  });
  await Promise.all(Array.from({ length: 60 }, (_, i) => site.api.call('DELETE', `/v1/studies/many-${i}`)));
}

// The focus returns to the button after a dialog was cancelled.
async function focus(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/bread`);
    for (const name of ['Finish', 'Delete']) {
      const button = page.locator(`.study-head button:has-text("${name}")`);
      await button.focus();
      await page.keyboard.press('Enter');
      await page.waitForSelector('dialog[open]');
      await page.keyboard.press('Escape');
      await until(`the focus is on ${name}`, () => button.evaluate((b) => document.activeElement === b), 3);
    }
  });
}

export const tests = {
  'trouble: a failed read of a chart': failedRead,
  'trouble: a chart without room': noRoom,
  'trouble: a silent connection': silentConnection,
  'trouble: a hiccup of the list': hiccup,
  'trouble: empty studies': empty,
  'trouble: retried failures': retries,
  'trouble: a refused token': refusedToken,
  'trouble: a viewer': viewer,
  'trouble: a page that could not be opened': opensLater,
  'trouble: addresses of the open page': addresses,
  'trouble: the focus after a dialog': focus,
};
