// What pages show after something was done: dialogs, messages, unfolded menus. In light, in dark and on a phone, as in
// test_looks.
import { LOOKS, inspect } from './test_looks.mjs';
import { until, with_ } from './harness.mjs';
import { Api, work } from './seed.mjs';

const SPACE = {
  type: 'space',
  parameters: [
    { name: 'celsius', type: 'double', min: 0, max: 100, unit: '°C' },
    { name: 'solvent', type: 'categorical', values: ['Water', 'DMSO'] },
  ],
};
const METRICS = [{ name: 'yield', goal: 'maximize', unit: '%' }, { name: 'cost', goal: 'minimize' }, { name: 'minutes', role: 'recorded' }];

// The studies of these tests, made once.
let made = null;
function studies(site) {
  made ??= (async () => {
    await site.api.create({ id: 'states-lab', metrics: [METRICS[0], METRICS[2]], domain: SPACE, seed: 3 });
    await work(site.api, 'states-lab', 8, ['anna'], ({ parameters }) => ({ values: { yield: parameters.celsius / 2, minutes: 1 }, std_errors: { yield: 0.5 } }));
    await site.api.create({ id: 'states-front', metrics: METRICS, domain: SPACE, seed: 3 });
    await work(site.api, 'states-front', 12, ['anna'], ({ parameters: { celsius, solvent } }) => ({ values: { yield: celsius, cost: celsius + (solvent === 'DMSO' ? 20 : 0), minutes: 2 } }), 4);
    await site.api.post('/v1/studies/states-lab/fork', { id: 'states-fork', at_trial: 6, seed: 9 });
    const picks = await site.api.ask('states-fork', 2, 'w');
    await site.api.tell('states-fork', picks.map((trial) => ({ trial: trial.id, state: 'released' })));
    await new Api(site.closed.url, site.closed.token).post('/v1/tokens', { role: 'viewer', description: 'the wall screen' });
  })();
  return made;
}

const at = (hash) => (page, site) => page.goto(`${site.url}/${hash}`);
const dialog = (page) => page.waitForSelector('dialog[open]');

async function signIn(page, site) {
  await page.goto(`${site.closed.url}/#/`);
  await page.getByLabel('Token', { exact: true }).fill(site.closed.token);
  await page.click('text=Use the token');
  await page.getByRole('link', { name: 'Tokens', exact: true }).click();
}

// Steps until the page shows what is to be looked at.
const STATES = {
  'the token is asked for': [async (page, site) => {
    await page.goto(`${site.closed.url}/#/`);
    await dialog(page);
  }],
  'tokens': [signIn, async (page) => {
    await page.getByLabel('For', { exact: true }).fill('the printer');
    await page.getByRole('button', { name: 'Create the token' }).click();
    await page.waitForSelector('code.token');
    await page.waitForSelector('td:has-text("the wall screen")');
  }],
  'a token is revoked': [signIn, async (page) => {
    await page.getByRole('button', { name: 'Revoke the wall screen' }).click();
    await dialog(page);
  }],
  'trials of the bench': [at('#/studies/states-lab/bench'), async (page) => {
    await page.getByLabel('My name', { exact: true }).fill(`Dr. Müller ${Math.random()}`);
    await page.getByLabel('How many', { exact: true }).fill('2');
    await page.getByRole('button', { name: 'Get trials' }).click();
    const first = page.locator('.bench tbody input').first();
    await first.fill('12,5%');
    await page.getByRole('button', { name: /^Save, trial/ }).first().click();
    await page.waitForSelector('.toast.wrong');
    await page.getByLabel(/^More actions on trial/).first().click();
  }],
  'settings of one\'s own': [at('#/studies/states-lab/bench'), async (page) => {
    await page.getByRole('button', { name: 'Propose…' }).click();
    await dialog(page);
  }],
  'an invitation': [at('#/studies/states-lab/bench'), async (page) => {
    await page.getByRole('button', { name: 'Invite…' }).click();
    await page.waitForSelector('canvas.qr');
  }],
  'columns of a file': [at('#/studies/states-lab/bench'), async (page) => {
    await page.waitForSelector('h2:text-is("Import results")');
    await page.locator('input[type=file]').last().setInputFiles({ name: 'march.csv', mimeType: 'text/csv', buffer: Buffer.from('celsius;solvent;yield\r\n20,5;Water;55,1\r\nhot;DMSO;60\r\n') });
    await page.waitForSelector('h3:text-is("Cells that cannot be used")');
  }],
  'a fork': [at('#/studies/states-lab/connect'), async (page) => {
    await page.click('button:text-is("Fork…")');
    await dialog(page);
    await page.click('dialog summary:text-is("Change more")');
  }],
  'first picks': [at('#/compare?studies=states-lab,states-fork&after=6'), (page) => page.waitForSelector('.panel:has(h2:text-is("First picks")) tbody tr:nth-child(2)')],
  'an edited study': [at('#/studies/states-lab'), async (page) => {
    await page.getByRole('button', { name: 'Edit states-lab' }).click();
    await dialog(page);
  }],
  'a corrected result': [at('#/studies/states-lab/trials/2'), async (page) => {
    await page.getByRole('button', { name: 'Correct…' }).click();
    await dialog(page);
  }],
  'a trial of several metrics': [at('#/studies/states-front/trials/2'), (page) => page.waitForSelector('.histories table')],
  'a front': [at('#/studies/states-front'), (page) => page.waitForSelector('.panel:has(h2:text-is("The front")) canvas')],
  'insights of several metrics': [at('#/studies/states-front/insights'), async (page) => {
    await page.getByLabel('of', { exact: true }).selectOption('cost');
    await until('its effects', async () => (await page.locator('.slice .chart').first().getAttribute('aria-label'))?.endsWith('on cost'));
  }],
  'ticked studies, a menu': [at('#/?q=states-'), async (page) => {
    await page.getByLabel('More actions on states-front').waitFor();
    for (const id of ['states-lab', 'states-fork']) {
      const box = page.getByLabel(`Tick ${id}`, { exact: true });
      if (await box.isVisible()) await box.check(); // not on a phone
    }
    await page.getByLabel('More actions on states-front').click();
    await page.locator('details[open] button:text-is("Chart as SVG")').waitFor();
  }],
  'a form with mistakes': [at('#/new'), async (page) => {
    await page.getByLabel('Type', { exact: true }).selectOption('categorical');
    await page.getByLabel('Values', { exact: true }).fill('a, b');
    if (!(await page.locator('.parameter details[open]').count())) await page.locator('.parameter summary').click();
    await page.getByLabel('Properties of each word').fill('1, 2\n3');
    await page.getByLabel('Id', { exact: true }).fill('Not An Id');
    await page.click('text=Create the study');
    await until('the fields are marked', async () => (await page.locator('[aria-invalid=true]').count()) >= 2);
  }],
};

async function see(site, look, name) {
  await studies(site);
  await with_(site.chrome, { ...LOOKS[look], allowed: /401|422/ }, async (page) => {
    for (const step of STATES[name]) await step(page, site);
    await page.waitForTimeout(400); // charts and figures appear later
    await page.screenshot({ path: `${site.screenshots}/${name.replaceAll(/[^a-z]+/g, '-')}-${look}.png`, fullPage: true });
    await inspect(page);
  });
}

export const tests = Object.fromEntries(Object.keys(LOOKS).flatMap((look) => Object.keys(STATES).map((name) => [`state ${name}, ${look}`, (site) => see(site, look, name)])));
