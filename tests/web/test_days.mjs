// Three people's whole days, each from the list of studies to the end of her work.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { until, with_ } from './harness.mjs';
import { random, work } from './seed.mjs';

// The chemist plans a plate of 24 on the page, enters it from her phone, corrects a value, and imports last month's results.
async function chemist(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/`);
    await page.click('text=New study');
    await page.getByLabel('Name', { exact: true }).first().fill('Coupling of the bromide');
    await page.getByLabel('Id', { exact: true }).fill('coupling');
    const row = (n) => page.locator('.parameter').nth(n);
    await row(0).getByLabel('Name').fill('celsius');
    await row(0).getByLabel('From').fill('20');
    await row(0).getByLabel('To', { exact: true }).fill('110');
    await page.click('text=Add a parameter');
    await row(1).getByLabel('Name').fill('solvent');
    await row(1).getByLabel('Type').selectOption('categorical');
    await row(1).getByLabel('Values').fill('dioxane, toluene, DMF');
    await page.getByLabel('Metric, its name').fill('yield');
    await page.getByLabel('Unit', { exact: true }).last().fill('%');
    await page.click('text=Create the study');
    await page.waitForSelector('h1:text-is("Coupling of the bromide")');
    await page.getByRole('link', { name: 'Bench' }).click();
    await page.getByLabel('My name', { exact: true }).fill('Dr. Müller');
    await page.getByLabel('How many', { exact: true }).fill('24');
    await page.getByRole('button', { name: 'Get trials' }).click();
    await page.getByLabel('yield in % of trial 24', { exact: true }).waitFor();
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV to fill in' }).click();
    assert.equal((await readFile(await (await saving).path(), 'utf8')).trim().split('\r\n').length, 25);
  });
  const trials = async () => (await site.api.get('/v1/studies/coupling/trials?limit=1000')).items;
  await with_(site.chrome, { phone: true }, async (phone) => {
    await phone.goto(`${site.url}/#/studies/coupling/bench`);
    await phone.getByLabel('My name', { exact: true }).fill('Dr. Müller');
    await phone.getByRole('button', { name: 'Get trials' }).click();
    await phone.getByLabel('yield in % of trial 24', { exact: true }).waitFor(); // hers, from the plate
    for (let trial = 1; trial <= 24; trial++) await phone.getByLabel(`yield in % of trial ${trial}`, { exact: true }).fill(`${30 + trial},5`);
    await phone.getByRole('button', { name: 'Save all that are filled in' }).click();
    await phone.waitForSelector('.toast >> text=Saved the results of 24 trials');
    await phone.goto(`${site.url}/#/studies/coupling/trials/24`);
    await phone.getByRole('button', { name: 'Correct…' }).click();
    await phone.getByLabel('yield in % of trial 24', { exact: true }).fill('45,4');
    await phone.getByLabel('Reason', { exact: true }).fill('digits swapped');
    await phone.click('dialog >> text=Save');
    await phone.waitForSelector('.toast >> text=Corrected trial 24');
    const width = await phone.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `the page is ${width} px wide`);
  });
  const told = (await trials()).filter((trial) => trial.state === 'completed');
  assert.deepEqual([told.length, told[0].value, told.at(-1).value, told[0].worker], [24, 31.5, 45.4, 'Dr. Müller']);
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/coupling/bench`);
    const month = ['Datum;Celsius;Solvent;Yield (%)', ...Array.from({ length: 12 }, (_, i) => `${i + 1}.10.;${40 + 5 * i},5;${i % 2 ? 'Toluene' : 'DMF'};${i === 7 ? 'n. d.' : `${50 + i},25`}`)].join('\r\n');
    await page.locator('input[type=file]').last().setInputFiles({ name: 'october.csv', mimeType: 'text/csv', buffer: Buffer.from(month) });
    await page.locator('tr:has(td:text-is("n. d."))').last().waitFor();
    await page.getByRole('button', { name: 'Import 11 rows, leave out 1' }).click();
    await page.waitForSelector('.toast >> text=Imported 11 results');
    await page.getByRole('link', { name: 'Trials', exact: true }).click();
    await until('they are listed', async () => (await page.locator('.panel:has(h2:text-is("Imported results")) tbody tr').count()) === 11);
    await page.getByRole('link', { name: 'Overview' }).click();
    await page.locator('.measured .result-value:has-text("61.25")').waitFor();
  });
  assert.equal((await site.api.get('/v1/studies/coupling')).observations, 35);
}

// The engineer finds the best settings of 10 000 trials that are fast enough, and copies them.
async function engineer(site) {
  const next = random(4);
  await site.api.create({
    id: 'ten-thousand',
    display_name: 'Ranking model, sweep of autumn',
    metrics: [{ name: 'accuracy', goal: 'maximize' }, { name: 'latency', goal: 'minimize', role: 'recorded', unit: 'ms' }],
    domain: {
      type: 'space',
      parameters: [
        { name: 'rate', type: 'double', min: 1e-5, max: 0.1, scale: 'log' },
        { name: 'layers', type: 'integer', min: 1, max: 12 },
        { name: 'optimizer', type: 'categorical', values: ['adam', 'sgd'] },
      ],
    },
    algorithm: { name: 'uniform', max_batch: 20000 },
  });
  const score = ({ rate, layers }) => 0.9 - 0.02 * (Math.log10(rate) + 3) ** 2 - 0.001 * (layers - 8) ** 2;
  await work(site.api, 'ten-thousand', 10000, ['gpu-1', 'gpu-2'], (trial) => ({ values: { accuracy: score(trial.parameters) + 0.001 * next(), latency: 5 * trial.parameters.layers + next() } }), 1000);
  const wanted = (await site.api.get('/v1/studies/ten-thousand/trials?sort=value&order=desc&limit=1&max:latency=20')).items[0];
  await with_(site.chrome, {}, async (page) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: site.url });
    await page.goto(`${site.url}/#/`);
    await page.getByLabel('Filter').fill('autumn');
    await page.click('a:text-is("Ranking model, sweep of autumn")');
    const best = page.locator('.measured');
    await best.locator('.result-value').waitFor();
    const copy = async () => {
      await page.evaluate(() => navigator.clipboard.writeText(''));
      await page.getByRole('button', { name: /^Copy .* as JSON$/ }).last().click();
      return JSON.parse(await until('a copy', () => page.evaluate(() => navigator.clipboard.readText())));
    };
    const { observed } = await site.api.get('/v1/studies/ten-thousand/best');
    assert.deepEqual(await copy(), observed.parameters);
    await page.getByRole('link', { name: 'Trials', exact: true }).click();
    await page.click('th button:has-text("accuracy")');
    await page.locator('summary:text-is("Ranges")').click();
    await page.getByLabel('latency (ms), at most').fill('20');
    await page.keyboard.press('Tab');
    const first = page.locator('tbody td:first-child a').first();
    await until('the best of the fast ones', async () => (await first.textContent()).replace(/\D/g, '') === String(wanted.id));
    await first.click();
    await page.waitForSelector('h2.trial-title');
    assert.deepEqual(await copy(), wanted.parameters);
  });
}

// The operator finds the sick node of a fleet, and the study that stands still.
async function operator(site) {
  await site.api.create({ id: 'fleet', metric: { name: 'v', goal: 'maximize' }, domain: { type: 'space', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] }, algorithm: { name: 'uniform' }, max_attempts: 50 });
  for (let i = 0; i < 24; i++) {
    const worker = `node-${String(1 + (i % 6)).padStart(2, '0')}`;
    const [trial] = await site.api.ask('fleet', 1, worker);
    await site.api.tell('fleet', [{ trial: trial.id, ...(worker === 'node-04' ? { state: 'failed', reason: 'CUDA error: out of memory' } : { value: i }) }]);
  }
  await site.api.create({ id: 'stuck', metric: { name: 'v', goal: 'maximize' }, domain: { type: 'candidates', points: [[0], [1]] }, algorithm: { name: 'uniform' } });
  await work(site.api, 'stuck', 2, ['w'], () => ({ value: 1 }));
  await with_(site.chrome, {}, async (page) => {
    const old = new Date(Date.now() - 55 * 60e3).toISOString(); // the server's clock cannot be put back
    const advice = { stop: true, rule: 'target', since_batch: 1 };
    const quiet = (study) => (study.id === 'stuck' ? { ...study, updated_at: old, trials_pending: 0, advice } : study);
    await page.route('**/v1/studies?*', async (route) => {
      const response = await route.fetch();
      if (!response.ok()) return route.fulfill({ response });
      const answer = await response.json();
      return route.fulfill({ response, json: { ...answer, items: answer.items.map(quiet) } });
    });
    await page.goto(`${site.url}/#/`);
    await page.getByLabel('State', { exact: true }).selectOption('attention');
    const row = (id) => page.locator(`tr:has(a[href="#/studies/${id}"])`);
    await row('stuck').locator('text=no worker for 55:').waitFor();
    await row('stuck').locator('text=its rule "target" advises to finish').waitFor();
    await row('stuck').getByRole('button', { name: 'Pause' }).click();
    await until('it is paused', async () => (await site.api.get('/v1/studies/stuck')).state === 'paused');
    await page.getByLabel('State', { exact: true }).selectOption('');
    await row('fleet').locator('a').first().click();
    const reason = page.locator('.panel:has(h2:text-is("Failures")) tbody tr');
    await until('one reason for four failures', async () => /^4CUDA error: out of memory/.test(await reason.first().textContent()));
    await page.getByRole('link', { name: 'Workers' }).click();
    const failed = (name) => page.locator(`tr:has(td:text-is("${name}")) td`).nth(2);
    await failed('node-04').waitFor();
    assert.match(await failed('node-04').textContent(), /^4 \(100\s%\)$/);
    for (const well of ['node-01', 'node-02', 'node-03', 'node-05', 'node-06']) assert.equal(await failed(well).textContent(), '0');
    await page.getByRole('link', { name: 'Trials', exact: true }).click();
    await page.getByLabel('Worker', { exact: true }).fill('node-04');
    await page.keyboard.press('Enter');
    await until('only its trials', async () => (await page.locator('tbody .badge').allTextContents()).join() === 'failed,failed,failed,failed');
  });
}

export const tests = { 'days: the chemist': chemist, 'days: the engineer': engineer, 'days: the operator': operator };
