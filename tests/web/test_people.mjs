// People as workers: trials under a name, results from a phone, a plate as a file, corrections, imports, invitations.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { until, with_ } from './harness.mjs';
import { Api } from './seed.mjs';

const SPACE = {
  type: 'space',
  parameters: [
    { name: 'celsius', type: 'double', min: 0, max: 100 },
    { name: 'solvent', type: 'categorical', values: ['Water', 'DMSO'] },
    { name: 'stirred', type: 'boolean' },
  ],
};
const laboratory = (site, id) => site.api.create({ id, metrics: [{ name: 'yield', goal: 'maximize' }, { name: 'purity', goal: 'maximize', role: 'recorded' }], domain: SPACE, seed: 3 });
const value = (page, trial, metric = 'yield') => page.getByLabel(`${metric} of trial ${trial}`, { exact: true });
const trials = async (site, id) => (await site.api.get(`/v1/studies/${id}/trials?limit=100`)).items;
const csv = (name, text) => ({ name, mimeType: 'text/csv', buffer: Buffer.from(text) });

async function getTrials(page, name, many) {
  await page.getByLabel('My name', { exact: true }).fill(name);
  await page.getByLabel('How many', { exact: true }).fill(String(many));
  await page.getByRole('button', { name: 'Get trials' }).click();
}

async function phone(site) {
  await laboratory(site, 'lab-phone');
  await with_(site.chrome, { phone: true }, async (page) => {
    await page.goto(`${site.url}/#/studies/lab-phone/bench`);
    await getTrials(page, 'Dr. Müller', 1);
    await value(page, 1).fill('12,5%');
    await page.getByRole('button', { name: 'Save, trial 1' }).click();
    await page.waitForSelector('.toast.wrong >> text=Write a number such as 1.5 or 1,5');
    assert.equal(await value(page, 1).getAttribute('aria-invalid'), 'true');
    assert.equal((await trials(site, 'lab-phone'))[0].state, 'pending');
    await value(page, 1).fill('12,5 ± 0,25');
    await value(page, 1, 'purity').fill('0.98');
    await page.getByLabel('Note on trial 1').fill('slightly yellow');
    await page.getByRole('button', { name: 'Save, trial 1' }).click();
    await page.waitForSelector('text=You have no trials. Get one.');
    const [first] = await trials(site, 'lab-phone');
    assert.equal(first.std_error, 0.25);
    assert.deepEqual([first.values, first.metadata, first.worker], [{ yield: 12.5, purity: 0.98 }, { note: 'slightly yellow' }, 'Dr. Müller']);
    await page.getByRole('button', { name: 'Get trials' }).click();
    await page.getByLabel('Note on trial 2').fill('the flask broke');
    await page.getByRole('button', { name: 'It failed, trial 2' }).click();
    await page.waitForSelector('.toast >> text=Trial 2 is marked as failed');
    assert.equal((await trials(site, 'lab-phone'))[1].reason, 'the flask broke');
    await page.getByRole('button', { name: 'Get trials' }).click();
    await page.getByLabel('More actions on trial 3').click();
    await page.getByRole('button', { name: 'Give back, trial 3' }).click();
    await until('the trial is queued', async () => (await trials(site, 'lab-phone'))[2].state === 'queued');
    await page.reload();
    assert.equal(await page.getByLabel('My name', { exact: true }).inputValue(), 'Dr. Müller');
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 390, `the page is ${width} px wide`);
  });
}

// What nobody chooses is entered before a trial is got for it.
async function context(site) {
  await site.api.create({
    id: 'lab-context',
    metric: { name: 'loss', goal: 'minimize' },
    domain: {
      type: 'space',
      parameters: [
        { name: 'weather', type: 'double', min: 0, max: 40, role: 'context', unit: '°C' },
        { name: 'oven', type: 'categorical', values: ['old', 'new'], role: 'context' },
        { name: 'time', type: 'double', min: 0, max: 10, step: 0.5 },
        { name: 'heat', type: 'double', min: 0, max: 10 },
      ],
      constraints: ['time + heat <= 12'],
    },
    seed: 3,
  });
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/lab-context/bench`);
    await getTrials(page, 'Ann', 1);
    await page.waitForSelector('.toast.wrong >> text=Enter weather first');
    await page.getByLabel('weather', { exact: false }).fill('12,5');
    await page.getByLabel('oven').selectOption('new');
    await page.getByRole('button', { name: 'Get trials' }).click();
    await value(page, 1, 'loss').fill('3');
    await page.getByLabel('weather', { exact: false }).fill('20');
    await page.getByRole('button', { name: 'Get trials' }).click();
    await value(page, 2, 'loss').fill('2');
    await page.getByRole('button', { name: 'Save all that are filled in' }).click();
    await page.waitForSelector('text=You have no trials. Get one.');
    const all = await trials(site, 'lab-context');
    assert.deepEqual(all.map(({ parameters: p, value: x }) => [p.weather, p.oven, x]), [[12.5, 'new', 3], [20, 'new', 2]]);
    assert.ok(all.every(({ parameters: p }) => p.time + p.heat <= 12 && Number.isInteger(2 * p.time)), JSON.stringify(all));
    if (site.screenshots) await page.screenshot({ path: `${site.screenshots}/bench-context.png` });
  });
}

async function plate(site) {
  await laboratory(site, 'lab-plate');
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/lab-plate/bench`);
    await getTrials(page, 'anna', 24);
    await value(page, 24).waitFor();
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV to fill in' }).click();
    const sheet = (await readFile(await (await saving).path(), 'utf8')).trim().split('\r\n');
    assert.equal(sheet[0], 'trial,celsius,solvent,stirred,yield,purity,note');
    assert.equal(sheet.length, 25);
    const filled = sheet.slice(1, 24).map((line, i) => `${line.split(',')[0]};${i},25;clear`);
    await page.getByLabel('File with results', { exact: true }).first().setInputFiles(csv('plate.csv', ['Trial;Yield;note', ...filled, '999;1;not mine'].join('\r\n')));
    await page.waitForSelector('.toast >> text=Filled in 23 of 24 trials');
    assert.equal(await value(page, 2).inputValue(), '1,25');
    assert.equal((await trials(site, 'lab-plate'))[1].state, 'pending');
    await page.getByRole('button', { name: 'Save all that are filled in' }).click();
    await page.waitForSelector('.toast >> text=Saved the results of 23 trials');
    assert.equal((await trials(site, 'lab-plate'))[22].value, 22.25);
    await value(page, 24).fill('99999');
    await page.getByRole('button', { name: 'Save, trial 24' }).click();
    await page.waitForSelector('dialog >> text=All results so far are between 0.25 and 22.25');
    await page.click('dialog >> text=Cancel');
    assert.equal((await trials(site, 'lab-plate'))[23].state, 'pending');
  });
}

async function corrected(site) {
  await laboratory(site, 'lab-correct');
  const [trial] = await site.api.ask('lab-correct', 1, 'anna');
  await site.api.tell('lab-correct', [{ trial: trial.id, values: { yield: 99, purity: 1 } }]);
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/lab-correct/trials/1`);
    await page.getByRole('button', { name: 'Correct…' }).click();
    assert.equal(await value(page, 1, 'purity').inputValue(), '1');
    await value(page, 1).fill('9,9');
    await page.getByLabel('Reason', { exact: true }).fill('a slip');
    await page.click('dialog >> text=Save');
    await page.waitForSelector('.toast >> text=Corrected trial 1');
    const shown = await site.api.get('/v1/studies/lab-correct/trials/1');
    assert.equal(shown.value, 9.9);
    assert.equal(shown.amendments[0].reason, 'a slip');
  });
}

async function proposed(site) {
  await laboratory(site, 'lab-own');
  await with_(site.chrome, { allowed: /422/ }, async (page) => {
    await page.goto(`${site.url}/#/studies/lab-own/bench`);
    await page.getByRole('button', { name: 'Propose…' }).click();
    await page.getByLabel('celsius', { exact: true }).fill('400');
    await page.getByLabel('solvent', { exact: true }).selectOption({ label: 'DMSO' });
    await page.getByLabel('stirred', { exact: true }).selectOption({ label: 'false' });
    await page.getByRole('button', { name: 'Queue this trial' }).click();
    await page.waitForSelector('dialog .notice.wrong');
    assert.match(await page.locator('dialog .notice.wrong').textContent(), /^The request body is invalid: celsius must be [^:;]+$/); // once, and without JSON pointers
    await page.getByLabel('celsius', { exact: true }).fill('40,5');
    await page.getByRole('button', { name: 'Queue this trial' }).click();
    await page.waitForSelector('.toast >> text=Trial 1 is queued');
    assert.deepEqual((await trials(site, 'lab-own'))[0].parameters, { celsius: 40.5, solvent: 'DMSO', stirred: false });
  });
}

async function imported(site) {
  await laboratory(site, 'lab-import');
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/lab-import/bench`);
    const text = '\uFEFFDate;Temp (celsius);Solvent;Stirred;Yield\r\n1.3.;20,5;water;WAHR;55,1\r\n2.3.;hot;DMSO;FALSE;60\r\n3.3.;80;"DMSO";no;61,5\r\n';
    await page.locator('input[type=file]').last().setInputFiles(csv('march.csv', text));
    await page.waitForSelector('.notice >> text=Choose a column for celsius');
    await page.getByLabel('celsius', { exact: true }).selectOption({ label: 'Temp (celsius)' });
    const fault = page.locator('tr:has(td:text-is("hot"))').last();
    assert.match(await fault.textContent(), /3.*celsius.*hot.*not a number/);
    await page.getByRole('button', { name: 'Import 2 rows, leave out 1' }).click();
    await page.waitForSelector('.toast >> text=Imported 2 results');
    assert.equal((await site.api.get('/v1/studies/lab-import')).observations, 2);
    assert.equal((await site.api.get('/v1/studies/lab-import/best')).observed.value, 61.5);
  });
}

// An administrator makes a link; whoever opens it works with a token of this study, which leaves the address at once.
async function invited(site) {
  const admin = new Api(site.closed.url, site.closed.token);
  await admin.create({ id: 'lab-invite', metric: { name: 'yield', goal: 'maximize' }, domain: SPACE, seed: 3 });
  await with_(site.chrome, { allowed: /401/ }, async (page) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: site.closed.url });
    await page.goto(`${site.closed.url}/#/studies/lab-invite/bench`);
    await page.getByLabel('Token', { exact: true }).fill(site.closed.token);
    await page.click('text=Use the token');
    await page.getByRole('button', { name: 'Invite…' }).click();
    await page.getByLabel('For', { exact: true }).fill('a phone');
    await page.getByRole('button', { name: 'Make the link' }).click();
    await page.waitForSelector('canvas.qr');
    assert.ok((await page.locator('canvas.qr').evaluate((canvas) => canvas.width)) > 30);
    await page.getByRole('button', { name: 'Copy the link' }).click();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    await with_(site.chrome, { phone: true }, async (guest) => {
      await guest.goto(link);
      await getTrials(guest, 'a guest', 1);
      await value(guest, 1).waitFor();
      assert.doesNotMatch(guest.url(), /token/);
      assert.match(await guest.locator('.role').textContent(), /worker of lab-invite/);
      assert.equal(await guest.getByRole('button', { name: 'Pause' }).count(), 0);
    });
  });
}

// A chemist knows samples by their own names.
async function keyed(site) {
  await site.api.create({ id: 'lab-keys', metric: { name: 'yield', goal: 'maximize' }, domain: { type: 'candidates', points: [[0], [1], [2]], keys: ['CCO', null, 'C1CC1'] } });
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/lab-keys/bench`);
    await page.locator('input[type=file]').last().setInputFiles(csv('march.csv', 'Key;Yield\r\nCCO;1,5\r\nC1CC1;2\r\n'));
    await page.getByRole('button', { name: 'Import 2 rows' }).click();
    await page.waitForSelector('.toast >> text=Imported 2 results');
    await page.goto(`${site.url}/#/studies/lab-keys/trials`);
    await page.waitForSelector('.panel:has(h2:text-is("Imported results")) td:text-is("C1CC1")');
    await page.goto(`${site.url}/#/studies/lab-keys/candidates`);
    await page.waitForSelector('th:text-is("Key")');
    await page.waitForSelector('td:text-is("CCO")');
  });
}

export const tests = {
  'people: results are imported and shown by the candidates\' keys': keyed,
  'people: results from a phone, with a decimal comma, a failure, and a trial given back': phone,
  'people: a trial for a context that is entered': context,
  'people: a plate of 24 as a file, and a value that is far from all others': plate,
  'people: a result is corrected, and the earlier one is kept': corrected,
  'people: a trial of one\'s own': proposed,
  'people: a spreadsheet is imported, and its wrong cell is shown': imported,
  'people: an invitation with a token of one study': invited,
};
