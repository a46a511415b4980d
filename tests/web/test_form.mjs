// New studies: from the form, from JSON, from a file, in a space, from another study; and invalid ones.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { until, with_ } from './harness.mjs';

const created = (page, id) => until(`${id} is shown`, async () => page.url().endsWith(`#/studies/${id}`));
const refusals = { allowed: /422/ };

async function wrong(site) {
  await with_(site.chrome, refusals, async (page) => {
    await page.goto(`${site.url}/#/new`);
    await page.getByLabel('Id', { exact: true }).fill('Not An Id');
    await page.click('summary:text-is("Algorithm")');
    await page.getByLabel('Noise, standard deviation').fill('-1');
    await page.click('summary:text-is("Algorithm")'); // a folded part is unfolded for its message
    await page.getByLabel('Trials at most').fill('many');
    await page.click('text=Create the study');
    await until('the fields are marked', async () => (await page.locator('[aria-invalid=true]').count()) >= 3);
    const marked = await page.locator('.field:has([aria-invalid=true]) .label-line > label').allTextContents();
    for (const label of ['Id', 'Noise, standard deviation', 'Trials at most (horizon)']) assert.ok(marked.includes(label), `${label} among ${marked}`);
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-invalid')), 'true');
    await page.getByLabel('Trials at most (horizon)').fill('10');
    assert.equal(await page.getByLabel('Trials at most (horizon)').getAttribute('aria-invalid'), null);
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
    assert.equal((await page.locator('.notice:has-text("/horizonn")').first().textContent()).split('/horizonn').length, 2); // once
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
    await page.getByLabel('A list of candidates').check();
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
    await row(2).locator('summary').click();
    await row(2).getByLabel('Only if').fill('optimizer');
    await row(2).getByLabel('is one of').fill('sgd');
    await page.click('text=Add a parameter');
    await row(3).getByLabel('Name').fill('rate');
    await row(3).locator('summary').click();
    await row(3).getByLabel('Decimal places').fill('2');
    await row(3).getByLabel('Only if').fill('depth');
    await row(3).getByLabel('or at least').fill('3');
    await row(3).getByLabel('Unit').fill('mm');
    await page.click('text=Add a parameter');
    await row(4).getByLabel('Name').fill('level');
    await row(4).locator('summary').click();
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
      await page.getByLabel('A list of candidates').check();
      await page.getByLabel('Points, one per line').fill('0, 0\n0.5, 0.5\n1, 0\n0.2, 0.8');
      await page.click('summary:text-is("Algorithm")');
      await page.getByLabel('Algorithm', { exact: true }).selectOption(name);
      await page.click('summary:has-text("Further options")');
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
    await page.getByLabel('A list of candidates').check();
    await page.getByLabel('Points, one per line').fill('0, 0\n0.5, 0.5\n1, 0\n0.2, 0.8');
    await page.click('summary:text-is("Algorithm")');
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
    assert.deepEqual(two.metrics.map((m) => [m.name, m.goal, m.role]), [['yield', 'maximize', 'objective'], ['hours', 'minimize', 'recorded'], ['cost', undefined, 'recorded']]);
    assert.deepEqual(two.domain.parameters[2].values, [...one.domain.parameters[2].values, 'ethanol/water 1:1, v/v']);
    assert.deepEqual(two.domain.parameters.slice(0, 2), one.domain.parameters.slice(0, 2));
  });
}

// Everything that a definition may say has a field: several metrics with roles, thresholds and bounds, parameters of every
// kind, rules to stop. The study is the one that the same definition makes by itself.
async function everything(site) {
  const definition = {
    id: 'by-everything',
    display_name: 'All of it',
    labels: { team: 'bench' },
    metadata: { note: 'from the form', code: '3f2a' },
    aim: 'best',
    repeats: 'never',
    metrics: [
      { name: 'yield', goal: 'maximize', role: 'objective', unit: '%', threshold: 20 },
      { name: 'cost', goal: 'minimize', role: 'objective', threshold: 90, at_most: 200 },
      { name: 'toxicity', role: 'constraint', at_most: 0.1 },
      { name: 'minutes', role: 'recorded' },
    ],
    domain: {
      type: 'space',
      parameters: [
        { name: 'rate', type: 'double', min: 0.001, max: 1, scale: 'log', precision: 3, default: 0.1 },
        { name: 'width', type: 'integer', min: 8, max: 256, step: 8, unit: 'mm' },
        { name: 'quality', type: 'categorical', values: ['low', 'mid', 'high'], ordered: true },
        { name: 'gate', type: 'boolean', default: true },
        { name: 'level', type: 'discrete', values: [1, 2, 4], active_when: { parameter: 'gate', in: [true] } },
        { name: 'heat', type: 'double', min: 0, max: 40, role: 'context' },
        { name: 'solvent', type: 'categorical', values: ['ethanol', 'propanol'], features: [[46.07, 1], [60.1, 1.5]], feature_names: ['mass', 'donors'], scaling: 'unit' },
        { name: 'base', type: 'categorical', values: ['a', 'b', 'c'], encoding: 'codes' },
      ],
      constraints: ['width <= 200', 'if gate then rate >= 0.01'],
    },
    horizon: 200,
    lease_seconds: 3600,
    max_attempts: 2,
    seed: 5,
  };
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/new`);
    const fill = (label, text, scope = page, n = 0) => scope.getByLabel(label, { exact: true }).nth(n).fill(String(text));
    const choose = (label, option, scope = page) => scope.getByLabel(label, { exact: true }).selectOption(option);
    await fill('Name', 'All of it');
    await fill('Id', definition.id);
    await fill('Labels', 'team:bench');
    await page.click('summary:text-is("Metadata")');
    await fill('Metadata as JSON', '{"code": "3f2a"');
    await fill('Note', 'from the form'); // it takes the place of what is no object
    await fill('Metadata as JSON', JSON.stringify(definition.metadata));
    assert.equal(await page.getByLabel('Note', { exact: true }).inputValue(), 'from the form');
    const texts = { features: 'Properties of each word', feature_names: 'Names of the properties', name: 'Name', min: 'From', max: 'To', precision: 'Decimal places', default: 'Default', step: 'Step', unit: 'Unit' };
    const choices = { scaling: 'Scaling of the properties', encoding: 'Encoding', scale: 'Scale', type: 'Type', role: 'Chosen by', ordered: 'Order' };
    for (const [i, parameter] of definition.domain.parameters.entries()) {
      if (i) await page.click('text=Add a parameter');
      const row = page.locator('.parameter').nth(i);
      await row.locator('summary').click();
      await choose('Type', parameter.type, row);
      if (!(await row.locator('details[open]').count())) await row.locator('summary').click();
      for (const [name, x] of Object.entries(parameter)) {
        if (name === 'values') await fill(parameter.type === 'discrete' ? 'Numbers' : 'Values', x.join(', '), row);
        else if (name === 'active_when') {
          await fill('Only if', x.parameter, row);
          await fill('is one of', x.in.join(', '), row);
        } else if (choices[name] || (name === 'default' && x === true)) await choose(choices[name] ?? 'Default', String(x), row);
        else await fill(texts[name], name === 'features' ? x.map((cells) => cells.join(', ')).join('\n') : x, row);
      }
    }
    await fill('Constraints', definition.domain.constraints.join('\n'));
    for (const [i, metric] of definition.metrics.entries()) {
      if (i) await page.click('text=Add a metric');
      const row = page.locator('.metric-row').nth(i);
      await row.getByLabel(/^Metric/).fill(metric.name);
      if (i) await choose('Role', metric.role, row);
      if (metric.goal) await choose('Goal', metric.goal, row);
      for (const [name, label] of [['unit', 'Unit'], ['at_most', 'Allowed to']]) if (metric[name] !== undefined) await fill(label, metric[name], row);
    }
    for (const [i, metric] of definition.metrics.entries()) if (metric.threshold) await fill('Threshold', metric.threshold, page.locator('.metric-row').nth(i));
    await choose('Aim', 'best');
    await choose('Try the same settings twice', 'never');
    await fill('Trials at most (horizon)', 200);
    await page.click('summary:text-is("Handing out trials")');
    await fill('Reserved for a worker, seconds', 3600);
    await fill('Maximum attempts', 2);
    await fill('Seed', 5);
    await page.click('button:text-is("JSON")');
    assert.deepEqual(JSON.parse(await page.getByLabel('Definition as JSON').inputValue()), definition);
    await page.click('button:text-is("Form")');
    await page.click('text=Create the study');
    await created(page, definition.id);
  });
  const study = await site.api.get(`/v1/studies/${definition.id}`);
  assert.deepEqual(study.metrics.map((m) => m.role), ['objective', 'objective', 'constraint', 'recorded']);
  assert.deepEqual(study.domain.constraints, definition.domain.constraints);
  assert.deepEqual([study.domain.parameters[6].features, study.domain.parameters[6].feature_names, study.domain.parameters[7].encoding], [[[46.07, 1], [60.1, 1.5]], ['mass', 'donors'], 'codes']);
  assert.deepEqual([study.domain.parameters[4].active_when, study.domain.parameters[5].role], [{ parameter: 'gate', in: [true] }, 'context']);
}

// The members of a schema of openapi.yaml, a file that is indented by two spaces.
function membersOf(text, schema) {
  const lines = text.split('\n');
  const from = lines.indexOf(`    ${schema}:`);
  assert.ok(from > 0, schema);
  const length = lines.slice(from + 1).findIndex((line) => /^ {0,4}\S/.test(line));
  const own = lines.slice(from + 1, from + 1 + length);
  const properties = own.slice(own.indexOf('      properties:') + 1);
  const end = properties.findIndex((line) => /^ {0,6}\S/.test(line));
  return properties.slice(0, end < 0 ? undefined : end).map((line) => /^ {8}(\w+):/.exec(line)?.[1]).filter(Boolean);
}

// Where the members of each schema are in a definition. What has one possible value has no field.
const PLACES = {
  StudyDefinition: '',
  Metric: '/metrics/0',
  CandidatesDefinition: '/domain',
  PrecomputedDomain: '/domain',
  SpaceDomain: '/domain',
  ...Object.fromEntries(['Double', 'Integer', 'Discrete', 'Categorical', 'Boolean'].map((type) => [`${type}Parameter`, '/domain/parameters/0'])),
  ActiveWhen: '/domain/parameters/0/active_when',
  StagnationRule: '/stop_when/0',
  TargetRule: '/stop_when/0',
  CostRule: '/stop_when/0',
  MedianStopping: '/stopping',
  HalvingStopping: '/stopping',
  KernelDefinition: '/algorithm/kernel',
};
const OBJECTS = ['metric', 'metrics', 'domain', 'algorithm', 'stopping', 'stop_when', 'parameters', 'active_when']; // they have fields for their members

// Every member of a definition that openapi.yaml describes has a field.
async function complete(site) {
  const text = await readFile(new URL('../../openapi.yaml', import.meta.url), 'utf8');
  const wanted = Object.entries(PLACES).flatMap(([schema, place]) => membersOf(text, schema).filter((name) => !OBJECTS.includes(name)).map((name) => `${place}/${name}`));
  assert.ok(wanted.length > 80, `${wanted.length} members`);
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/new`);
    const seen = new Set();
    const look = async () => {
      for (const pointer of await page.locator('[data-pointer]').evaluateAll((fields) => fields.map((field) => field.dataset.pointer))) seen.add(pointer);
    };
    const inTurn = async (locator) => {
      await locator.waitFor();
      for (const option of await locator.locator('option').evaluateAll((options) => options.map((o) => o.value))) {
        await locator.selectOption(option);
        await look();
      }
    };
    await inTurn(page.locator('.parameter').getByLabel('Type', { exact: true }));
    await page.click('text=Add a rule that ends the study');
    await inTurn(page.getByLabel('Finish the study when'));
    await inTurn(page.getByLabel('Stop a run early if it is'));
    await page.click('text=Add a metric');
    await page.getByLabel('Role', { exact: true }).nth(1).selectOption('objective'); // several objectives have thresholds
    await look();
    for (const card of await page.getByRole('radio').all()) {
      await card.check();
      await look();
    }
    assert.deepEqual(wanted.filter((pointer) => !seen.has(pointer)), [], 'members without a field');
    // A copy has what a definition may have, and nothing that the server adds.
    const copied = await page.evaluate(async (names) => {
      const { definitionOf } = await import('./js/tab-connect.js');
      return Object.keys(definitionOf(Object.fromEntries(names.map((name) => [name, 1]))));
    }, membersOf(text, 'Study'));
    assert.deepEqual(copied.filter((name) => !membersOf(text, 'StudyDefinition').includes(name)), [], 'members that the server adds');
  });
}

// Points with keys: some have none.
async function keys(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/new`);
    await page.getByLabel('Id', { exact: true }).fill('by-keys');
    await page.getByLabel('A list of candidates').check();
    await page.getByLabel('Points, one per line').fill('0, 1\n1, 0\n1, 1');
    await page.click('summary:text-is("Keys of the points")');
    await page.getByLabel('Keys, one per line').fill('\nCCN\nC C, O');
    await page.click('button:text-is("JSON")');
    await page.click('button:text-is("Form")');
    assert.equal(await page.getByLabel('Keys, one per line').inputValue(), '\nCCN\nC C, O');
    await page.click('text=Create the study');
    await created(page, 'by-keys');
    const { items } = await site.api.get('/v1/studies/by-keys/candidates');
    assert.deepEqual(items.map((item) => item.key), [undefined, 'CCN', 'C C, O']);
  });
}

// Points as spreadsheets copy them: with a line of names, between semicolons or tabs, with decimal commas.
async function spreadsheet(site) {
  await with_(site.chrome, refusals, async (page) => {
    await page.goto(`${site.url}/#/new`);
    await page.getByLabel('Id', { exact: true }).fill('copied');
    await page.getByLabel('A list of candidates').check();
    const points = page.getByLabel('Points, one per line');
    await points.fill('1; 2\n3;');
    await page.click('text=Create the study');
    await page.waitForSelector('.field-error >> text=row 2: must be a number');
    await points.fill('degrees\tminutes\n180,5\t20\n-19; 1,5E2');
    assert.equal(await page.getByLabel('Feature names').inputValue(), 'degrees, minutes');
    await page.click('text=Create the study');
    await created(page, 'copied');
  });
  const { items } = await site.api.get('/v1/studies/copied/candidates');
  assert.deepEqual(items.map((item) => item.point), [[180.5, 20], [-19, 150]]);
  assert.deepEqual((await site.api.get('/v1/studies/copied')).domain.names, ['degrees', 'minutes']);
}

// Rules that end a study and stop runs, another study's results to begin with, and a study to learn from.
async function rules(site) {
  await site.api.create({ id: 'rules-1', metric: { name: 'loss', goal: 'minimize' }, domain: { type: 'space', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] } });
  const [trial] = await site.api.ask('rules-1', 1, 'w');
  await site.api.tell('rules-1', [{ trial: trial.id, value: 0.5 }]);
  await with_(site.chrome, refusals, async (page) => {
    await page.goto(`${site.url}/#/new`);
    await page.getByLabel('Id', { exact: true }).fill('rules-2');
    await page.getByLabel('Metric, its name').fill('loss');
    await page.getByLabel('Goal').selectOption('minimize');
    await page.getByLabel('Begin with the results of').fill('rules-1');
    await page.getByLabel('Learn from').fill('rules-1');
    await page.click('text=Add a rule that ends the study');
    await page.getByLabel('Results', { exact: true }).fill('30');
    await page.click('text=Add a rule that ends the study');
    await page.getByLabel('Finish the study when').nth(1).selectOption('target');
    await page.getByLabel('Then', { exact: true }).nth(1).selectOption('tell');
    await page.getByLabel('Stop a run early if it is').selectOption('median');
    await page.getByLabel('Least steps').fill('0');
    await page.click('text=Create the study');
    await until('both mistakes are at their fields', async () => {
      const marked = await page.locator('.field:has([aria-invalid=true]) .label-line > label').allTextContents();
      return JSON.stringify(marked) === JSON.stringify(['Value', 'Least steps']);
    });
    await page.getByLabel('Value', { exact: true }).fill('0.01');
    await page.getByLabel('Least steps').fill('3');
    await page.getByLabel('The model learns from stopped trials').selectOption('nothing');
    await page.click('text=Create the study');
    await created(page, 'rules-2');
  });
  const study = await site.api.get('/v1/studies/rules-2');
  assert.deepEqual(study.stop_when.map((rule) => [rule.rule, rule.results ?? rule.value, rule.then]), [['stagnation', 30, 'finish'], ['target', 0.01, 'tell']]);
  assert.deepEqual([study.stopping.rule, study.stopping.min_steps, study.stopping.stopped, study.observations], ['median', 3, 'nothing', 1]);
  assert.deepEqual(study.learn_from, ['rules-1']);
}

// A link carries a filled form. What was filled in is there again after the page was left, until it is cancelled.
async function link(site) {
  await with_(site.chrome, refusals, async (page) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(`${site.url}/#/new`);
    await page.getByLabel('Metric, its name').fill('a & b, 100 %');
    await page.locator('.parameter').getByLabel('Name').fill('größe');
    await page.click('text=Copy a link to this form');
    await page.waitForSelector('.toast >> text=Copied');
    const carried = await page.evaluate(() => navigator.clipboard.readText());
    await page.goto(`${site.url}/#/`);
    await page.waitForSelector('tbody tr');
    await page.goto(`${site.url}/#/new`);
    await page.waitForSelector('.notice:has-text("what you had filled in")');
    assert.equal(await page.getByLabel('Metric, its name').inputValue(), 'a & b, 100 %');
    await page.click('text=Start afresh');
    assert.equal(await page.getByLabel('Metric, its name').inputValue(), 'value');
    await page.getByLabel('Metric, its name').fill('another');
    await page.click('a:text-is("Cancel")');
    await page.waitForSelector('tbody tr');
    await page.goto(`${site.url}/#/new`);
    await until('nothing is kept', async () => (await page.getByLabel('Metric, its name').inputValue()) === 'value');
    await page.goto(carried); // while the page is open
    await until('the link fills the form', async () => (await page.getByLabel('Metric, its name').inputValue()) === 'a & b, 100 %');
    assert.equal(await page.locator('.parameter').getByLabel('Name').inputValue(), 'größe');
    await page.goto(`${site.url}/#/new?definition=%7B`);
    await page.waitForSelector('.notice >> text=does not carry a definition');
  });
}

// What a new study takes over from another one, and what it leaves out.
async function takenOver(site) {
  const space = (max) => ({ metric: { name: 'loss', goal: 'minimize' }, domain: { type: 'space', parameters: [{ name: 'a/b', type: 'double', min: 0, max }] } });
  await site.api.create({ id: 'old-range', ...space(1) });
  await site.api.post('/v1/studies/old-range/observations', { observations: [0.1, 0.7, 0.3].map((x) => ({ parameters: { 'a/b': x }, value: x })) });
  const trial = await site.api.post('/v1/studies/old-range/trials', { parameters: { 'a/b': 0.9 } });
  await site.api.ask('old-range', 1, 'w');
  await site.api.tell('old-range', [{ trial: trial.id, value: 0.9 }]);
  await with_(site.chrome, {}, async (page) => {
    const create = async (id, max) => {
      const definition = { id, ...space(max), history_from: 'old-range' };
      await page.goto(`${site.url}/#/new?definition=${encodeURIComponent(JSON.stringify(definition))}`);
      await page.click('text=Create the study');
      await created(page, id);
    };
    await create('new-range', 0.5);
    const dialog = page.locator('dialog');
    await page.waitForSelector('dialog h2:text-is("2 left out")');
    assert.match(await dialog.textContent(), /2 results of old-range were taken over\. The others do not fit this study/);
    const rows = await dialog.locator('tbody tr').evaluateAll((all) => all.map((row) => [...row.cells].map((cell) => cell.textContent)));
    assert.deepEqual(rows, ['imported result 2', 'trial 1'].map((which) => [which, 'a/b', 'must be a number from 0.0 to 0.5']));
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.waitForSelector('dialog', { state: 'detached' });
    await create('same-range', 1);
    await page.waitForSelector('.toast >> text=4 results of old-range were taken over.');
  });
}

export const tests = {
  'form: everything that a definition may say': everything,
  'form: a field for each member of a definition': complete,
  'form: keys of candidates': keys,
  'form: points from a spreadsheet': spreadsheet,
  'form: rules to stop, and the results of another study': rules,
  'form: what is taken over from another study': takenOver,
  'form: a link that carries it, and what was filled in': link,
  'form: messages are beside their fields': wrong,
  'form: a definition as JSON': json,
  'form: candidates from a file': file,
  'form: candidates uploaded later': later,
  'form: a space of parameters': space,
  'form: every algorithm by the form': algorithms,
  'form: an algorithm chosen by the aim': aim,
  'form: a study copied from another': again,
  'form: a copy with several metrics': againSeveral,
};
