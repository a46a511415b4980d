// Many studies: ticked ones compared, labelled and deleted; a study edited; the tokens of a server.
import assert from 'node:assert/strict';
import { until, with_ } from './harness.mjs';
import { work } from './seed.mjs';

const tick = (page, id) => page.getByLabel(`Tick ${id}`, { exact: true }).check();

async function three(site, prefix) {
  for (const n of [1, 2, 3]) {
    const id = `${prefix}-${n}`;
    await site.api.create({ id, metric: { name: 'loss', goal: 'minimize' }, domain: { type: 'candidates', points: [[0], [1], [2], [3]] }, algorithm: { name: 'uniform' }, seed: n });
    await work(site.api, id, 6, ['w'], (trial) => ({ value: n + 1 / trial.id }));
  }
}

async function compared(site) {
  await three(site, 'compare');
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/?q=compare-`);
    await tick(page, 'compare-1');
    await tick(page, 'compare-3');
    await page.getByRole('link', { name: 'Compare', exact: true }).click();
    await page.waitForSelector('.chart canvas');
    const best = page.locator('.panel:has(h2:text-is("Figures")) tbody tr');
    assert.match(await best.nth(1).textContent(), /compare-3.*active.*6.*3\.16667/);
    assert.match(await page.locator('.panel:has(h2:text-is("Where they differ")) tbody').textContent(), /^seed13$/);
    await page.getByLabel('Along').selectOption('time');
    assert.match(page.url(), /along=time/);
    await page.reload();
    await page.waitForSelector('.chart canvas');
    assert.equal(await page.getByLabel('Along').inputValue(), 'time');
  });
}

async function bulk(site) {
  await three(site, 'bulk');
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/?q=bulk-`);
    for (const n of [1, 2, 3]) await tick(page, `bulk-${n}`);
    await page.getByRole('button', { name: 'Label…' }).click();
    await page.getByLabel('Label, as key:value').fill('team: attic');
    await page.locator('dialog').getByRole('button', { name: 'Label', exact: true }).click();
    await page.waitForSelector('.toast >> text=3 studies labelled');
    assert.deepEqual((await site.api.get('/v1/studies/bulk-2')).labels, { team: 'attic' });
    await page.getByRole('button', { name: 'Delete…' }).click();
    const sure = page.locator('dialog').getByRole('button', { name: 'Delete', exact: true });
    await page.getByLabel('Number of studies').fill('2');
    assert.equal(await sure.isDisabled(), true);
    await page.getByLabel('Number of studies').fill('3');
    await sure.click();
    await page.waitForSelector('.toast >> text=3 studies deleted');
    const left = (await site.api.get('/v1/studies?limit=1000')).items.filter((study) => study.id.startsWith('bulk-'));
    assert.deepEqual(left, []);
  });
}

async function edited(site) {
  await site.api.create({ id: 'edit-me', metric: { name: 'loss', goal: 'minimize' }, metadata: { by: 'anna' }, horizon: 50, domain: { type: 'candidates', points: [[0], [1]] } });
  await with_(site.chrome, { allowed: /422/ }, async (page) => {
    await page.goto(`${site.url}/#/studies/edit-me`);
    const open = () => page.getByRole('button', { name: 'Edit edit-me' }).click();
    await open();
    await page.getByLabel('Horizon, trials').fill('many');
    await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
    await until('the field is marked', async () => (await page.getByLabel('Horizon, trials').getAttribute('aria-invalid')) === 'true');
    await page.getByLabel('Horizon, trials').fill('80');
    await page.getByLabel('Name', { exact: true }).fill('Edited by hand');
    await page.getByLabel('Note', { exact: true }).fill('the third oven\nsince March');
    await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
    await page.waitForSelector('.study-note >> text=the third oven');
    const { horizon, display_name, metadata } = await site.api.get('/v1/studies/edit-me');
    assert.deepEqual([horizon, display_name, metadata], [80, 'Edited by hand', { by: 'anna', note: 'the third oven\nsince March' }]);
    await open();
    await page.getByLabel('Note', { exact: true }).fill('');
    await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
    await until('the note is gone', async () => !(await site.api.get('/v1/studies/edit-me')).metadata.note);
    assert.deepEqual((await site.api.get('/v1/studies/edit-me')).metadata, { by: 'anna' });
  });
}

async function tokens(site) {
  await with_(site.chrome, { allowed: /401/ }, async (page) => {
    await page.goto(`${site.closed.url}/#/`);
    await page.getByLabel('Token', { exact: true }).fill(site.closed.token);
    await page.click('text=Use the token');
    await page.getByRole('link', { name: 'Tokens', exact: true }).click();
    await page.getByLabel('For', { exact: true }).fill('the cluster');
    await page.getByLabel('Role', { exact: true }).selectOption('viewer');
    await page.getByRole('button', { name: 'Create the token' }).click();
    const made = await page.locator('code.token').textContent();
    const who = await fetch(`${site.closed.url}/v1/whoami`, { headers: { Authorization: `Bearer ${made}` } });
    assert.equal((await who.json()).role, 'viewer');
    await page.getByRole('button', { name: 'Revoke the cluster' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.waitForSelector('.toast >> text=Revoked the cluster');
    const after = await fetch(`${site.closed.url}/v1/whoami`, { headers: { Authorization: `Bearer ${made}` } });
    assert.equal(after.status, 401);
  });
}

export const tests = {
  'manage: ticked studies are compared': compared,
  'manage: ticked studies are labelled and deleted': bulk,
  'manage: a study is edited, and what others put into its metadata stays': edited,
  'manage: a token is made and revoked': tokens,
};
