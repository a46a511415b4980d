// New studies: from the form, from JSON, from a file, in a space, from another study; and invalid ones.
import assert from 'node:assert/strict';
import { until, with_ } from './harness.mjs';

const created = (page, id) => until(`${id} is shown`, async () => page.url().endsWith(`#/studies/${id}`));
const refusals = { allowed: /422/ };

async function wrong(site) {
  await with_(site.chrome, refusals, async (page) => {
    await page.goto(`${site.url}/#/new`);
    await page.getByLabel('Id', { exact: true }).fill('Not An Id');
    await page.getByLabel('Noise, standard deviation').fill('-1');
    await page.getByLabel('Horizon, trials').fill('many');
    await page.click('text=Create the study');
    await until('the fields are marked', async () => (await page.locator('[aria-invalid=true]').count()) >= 3);
    const marked = await page.locator('.field:has([aria-invalid=true]) > label').allTextContents();
    for (const label of ['Id', 'Noise, standard deviation', 'Horizon, trials']) assert.ok(marked.includes(label), `${label} among ${marked}`);
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-invalid')), 'true');
    await page.getByLabel('Horizon, trials').fill('10');
    assert.equal(await page.getByLabel('Horizon, trials').getAttribute('aria-invalid'), null);
  });
}

async function json(site) {
  await with_(site.chrome, refusals, async (page) => {
    await page.goto(`${site.url}/#/new`);
    await page.getByLabel('Name', { exact: true }).first().fill('Typed by hand');
    await page.click('button:text-is("JSON")');
    const area = page.getByLabel('Definition as JSON');
    const definition = JSON.parse(await area.inputValue());
    assert.equal(definition.display_name, 'Typed by hand');
    Object.assign(definition, { id: 'by-json', domain: { type: 'candidates', points: [[0], [1]] }, horizonn: 3 });
    await area.fill(JSON.stringify(definition));
    await page.click('text=Create the study');
    await page.waitForSelector('.notice >> text=/horizonn');
    delete definition.horizonn;
    await area.fill(JSON.stringify(definition));
    await page.click('button:text-is("Form")');
    assert.equal(await page.getByLabel('Id', { exact: true }).inputValue(), 'by-json');
    assert.equal(await page.getByLabel('Points, one per line').inputValue(), '0\n1');
    await page.click('text=Create the study');
    await created(page, 'by-json');
  });
}

async function file(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/new`);
    await page.getByLabel('Id', { exact: true }).fill('by-file');
    await page.getByLabel('File with the candidates').setInputFiles({ name: 'points.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b,c\n1,2,3\n4,5,6\n7,8,10\n') });
    await until('the features are counted', async () => (await page.getByLabel('Features').inputValue()) === '3');
    await page.click('text=Create the study');
    await created(page, 'by-file');
    await until('the candidates are there', async () => (await site.api.get('/v1/studies/by-file')).candidates === 3);
    assert.equal((await site.api.get('/v1/studies/by-file')).state, 'active');
  });
}

async function later(site) {
  await with_(site.chrome, {}, async (page) => {
    await site.api.create({ id: 'later', metric: { name: 'v', goal: 'maximize' }, domain: { type: 'candidates', dimension: 2 }, algorithm: { name: 'uniform' } });
    await page.goto(`${site.url}/#/studies/later`);
    await page.click('.notice >> text=upload them');
    await page.locator('input[type=file]').setInputFiles({ name: 'points.json', mimeType: 'application/json', buffer: Buffer.from('{"points": [[1, 2], [3, 4]]}') });
    await page.click('button:text-is("Upload")');
    await until('it is active', async () => (await page.locator('.study-head .badge').textContent()) === 'active');
    assert.equal((await site.api.get('/v1/studies/later')).candidates, 2);
  });
}

async function space(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/new`);
    await page.getByLabel('Id', { exact: true }).fill('by-space');
    await page.getByLabel('Kind').selectOption('space');
    const row = (n) => page.locator('.parameter').nth(n);
    await row(0).getByLabel('Name').fill('depth');
    await row(0).getByLabel('Type').selectOption('integer');
    await row(0).getByLabel('From').fill('1');
    await row(0).getByLabel('To', { exact: true }).fill('8');
    await row(0).getByLabel('Scale').selectOption('log');
    await page.click('text=Add a parameter');
    await row(1).getByLabel('Name').fill('optimizer');
    await row(1).getByLabel('Type').selectOption('categorical');
    await row(1).getByLabel('Values').fill('adam, sgd');
    await page.click('text=Add a parameter');
    await row(2).getByLabel('Name').fill('momentum');
    await row(2).getByLabel('Type').selectOption('discrete');
    await row(2).getByLabel('Numbers').fill('0.5, 0.9');
    await row(2).getByLabel('Only if').fill('optimizer');
    await row(2).getByLabel('is one of').fill('sgd');
    await page.click('text=Add a parameter');
    await row(3).getByLabel('Name').fill('rate');
    await row(3).getByLabel('Decimal places').fill('2');
    await row(3).getByLabel('Only if').fill('depth');
    await row(3).getByLabel('or at least').fill('3');
    await row(3).getByLabel('Unit').fill('mm');
    await page.click('text=Add a parameter');
    await row(4).getByLabel('Name').fill('level');
    await row(4).getByLabel('Step').fill('0.25');
    await page.getByLabel('Constraints').fill('depth <= 6\nif optimizer = "sgd" then level >= 0.25');
    await page.click('text=Create the study');
    await created(page, 'by-space');
    const { domain } = await site.api.get('/v1/studies/by-space');
    assert.deepEqual(domain.parameters, [
      { name: 'depth', type: 'integer', min: 1, max: 8, scale: 'log' },
      { name: 'optimizer', type: 'categorical', values: ['adam', 'sgd'] },
      { name: 'momentum', type: 'discrete', values: [0.5, 0.9], active_when: { parameter: 'optimizer', in: ['sgd'] } },
      { name: 'rate', type: 'double', min: 0, max: 1, scale: 'linear', precision: 2, unit: 'mm', active_when: { parameter: 'depth', min: 3 } },
      { name: 'level', type: 'double', min: 0, max: 1, scale: 'linear', step: 0.25 },
    ]);
    assert.deepEqual(domain.constraints, ['depth <= 6', 'if optimizer = "sgd" then level >= 0.25']);
  });
}

// The form can create a study with every algorithm that the server offers, and set an option.
async function algorithms(site) {
  const { algorithms: all } = await site.api.get('/v1/algorithms');
  await with_(site.chrome, {}, async (page) => {
    for (const { name } of all) {
      await page.goto(`${site.url}/#/`);
      await page.goto(`${site.url}/#/new`);
      const id = `form-${name.replaceAll('_', '-')}`;
      await page.getByLabel('Id', { exact: true }).fill(id);
      await page.getByLabel('Points, one per line').fill('0, 0\n0.5, 0.5\n1, 0\n0.2, 0.8');
      await page.getByLabel('Algorithm', { exact: true }).selectOption(name);
      await page.click('summary');
      await page.getByLabel('max arm failures').fill('2');
      await page.click('text=Create the study');
      await created(page, id);
      const { algorithm } = await site.api.get(`/v1/studies/${id}`);
      assert.equal(algorithm.name, name);
      assert.equal(algorithm.max_arm_failures, 2);
    }
  });
}

// Without an algorithm, the aim chooses it. An option that was cleared leaves nothing behind.
async function aim(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/new`);
    await page.getByLabel('Id', { exact: true }).fill('by-aim');
    await page.getByLabel('Points, one per line').fill('0, 0\n0.5, 0.5\n1, 0\n0.2, 0.8');
    await page.getByLabel('Lengthscale').fill('0.5');
    await page.getByLabel('Lengthscale').fill('');
    await page.getByLabel('Aim').selectOption('best');
    await page.click('text=Create the study');
    await created(page, 'by-aim');
    const study = await site.api.get('/v1/studies/by-aim');
    assert.equal(study.aim, 'best');
    assert.equal(study.algorithm.name, 'log_ei');
  });
}

async function again(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/training/connect`);
    await page.click('text=Create a new study from this one');
    await page.getByLabel('Id', { exact: true }).fill('training-2');
    await page.click('text=Create the study');
    await created(page, 'training-2');
    const [one, two] = await Promise.all(['training', 'training-2'].map((id) => site.api.get(`/v1/studies/${id}`)));
    assert.deepEqual(two.domain, one.domain);
    assert.deepEqual(two.algorithm, one.algorithm);
  });
}

// A copy keeps several metrics, scales, and values with commas; all of them can be edited.
async function againSeveral(site) {
  await site.api.create({
    id: 'several',
    metrics: [{ name: 'yield', goal: 'maximize' }, { name: 'minutes', goal: 'minimize', role: 'recorded' }],
    domain: {
      type: 'space',
      parameters: [
        { name: 'time', type: 'double', min: 1, max: 9, scale: 'linear' },
        { name: 'heat', type: 'double', min: 1, max: 90, scale: 'log' },
        { name: 'solvent', type: 'categorical', values: ['water', 'toluene/water 4:1, v/v', 'a "quoted" one'] },
        { name: 'base', type: 'categorical', values: ['none', 'K2CO3'] },
        { name: 'equivalents', type: 'double', min: 0, max: 2 },
      ],
    },
    algorithm: { name: 'uniform' },
  });
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/several/connect`);
    const shell = await page.getByLabel('Shell', { exact: true }).locator('code').textContent();
    for (const name of ['time', 'heat', 'solvent', 'base', 'equivalents']) assert.ok(shell.includes(`{${name}}`), shell);
    await page.click('text=Create a new study from this one');
    await page.getByLabel('Id', { exact: true }).fill('several-2');
    assert.deepEqual(await page.getByLabel('Metric', { exact: true }).evaluateAll((fields) => fields.map((f) => f.value)), ['yield', 'minutes']);
    assert.deepEqual(await page.getByLabel('Scale').evaluateAll((fields) => fields.slice(0, 2).map((f) => f.selectedOptions[0]?.textContent)), ['linear', 'logarithmic']);
    await page.getByLabel('Metric', { exact: true }).nth(1).fill('hours');
    await page.click('text=Add a metric');
    await page.getByLabel('Metric', { exact: true }).nth(2).fill('cost');
    const values = page.locator('.parameter').nth(2).getByLabel('Values');
    await values.fill(`${await values.inputValue()}, "ethanol/water 1:1, v/v"`);
    await page.click('text=Create the study');
    await created(page, 'several-2');
    const [one, two] = await Promise.all(['several', 'several-2'].map((id) => site.api.get(`/v1/studies/${id}`)));
    assert.deepEqual(two.metrics.map((m) => [m.name, m.goal, m.role]), [['yield', 'maximize', 'objective'], ['hours', 'minimize', 'recorded'], ['cost', 'maximize', 'recorded']]);
    assert.deepEqual(two.domain.parameters[2].values, [...one.domain.parameters[2].values, 'ethanol/water 1:1, v/v']);
    assert.deepEqual(two.domain.parameters.slice(0, 2), one.domain.parameters.slice(0, 2));
  });
}

export const tests = {
  'messages are beside their fields': wrong,
  'a definition as JSON': json,
  'candidates from a file': file,
  'candidates uploaded later': later,
  'a space of parameters': space,
  'every algorithm by the form': algorithms,
  'an algorithm chosen by the aim': aim,
  'a study copied from another': again,
  'a copy with several metrics': againSeveral,
};
