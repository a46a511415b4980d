// What the pages answer: what is best and how sure, what goes wrong, which trials there were.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { until, with_ } from './harness.mjs';
import { work } from './seed.mjs';

const run = promisify(execFile);
const MINUS = '−';

// Serves the path with its JSON changed.
async function changed(page, path, change) {
  await page.route(path, async (route) => {
    const response = await route.fetch().catch(() => null);
    if (!response) return route.abort().catch(() => {}); // the page is being closed
    if (!response.ok()) return route.fulfill({ response });
    return route.fulfill({ response, json: change(await response.json()) });
  });
}

const tileNote = (page, label) => page.locator(`.tile:has(dt:text-is("${label}")) .tile-note`).textContent();

// A study of one feature that reports the given values in turn.
async function told(site, id, values, more = {}) {
  await site.api.create({ id, metric: { name: 'loss', goal: 'minimize' }, domain: { type: 'candidates', points: [[0], [1], [2], [3]] }, algorithm: { name: 'uniform' }, ...more });
  await work(site.api, id, values.length, ['w'], (trial) => ({ value: values[trial.id - 1] }));
}

async function card(site) {
  const { parameters } = (await site.api.get('/v1/studies/training/best')).observed;
  await with_(site.chrome, {}, async (page) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: site.url });
    await changed(page, '**/training/best', (best) => ({
      observed: { ...best.observed, expected: 0.061, lucky: true },
      recommended: { ...best.recommended, parameters: { ...best.recommended.parameters, workers: 8 }, mean: 0.0608, std: 0.0005, pulls: 10200 },
    }));
    await page.goto(`${site.url}/#/studies/training`);
    const recommended = page.locator('.recommended');
    await until('mean and two deviations', async () => (await recommended.locator('.result-value').textContent()).endsWith('0.0608 ± 0.001'));
    assert.match(await recommended.textContent(), /Measured 10\s200 times/);
    const measured = page.locator('.measured');
    assert.match(await measured.locator('.notice.warning').textContent(), /luck: the model expects 0\.061 at these settings/);
    const copied = async (name) => {
      await measured.getByRole('button', { name: `Copy the best measured settings as ${name}` }).click();
      await page.waitForSelector(`.toast >> text=as ${name}`);
      return page.evaluate(() => navigator.clipboard.readText());
    };
    assert.deepEqual(JSON.parse(await copied('JSON')), parameters);
    const python = await run('python3', ['-c', `import json\n${await copied('Python')}\nprint(json.dumps(parameters))`]);
    assert.deepEqual(JSON.parse(python.stdout), parameters);
    const shell = await run('sh', ['-c', `printf '%s\\n' ${await copied('shell')}`]);
    assert.deepEqual(shell.stdout.trim().split('\n'), Object.entries(parameters).map(([name, x]) => `--${name}=${x}`));
    await measured.locator('a').first().click();
    await page.waitForSelector('h2.trial-title:has-text("completed")');
  });
}

// The rows of pixels in which values are drawn, without the line of the best.
const rows = (page) =>
  page.locator('.chart canvas').first().evaluate((canvas) => {
    const { width, height } = canvas;
    const { data } = canvas.getContext('2d', { willReadFrequently: true }).getImageData(0, 0, width, height);
    let found = 0;
    for (let y = 0; y < height; y++) {
      let blue = false;
      for (let x = 100; x < width; x++) {
        const i = 4 * (y * width + x);
        blue ||= data[i + 3] > 200 && data[i + 2] > data[i] + 80;
      }
      found += blue;
    }
    return found;
  });

async function outliers(site) {
  await told(site, 'outliers', Array.from({ length: 40 }, (_, i) => (i === 3 || i === 20 ? 1000 + i : 1 + ((i * 7) % 10) / 20)));
  await with_(site.chrome, { allowed: /Canvas2D/ }, async (page) => {
    await page.goto(`${site.url}/#/studies/outliers`);
    await page.waitForSelector('text=2 values are beyond the axis');
    await until('the values fill the chart', async () => (await rows(page)) > 45);
    await page.getByLabel('outliers', { exact: true }).first().check();
    await until('two values alone are at the top', async () => (await rows(page)) < 30);
  });
}

async function attention(site) {
  await with_(site.chrome, {}, async (page) => {
    const old = new Date(Date.now() - 55 * 60e3).toISOString();
    const quiet = (study) => {
      if (study.id === 'molecules') return { ...study, updated_at: old, trials_pending: 0, trials_failed: 2 };
      return study.id === 'bread' ? { ...study, updated_at: new Date().toISOString() } : study; // however long ago other tests changed it
    };
    await changed(page, '**/v1/studies?*', (answer) => ({ ...answer, items: answer.items.map(quiet) }));
    await changed(page, '**/v1/studies/molecules', quiet);
    await page.goto(`${site.url}/#/`);
    const row = (id) => page.locator(`tr:has(a[href="#/studies/${id}"])`);
    // Found by the filter: other tests' studies may fill the first page.
    const find = async (id, mark) => {
      await page.getByLabel('Filter').fill(id);
      await row(id).locator(mark).waitFor();
    };
    await find('failing', '.badge.amber');
    await find('failing', 'text=all 30 trials failed');
    await find('molecules', 'text=no worker for 55:');
    await find('molecules', 'text=2 failed (0.7 %)');
    await find('bread', 'text=6 failed');
    await page.getByLabel('Filter').fill('');
    await page.getByLabel('State', { exact: true }).selectOption('attention');
    await until('only what needs attention', async () => (await row('bread').count()) === 0 && (await row('failing').count()) === 1);
    await page.goto(`${site.url}/#/studies/molecules`);
    await page.waitForSelector('.notice.warning >> text=No worker for 55:');
    await page.goto(`${site.url}/#/studies/failing`);
    await page.waitForSelector('.notice.warning:has-text("All 30 trials failed")');
    await page.waitForSelector('.study-head .badge.amber');
    const group = page.locator('.panel:has(h2:text-is("Failures")) tbody tr');
    await until('one reason', async () => (await group.count()) === 1 && /^30FileNotFoundError/.test(await group.textContent()));
  });
}

async function standstill(site) {
  await told(site, 'standstill', [3, 2, 1, 4], { horizon: 100 });
  for (const [seconds, wanted] of [[0, /left/], [60, /^last result 1 min ago/]])
    await with_(site.chrome, {}, async (page) => {
      await changed(page, '**/standstill/series?*', (series) => ({ ...series, items: series.items.map((p, i) => ({ ...p, told_at: new Date(Date.now() - 1000 * (seconds + 4 - i)).toISOString() })) }));
      await page.goto(`${site.url}/#/studies/standstill`);
      await until(`${wanted}`, async () => wanted.test(await tileNote(page, 'Trials/min')));
    });
}

async function negativeRegret(site) {
  await told(site, 'negative', [1.5, 1.2, 0.9, 1.1], { optimum: 1 });
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/negative`);
    const readout = page.locator('.panel:has(h2:text-is("Regret")) .readout');
    await until('a regret below zero', async () => (await readout.textContent()).includes(`of the best so far ${MINUS}0.1`));
    await page.waitForSelector('text=Below zero: noise made values better');
  });
}

// The best of many trials is among the lines, and lines pass the axis of a parameter that is not active.
async function parallel(site) {
  await site.api.create({ id: 'many-lines', metric: { name: 'v', goal: 'maximize' }, domain: { type: 'candidates', points: [[0], [1], [2], [3]] }, algorithm: { name: 'uniform', max_batch: 2000 } });
  await work(site.api, 'many-lines', 1500, ['w'], (trial) => ({ value: trial.id === 3 ? 99 : (trial.id % 100) / 100 }), 500);
  await with_(site.chrome, { allowed: /Canvas2D/ }, async (page) => {
    await page.goto(`${site.url}/#/studies/many-lines/parallel`);
    await until('the best', async () => /to 99$/.test(await page.locator('.readout').first().textContent()));
    await page.goto(`${site.url}/#/studies/training/parallel`);
    await page.getByLabel('range of').selectOption('optimizer');
    await page.getByLabel('range to, percent of the axis').focus();
    for (let i = 0; i < 60; i++) await page.keyboard.press('ArrowLeft');
    const all = (await site.api.get('/v1/studies/training/trials?limit=1000')).items.filter((t) => t.value !== undefined);
    const adam = all.filter((t) => t.parameters.optimizer === 'adam').length;
    await until('only adam', async () => (await page.locator('.readout').first().textContent()).startsWith(`${adam} of ${all.length}`));
    assert.equal(await page.locator('.chosen tbody tr').count(), 8);
    assert.equal(await page.locator('.chosen tbody tr').first().locator('td').nth(4).textContent(), '–');
    const strong = await page.locator('.parallel').evaluate((canvas) => {
      const x = Math.round((canvas.width * 2.5) / 6); // between the axes of optimizer and momentum
      const { data } = canvas.getContext('2d', { willReadFrequently: true }).getImageData(x, 0, 1, canvas.height);
      return data.filter((alpha, i) => i % 4 === 3 && alpha > 100).length;
    });
    assert.ok(strong > 0, 'lines pass the axis');
    await page.getByRole('button', { name: 'All lines' }).click();
    const names = async () => /through (.*)$/.exec(await page.locator('.parallel').getAttribute('aria-label'))[1];
    assert.match(await names(), /^rate, width, optimizer/);
    await page.getByRole('button', { name: 'move this axis to the left' }).click();
    assert.match(await names(), /^rate, optimizer, width/);
    const box = await page.locator('.parallel').boundingBox();
    await page.mouse.move(box.x + box.width - 48, box.y + 14); // the name of the last axis
    await page.mouse.down();
    await page.mouse.move(box.x + 48, box.y + 14);
    await page.mouse.up();
    await until('the loss is first', async () => /^loss, rate, optimizer/.test(await names()));
    let above = 40; // px: upwards from the bottom until a line is under the pointer
    const under = await until('a line under the pointer', async () => {
      await page.mouse.move(box.x + 72, box.y + 400 - above);
      above += 3;
      return /^trial (\d+): loss/.exec(await page.locator('.readout').first().textContent())?.[1];
    });
    assert.ok(all.some((t) => String(t.id) === under));
    await page.mouse.down();
    await page.mouse.up();
    await page.waitForSelector(`h2.trial-title:has-text("Trial ${under}")`);
  });
}

async function columns(site) {
  await with_(site.chrome, {}, async (page) => {
    const cells = (n) => page.locator(`tbody td:nth-child(${n})`).allTextContents();
    await page.goto(`${site.url}/#/studies/training/trials`);
    await page.waitForSelector('th:has-text("momentum")');
    await page.click('th button:has-text("loss")');
    const best = (await site.api.get('/v1/studies/training/trials?sort=value&order=asc&limit=5')).items.map((t) => String(t.id));
    await until('the smallest loss first', async () => JSON.stringify((await cells(1)).slice(0, 5)) === JSON.stringify(best));
    await page.click('th button:has-text("rate")');
    const rates = (await site.api.get('/v1/studies/training/trials?sort=parameter:rate&order=desc&limit=5')).items.map((t) => String(t.id));
    await until('the largest rate first', async () => JSON.stringify((await cells(1)).slice(0, 5)) === JSON.stringify(rates));
    await page.click('th button:has-text("loss")');
    await until('the smallest loss again', async () => JSON.stringify((await cells(1)).slice(0, 5)) === JSON.stringify(best));
    await page.click('summary:has-text("Columns")');
    await page.getByLabel('Column momentum').uncheck();
    await page.getByLabel('Column Batch').check();
    await until('the columns have changed', async () => (await page.locator('th:has-text("momentum")').count()) === 0 && (await page.locator('th:text-is("Batch")').count()) === 1);
    await page.reload();
    await until('the address has order and columns', async () => JSON.stringify((await cells(1)).slice(0, 5)) === JSON.stringify(best) && (await page.locator('th:text-is("Batch")').count()) === 1 && (await page.locator('th:has-text("momentum")').count()) === 0);
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('text=CSV of this view')]);
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n');
    assert.equal(lines[0], 'Trial,State,loss,rate,width,optimizer,augment,workers,Worker,Batch,seconds,Reported,Reason');
    assert.deepEqual(lines.slice(1, 6).map((line) => line.split(',')[0]), best);
    const all = (await site.api.get('/v1/studies/training/trials?limit=1000')).items;
    assert.equal(lines.length - 1, all.length);
    assert.equal(Number(lines[1].split(',')[2]), all.find((t) => String(t.id) === best[0]).value);
    await page.getByLabel('Go to trial').fill('12');
    await page.keyboard.press('Enter');
    await page.waitForSelector('h2.trial-title:has-text("Trial 12")');
    await page.click('text=Next trial');
    await page.waitForSelector('h2.trial-title:has-text("Trial 13")');
  });
}

// A metric that must keep a bound: what is outside is marked, and the recommendation says how sure it is to keep it.
async function bounds(site) {
  const metrics = [{ name: 'yield', goal: 'maximize' }, { name: 'toxicity', role: 'constraint', at_most: 0.5 }];
  await site.api.create({ id: 'bounds', metrics, seed: 1, domain: { type: 'space', parameters: ['a', 'b'].map((name) => ({ name, type: 'double', min: 0, max: 1 })) } });
  await work(site.api, 'bounds', 10, ['w'], ({ parameters: { a, b } }) => ({ values: { yield: a + b, toxicity: a } }));
  const { items } = await site.api.get('/v1/studies/bounds/trials');
  const outside = items.filter((t) => t.values?.toxicity > 0.5);
  const inside = items.filter((t) => t.values?.toxicity <= 0.5);
  assert.ok(outside.length && inside.length, `${outside.length} outside`);
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/bounds`);
    await page.waitForSelector('.recommended :text("toxicity, at most 0.5")');
    assert.match(await page.locator('.recommended .panel-note').textContent(), /All bounds are kept with a probability of \d/);
    await page.waitForSelector(`.panel:has(h2:text-is("Two metrics")) .panel-note:has-text("${inside.length} of 10 results keep all bounds")`);
    await page.goto(`${site.url}/#/studies/bounds/trials`);
    await until('those outside are marked', async () => (await page.locator('tbody .alarm').count()) === outside.length);
    await page.goto(`${site.url}/#/studies/bounds/trials/${outside[0].id}`);
    await page.waitForSelector('dd .alarm:has-text("must be at most 0.5")');
    await page.goto(`${site.url}/#/studies/bounds/insights`);
    await page.waitForSelector('.panel:has(h2:text-is("What if")) :text("keeps all bounds with")');
  });
}

// What the model says of each metric that it models: the effects and the fit are of the chosen one.
async function eachMetric(site) {
  const metrics = [{ name: 'yield', goal: 'maximize' }, { name: 'cost', goal: 'minimize' }, { name: 'minutes', role: 'recorded' }];
  await site.api.create({ id: 'each-metric', metrics, seed: 3, domain: { type: 'space', parameters: ['heat', 'time'].map((name) => ({ name, type: 'double', min: 0, max: 1 })) } });
  await work(site.api, 'each-metric', 16, ['w'], ({ parameters: { heat, time } }) => ({ values: { yield: 10 * heat + 0.1 * time, cost: 100 + 5 * time, minutes: 1 } }), 4);
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/each-metric/insights`);
    const first = () => page.locator('.importance tbody th').first().textContent();
    await until('heat matters for the yield', async () => (await page.locator('.importance tbody th').count()) === 2 && (await first()) === 'heat');
    const choice = page.getByLabel('of', { exact: true });
    assert.deepEqual(await choice.locator('option').allTextContents(), ['yield', 'cost']);
    await choice.selectOption('cost');
    await until('time matters for the cost', async () => (await first()) === 'time');
    await until('its effects', async () => JSON.stringify(await page.locator('.slice .chart').evaluateAll((charts) => charts.map((c) => c.getAttribute('aria-label')))) === JSON.stringify(['Effect of time on cost', 'Effect of heat on cost']));
    const mean = async () => Number(/mean ([\d.]+)/.exec(await page.locator('.slice .readout').first().textContent())?.[1]);
    await until('its values', async () => (await mean()) > 90);
    await page.waitForSelector('.chart[aria-label="Predicted against measured cost"] canvas');
    await choice.selectOption('yield');
    await until('the yield again', async () => (await first()) === 'heat' && (await mean()) < 20);
  });
}

// The last plate is in the model once all its trials have results, although no further trial is asked for.
async function lastPlate(site) {
  await site.api.create({ id: 'last-plate', metric: { name: 'yield', goal: 'maximize' }, seed: 3, domain: { type: 'candidates', points: [...Array(30).keys()].map((i) => [i / 10]) } });
  const measured = (trials) => trials.map((t) => ({ trial: t.id, value: Math.sin(t.point[0]) }));
  await site.api.tell('last-plate', measured(await site.api.ask('last-plate', 8, 'w')));
  const plate = measured(await site.api.ask('last-plate', 8, 'w'));
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/last-plate/model`);
    const known = (values) => page.waitForSelector(`.facts div:has(dt:has-text("values in the model")) dd:text-is("${values}")`);
    await known(8);
    await site.api.tell('last-plate', plate.slice(0, 5));
    await site.api.tell('last-plate', plate.slice(5));
    await known(16);
  });
}

// Ranges of metrics and parameters: the server filters, the address has them, and the file of the view keeps them.
async function ranged(site) {
  const { items } = await site.api.get('/v1/studies/training/trials?limit=1000');
  const inside = items.filter((t) => t.value <= 0.6 && t.parameters.optimizer === 'sgd' && t.parameters.rate >= 0.0002).map((t) => t.id);
  assert.ok(inside.length > 1 && inside.length < 50, `${inside.length} trials`);
  await with_(site.chrome, { allowed: /422/ }, async (page) => {
    const shown = () => page.locator('tbody td:first-child a').evaluateAll((links) => links.map((a) => Number(a.textContent)));
    const same = (ids) => JSON.stringify(ids) === JSON.stringify([...inside].reverse());
    await page.goto(`${site.url}/#/studies/training/trials`);
    await page.waitForSelector('tbody tr');
    await page.locator('summary:text-is("Ranges")').click();
    await page.getByLabel('loss, at most').fill('0,6'); // a decimal comma
    await page.getByLabel('optimizer, at least').selectOption('sgd');
    await page.getByLabel('optimizer, at most').selectOption('sgd');
    await page.getByLabel('rate, at least').fill('2e-4');
    await page.keyboard.press('Tab');
    await until('the trials in the ranges', async () => same(await shown()));
    await page.waitForSelector('summary:text-is("Ranges: 4 bounds")');
    await page.reload();
    await until('the address has the ranges', async () => same(await shown()));
    assert.equal(await page.getByLabel('loss, at most').inputValue(), '0.6');
    const [file] = await Promise.all([page.waitForEvent('download'), page.click('button:text-is("CSV of this view")')]);
    assert.equal((await readFile(await file.path(), 'utf8')).trim().split('\n').length, inside.length + 1);
    await page.getByLabel('loss, at most').fill('little');
    await page.keyboard.press('Tab');
    await page.waitForSelector('.empty:has-text("must be a number")');
    await page.getByRole('button', { name: 'Clear all ranges' }).click();
    await until('all trials', async () => (await shown()).length === 50);
    assert.ok(!page.url().includes('?'), page.url());
  });
}

// What matters, in the order of the shares; the prediction follows the sliders, and the settings are queued as they are.
async function insights(site) {
  const { parameters } = await site.api.get('/v1/studies/training/importance');
  const order = [...parameters].sort((a, b) => b.total - a.total).map((p) => p.parameter);
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/training/model`);
    await page.waitForSelector('.relevance .bar'); // a former address
    await page.getByRole('link', { name: 'Insights' }).click();
    await page.waitForSelector('.slice canvas');
    assert.deepEqual(await page.locator('.importance tbody th').allTextContents(), order);
    assert.equal(await page.locator('.slice h3').first().textContent(), order[0]);
    const expected = page.locator('.panel:has(h2:text-is("What if")) .result-value');
    const before = await until('a prediction', () => expected.textContent());
    const trials = (await site.api.get('/v1/studies/training')).trials_queued;
    await page.getByLabel('rate', { exact: true }).fill('0');
    await until('another prediction', async () => (await expected.textContent()) !== before);
    await page.getByRole('button', { name: 'Queue this' }).click();
    await page.waitForSelector('.toast >> text=is queued');
    const queued = (await site.api.get('/v1/studies/training/trials?state=queued&limit=1000')).items;
    assert.equal((await site.api.get('/v1/studies/training')).trials_queued, trials + 1);
    assert.ok(queued.some((trial) => trial.parameters.rate === 1e-5));
  });
}

// Two objectives: results against each other, the front among them, and any other two quantities.
async function front(site) {
  const metrics = [{ name: 'accuracy', goal: 'maximize' }, { name: 'latency', goal: 'minimize' }, { name: 'cost', role: 'recorded' }];
  await site.api.create({ id: 'front', metrics, domain: { type: 'candidates', points: [[0], [1], [2], [3]], names: ['size'] }, seed: 1 });
  const trials = await site.api.ask('front', 4, 'w');
  await site.api.tell('front', trials.map((t) => ({ trial: t.id, values: { accuracy: t.point[0], latency: t.point[0] === 1 ? 9 : t.point[0], cost: 5 - t.point[0] } })));
  const { pareto } = (await site.api.get('/v1/studies/front/best')).observed;
  assert.equal(pareto.length, 3);
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/?q=front`);
    await page.waitForSelector('tr:has(a[href="#/studies/front"]) td:has-text("a front"):has-text("accuracy, latency")');
    await page.goto(`${site.url}/#/studies/front`);
    await page.waitForSelector('text=maximize accuracy, minimize latency');
    const view = page.locator('.panel:has(h2:text-is("The front"))');
    await until('the last result', async () => /accuracy 3.*latency 3.*front 3/.test(await view.locator('.readout').textContent()));
    await view.getByLabel('vertical').selectOption({ label: 'size' });
    await view.getByLabel('horizontal').selectOption({ label: 'cost' });
    await until('two others', async () => /cost 5.*size 0/.test(await view.locator('.readout').textContent()));
  });
}

// The result says which candidate it is, also where its features have names.
async function candidate(site) {
  const keys = ['mol-a', 'mol-b', 'mol-c'];
  await site.api.create({ id: 'named', metric: { name: 'loss', goal: 'minimize' }, domain: { type: 'candidates', points: [[3, 1], [1, 2], [2, 2]], names: ['mass', 'rings'], keys }, algorithm: { name: 'uniform' } });
  await work(site.api, 'named', 9, ['w'], (trial) => ({ value: trial.point[0] }));
  const { candidate: best } = (await site.api.get('/v1/studies/named/best')).recommended;
  const [mass, rings] = [[3, 1], [1, 2], [2, 2]][best];
  await with_(site.chrome, {}, async (page) => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: site.url });
    await page.goto(`${site.url}/#/studies/named`);
    const part = page.locator('.recommended');
    await part.waitFor();
    const told = await part.locator('.facts div').evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
    assert.deepEqual(told.filter(([term]) => ['Candidate', 'Key'].includes(term)), [['Candidate', `#${best}`], ['Key', keys[best]]]);
    const copy = async (name) => {
      await page.getByRole('button', { name: `settings as ${name}` }).first().click();
      await page.waitForSelector(`.toast >> text=as ${name}`);
      return page.evaluate(() => navigator.clipboard.readText());
    };
    assert.deepEqual(JSON.parse(await copy('JSON')), { candidate: best, key: keys[best], mass, rings });
    assert.equal(await copy('shell'), `'--mass=${mass}' '--rings=${rings}'`);
    await page.goto(`${site.url}/#/studies/named/trials/1`);
    await page.waitForSelector('dd:text-is("mol-a"), dd:text-is("mol-b"), dd:text-is("mol-c")');
  });
}

// Results of which none keeps the bounds are results all the same.
async function outOfBounds(site) {
  const of = (id, metrics) => ({ id, metrics, seed: 1, domain: { type: 'space', parameters: ['a', 'b'].map((name) => ({ name, type: 'double', min: 0, max: 1 })) } });
  const metrics = [{ name: 'yield', goal: 'maximize' }, { name: 'toxicity', role: 'constraint', at_most: -1 }];
  await site.api.create(of('out-of-bounds', metrics));
  await work(site.api, 'out-of-bounds', 12, ['w'], ({ parameters: { a, b } }) => ({ values: { yield: a + b, toxicity: a } }), 4);
  const last = (await site.api.get('/v1/studies/out-of-bounds/trials')).items.at(-1).parameters;
  await site.api.create(of('out-imported', metrics));
  await site.api.post('/v1/studies/out-imported/observations', { observations: [0.2, 0.4, 0.6].map((a) => ({ parameters: { a, b: a }, values: { yield: a, toxicity: a } })) });
  await site.api.create(of('out-front', [...metrics, { name: 'cost', goal: 'minimize' }]));
  await work(site.api, 'out-front', 6, ['w'], ({ parameters: { a, b } }) => ({ values: { yield: a + b, toxicity: a, cost: b } }), 3);
  await site.api.post('/v1/studies/out-front/ask', { wait_seconds: 30 });
  await with_(site.chrome, { allowed: /409/ }, async (page) => {
    for (const id of ['out-of-bounds', 'out-imported', 'out-front']) {
      await page.goto(`${site.url}/#/studies/${id}`);
      await page.waitForSelector('.panel:has(h2:text-is("Result")) :text("No result keeps all bounds: toxicity must be at most −1.")');
      if (id === 'out-of-bounds') assert.equal(await tileNote(page, 'Best measured'), 'no result keeps all bounds');
      await page.goto(`${site.url}/#/studies/${id}/posterior`);
      const name = id === 'out-imported' ? 'an imported result' : 'the last result';
      await page.waitForSelector(`.panel-note:has-text("No result keeps all bounds: the slices go through ${name}.")`);
      assert.equal(await page.locator('.slice .chart canvas').count(), 2);
      await page.goto(`${site.url}/#/studies/${id}/insights`);
      await page.waitForSelector('.panel:has(h2:text-is("What if")) .predicted');
      await page.waitForSelector(`button:text-is("Back to ${name}")`);
      if (id === 'out-of-bounds') assert.ok(Math.abs(Number((await page.locator('.what-if output').first().textContent())) - last.a) < 0.01);
    }
  });
}

// Advice to finish is of no use to a study that is finished.
async function followedAdvice(site) {
  await told(site, 'advised', [3, 2]);
  await with_(site.chrome, {}, async (page) => {
    await changed(page, '**/v1/studies/advised', (study) => ({ ...study, advice: { stop: true, rule: 'target', since_batch: 1 } }));
    await page.goto(`${site.url}/#/studies/advised`);
    await page.waitForSelector('.notice.warning >> text=advises to finish');
    await page.waitForSelector('.study-head .badge.amber');
    await site.api.patch('advised', { state: 'finished' });
    await page.waitForSelector('.study-head .badge.finished');
    await until('no advice', async () => (await page.locator('.notice.warning, .badge.amber').count()) === 0);
  });
}

export const tests = {
  'answers: the front of two objectives': front,
  'answers: what matters, and what if': insights,
  'answers: the result': card,
  'answers: which candidate is best': candidate,
  'answers: outliers': outliers,
  'answers: studies that need attention': attention,
  'answers: advice that was followed': followedAdvice,
  'answers: a study that stands still': standstill,
  'answers: regret below zero': negativeRegret,
  'answers: parallel coordinates': parallel,
  'answers: the table of trials': columns,
  'answers: trials in ranges': ranged,
  'answers: bounds that must be kept': bounds,
  'answers: results that keep no bounds': outOfBounds,
  'answers: what matters for each metric': eachMetric,
  'answers: the model knows the last plate': lastPlate,
};
