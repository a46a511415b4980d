// What charts show of studies that are out of the ordinary: several metrics, imported results alone, trials that are not
// reported in the order of their numbers, trials without a value.
import assert from 'node:assert/strict';
import { until, with_ } from './harness.mjs';
import { work } from './seed.mjs';
import { inspect } from './test_looks.mjs';

const CANDIDATES = { type: 'candidates', points: [[0], [1], [2], [3]] };
const COURSE = '.panel:has(h2:text-is("Values and the best so far"))';

// The text above the chart after a key was pressed in it.
async function readout(page, panel, key) {
  await page.locator(`${panel} .chart`).focus();
  await page.keyboard.press(key);
  return page.locator(`${panel} .readout`).textContent();
}

const described = (page, words) => until(`the chart says ${words}`, async () => words.test(await page.locator(`${COURSE} .chart`).getAttribute('aria-label')));

async function chosenMetric(site) {
  const metrics = [{ name: 'yield', goal: 'maximize' }, { name: 'cost', goal: 'minimize', role: 'recorded' }, { name: 'remark', role: 'recorded' }];
  await site.api.create({ id: 'charts-metrics', metrics, domain: CANDIDATES, algorithm: { name: 'uniform' } });
  const trials = await site.api.ask('charts-metrics', 3, 'w');
  await site.api.tell('charts-metrics', trials.map((trial, i) => ({ trial: trial.id, values: { yield: 10 + i, cost: [5, 3, 4][i], remark: i } })));
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/charts-metrics`);
    await page.waitForSelector(`${COURSE} canvas`);
    assert.match(await readout(page, COURSE, 'End'), /value 12best 12$/);
    await page.locator(COURSE).getByLabel('Metric').selectOption('cost');
    await described(page, /the best is 3$/);
    assert.match(page.url(), /metric=cost/);
    assert.match(await readout(page, COURSE, 'End'), /value 4best 3$/);
    await page.waitForSelector(`${COURSE} .hover-label dt:text-is("cost")`);
    await page.locator(COURSE).getByLabel('Metric').selectOption('remark');
    await described(page, /: 3 values$/);
    assert.match(await readout(page, COURSE, 'End'), /value 2best –$/);
    await page.goto(`${site.url}/#/studies/charts-metrics/trials`);
    await page.goto(`${site.url}/#/studies/charts-metrics?metric=cost&along=time`);
    await described(page, /by time: 3 values, the best is 3$/);
  });
}

async function importsOnly(site) {
  await site.api.create({ id: 'charts-imports', metric: { name: 'v', goal: 'maximize' }, domain: CANDIDATES, algorithm: { name: 'uniform' } });
  await site.api.create({ id: 'charts-trials', metric: { name: 'v', goal: 'maximize' }, domain: CANDIDATES, algorithm: { name: 'uniform' } });
  await site.api.call('POST', '/v1/studies/charts-imports/observations', { observations: [1, 4, 2, 3].map((value, i) => ({ candidate: i, value })) });
  const [trial] = await site.api.ask('charts-trials', 1, 'w');
  await site.api.tell('charts-trials', [{ trial: trial.id, value: 2 }]);
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/charts-imports`);
    await page.waitForSelector(`${COURSE} canvas`);
    assert.match(await readout(page, COURSE, 'Home'), /^imported result 1value 1best 1$/);
    assert.match(await readout(page, COURSE, 'End'), /^imported result 4value 3best 4$/);
    await page.keyboard.press('Enter'); // no trial to open
    assert.ok(page.url().endsWith('/studies/charts-imports'), page.url());
    await page.goto(`${site.url}/#/compare?studies=charts-imports,charts-trials`);
    await page.waitForSelector('.chart canvas');
    assert.match(await readout(page, '.panel:has(h2:text-is("Best so far"))', 'End'), /^imported result or trial 4/);
  });
}

// Reported in the reverse order of their numbers: by time, the best so far is that of what had been reported.
async function comparedByTime(site) {
  for (const id of ['charts-first', 'charts-second']) {
    await site.api.create({ id, metric: { name: 'loss', goal: 'minimize' }, domain: CANDIDATES, algorithm: { name: 'uniform' } });
    const trials = await site.api.ask(id, 3, 'w');
    for (const [i, value] of [[2, 7], [1, 5], [0, 2]]) await site.api.tell(id, [{ trial: trials[i].id, value }]);
  }
  const panel = '.panel:has(h2:text-is("Best so far"))';
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/compare?studies=charts-first,charts-second`);
    await page.waitForSelector('.chart canvas');
    assert.match(await readout(page, panel, 'Home'), /charts-first 2charts-second 2$/);
    await page.getByLabel('Along').selectOption('time');
    assert.match(await readout(page, panel, 'Home'), /charts-(first|second) 7/); // the other begins some milliseconds later
    assert.match(await readout(page, panel, 'End'), /charts-(first|second) 2/);
  });
}

async function endedTrials(site) {
  await site.api.create({ id: 'charts-ended', metric: { name: 'v', goal: 'maximize' }, domain: CANDIDATES, algorithm: { name: 'uniform' } });
  const trials = await site.api.ask('charts-ended', 4, 'w');
  await site.api.tell('charts-ended', [{ trial: trials[0].id, value: 1 }, { trial: trials[1].id, state: 'infeasible' }, { trial: trials[2].id, value: 3 }, { trial: trials[3].id, state: 'failed' }]);
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/charts-ended`);
    await page.waitForSelector(`${COURSE} canvas`);
    await page.waitForSelector('.panel:has(h2:text-is("Failures")) tbody tr');
    await page.waitForSelector(`${COURSE} .legend li:text-is("infeasible")`);
    // Dark enough pixels in the lowest rows of the plot: crosses, and nothing else is there.
    await until('there are two marks', () => page.locator(`${COURSE} canvas`).evaluate((canvas) => {
      const { width } = canvas;
      const box = canvas.parentElement.querySelector('.u-over');
      const ratio = width / canvas.clientWidth;
      const bottom = Math.round((box.offsetTop + box.offsetHeight - 5) * ratio);
      const [left, right] = [Math.round((box.offsetLeft + 3) * ratio), Math.round((box.offsetLeft + box.offsetWidth) * ratio)];
      const { data } = canvas.getContext('2d').getImageData(left, bottom, right - left, 1);
      const dark = Array.from({ length: right - left }, (_, i) => data[4 * i + 3] > 200 && Math.min(data[4 * i], data[4 * i + 1], data[4 * i + 2]) < 140);
      return dark.filter((on, i) => on && !dark.slice(Math.max(0, i - 12), i).some(Boolean)).length === 2;
    }));
  });
}

// Units are beside values and settings wherever these are shown; failures have their share.
async function units(site) {
  await site.api.create({ id: 'charts-units', metric: { name: 'yield', goal: 'maximize', unit: 'g' }, domain: { type: 'space', parameters: [{ name: 'heat', type: 'double', min: 0, max: 100, unit: '°C' }] }, algorithm: { name: 'uniform' } });
  const trials = await site.api.ask('charts-units', 4, 'w');
  await site.api.tell('charts-units', trials.map(({ id }, i) => (i === 3 ? { trial: id, state: 'failed' } : { trial: id, value: 12345.5 + i })));
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/charts-units`);
    await page.waitForSelector('.result-part');
    assert.match(await page.locator('.result-part.measured .result-value').textContent(), /12\u202f348 g/);
    assert.match(await page.locator('.result-part dd').first().textContent(), / °C$/);
    await page.waitForSelector('.tile dd:has-text("12\u202f348 g")');
    await page.waitForSelector('.tile dd:has-text("1 failed (25 %)")');
    await page.goto(`${site.url}/#/studies/charts-units/trials/1`);
    await page.waitForSelector('.panel:has(h2:text-is("Settings")) dd:has-text("°C")');
    await page.goto(`${site.url}/#/studies/charts-units/trials`);
    await page.waitForSelector('th button:has-text("yield (g)")');
    await page.goto(`${site.url}/#/?q=charts-units`);
    await page.waitForSelector('.studies td:has-text("yield (g), max")');
    await page.waitForSelector('.studies td:has-text("1 trial failed (25 %)")');
  });
}

// Two objectives with units, a bound, and a pending trial.
async function unitsEverywhere(site) {
  const metrics = [{ name: 'yield', goal: 'maximize', unit: 'g' }, { name: 'price', goal: 'minimize', unit: 'EUR' }, { name: 'purity', role: 'constraint', at_least: 5, unit: '%' }];
  const space = { type: 'space', parameters: [{ name: 'heat', type: 'double', min: 0, max: 100, unit: '°C' }, { name: 'time', type: 'double', min: 1, max: 9, unit: 'min' }] };
  await site.api.create({ id: 'charts-unit-front', metrics, domain: space, seed: 1 });
  await work(site.api, 'charts-unit-front', 10, ['anna'], ({ parameters: { heat, time } }) => ({ values: { yield: heat, price: heat * time, purity: 5 + time } }), 5);
  await site.api.create({ id: 'charts-unit-one', metric: metrics[0], domain: space, optimum: 100, seed: 1 });
  await work(site.api, 'charts-unit-one', 10, ['anna'], ({ parameters: { heat, time } }) => ({ value: heat - time }), 5);
  for (const id of ['charts-unit-front', 'charts-unit-one']) await site.api.ask(id, 1, 'anna');
  const texts = [
    ['charts-unit-front', 'th:text-is("price (EUR)")', '.point:has-text("°C, time")', '.panel:has(h2:text-is("Pending trials")) .point:has-text(" min")'],
    ['charts-unit-front/trials/2', 'dt:text-is("purity, at least 5 %")'],
    ['charts-unit-one/trials/9', 'dt:text-is("Expected yield") + dd:has-text(" g")'],
    ['charts-unit-front/posterior', '.panel-note:has-text("°C, time")', 'h3:has-text("Mean of yield (g)")'],
    ['charts-unit-front/insights', '.predicted:has-text(" EUR")'],
    ['charts-unit-one', '.panel:has(h2:text-is("Regret")) .panel-note:has-text("100 g")', '.chart[aria-label$=" g"]'],
    ['charts-unit-one/bench', '.panel:has(h2:text-is("My trials")) th:text-is("time (min)")', '.panel:has(h2:text-is("My last results")) th:text-is("yield (g)")', '.panel:has(h2:text-is("Import results"))'],
  ];
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/`);
    await page.evaluate(() => localStorage.setItem('banditd-worker', 'anna'));
    for (const [at, ...wanted] of texts) {
      await page.goto(`${site.url}/#/studies/${at}`);
      for (const selector of wanted) await page.locator(selector).first().waitFor().catch(() => assert.fail(`${at} has no ${selector}`));
    }
    await page.locator('input[type=file]').last().setInputFiles({ name: 'march.csv', mimeType: 'text/csv', buffer: Buffer.from('heat;time;yield\r\n20;2;55\r\n') });
    await page.waitForSelector('th:text-is("heat (°C)")');
    await page.goto(`${site.url}/#/compare?studies=charts-unit-one,charts-units`);
    await page.waitForSelector('.panel:has(h2:text-is("Figures")) td:has-text(" g")');
    await page.goto(`${site.url}/#/?q=charts-unit-front`);
    await page.waitForSelector('.studies small:text-is("yield (g), price (EUR)")');
    await page.goto(`${site.url}/#/studies/charts-unit-one`);
    await page.waitForSelector(`${COURSE} canvas`);
    await readout(page, COURSE, 'End');
    await page.waitForSelector(`${COURSE} .hover-label dd:has-text("°C")`);
  });
}

// Whether the part of a chart in which values are drawn has pixels of the dots' colour.
const hasDots = (chart) =>
  chart.evaluate((canvas) => {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.color = 'var(--c-best)';
    const [red, green, blue] = getComputedStyle(probe).color.match(/\d+/g);
    probe.remove();
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    const columns = new Set();
    let found = 0;
    for (let i = 0; i < data.length; i += 4)
      if (data[i + 3] > 100 && Math.hypot(data[i] - red, data[i + 1] - green, data[i + 2] - blue) < 40) {
        columns.add((i / 4) % canvas.width);
        found += 1;
      }
    return columns.size > 20 && found > 100; // the line at the best point is narrow
  });

// The observed points, in the slices as in the effects, of each metric.
async function observed(site) {
  await with_(site.chrome, { allowed: /Canvas2D/ }, async (page) => {
    for (const tab of ['insights', 'posterior']) {
      await page.goto(`${site.url}/#/studies/bread/${tab}`);
      await page.waitForSelector('.slice canvas');
      await until(`dots in ${tab}`, () => hasDots(page.locator('.slice canvas').first()));
    }
  });
}

// On a wide screen the page is wide, two charts are side by side, and a table has the whole width.
async function wide(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.setViewportSize({ width: 2560, height: 1300 });
    const box = (title) => page.locator(`.panel:has(h2:text-is("${title}"))`).boundingBox();
    await page.goto(`${site.url}/#/studies/curves`);
    await page.waitForSelector('.panel:has(h2:text-is("Learning curves")) canvas');
    await page.waitForSelector('.result-part');
    const [result, values, curves, pending] = [await box('Result'), await box('Values and the best so far'), await box('Learning curves'), await box('Pending trials')];
    assert.equal(result.y, values.y);
    assert.ok(result.width > 1200 && values.width > 1200, `${result.width} and ${values.width} px`);
    assert.ok(curves.width > 1200 && pending.width > 1200, `${curves.width} and ${pending.width} px`);
    await inspect(page);
    await page.goto(`${site.url}/#/studies/curves/trials`);
    await page.waitForSelector('tbody tr');
    assert.ok((await box('Trials')).width > 2400);
    await page.goto(`${site.url}/#/studies/bread/posterior`);
    await page.waitForSelector('.slice canvas');
    assert.ok((await box('Along each parameter')).width > 2400);
    await inspect(page);
  });
}

// Collects what is written on canvases, as they are drawn last, as `written`: texts, how far they reach, and their heights.
const recordTexts = (page) =>
  page.addInitScript(() => {
    globalThis.written = [];
    const { clearRect, fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.clearRect = function clear(...box) {
      globalThis.written = globalThis.written.filter(({ canvas }) => canvas !== this.canvas);
      return clearRect.call(this, ...box);
    };
    CanvasRenderingContext2D.prototype.fillText = function write(text, x, y, ...more) {
      const { a, b, d, e, f } = this.getTransform();
      const half = (this.measureText(text).width * a) / 2;
      if (b === 0) globalThis.written.push({ canvas: this.canvas, text: String(text), centred: this.textAlign === 'center', y: Math.round(y * d + f), from: x * a + e - half, to: x * a + e + half });
      return fillText.call(this, text, x, y, ...more);
    };
  });

// Long words below an axis are shortened and do not overlap; the title has them whole.
async function longWords(site) {
  const words = ['a very long name, of a solvent', 'another name that is as long as this', 'a third one, longer than there is room'];
  await site.api.create({ id: 'long-words', metric: { name: 'v', goal: 'maximize' }, seed: 3, domain: { type: 'space', parameters: ['solvent', 'base'].map((name) => ({ name, type: 'categorical', values: words })) } });
  await work(site.api, 'long-words', 24, ['w'], ({ parameters: { solvent, base } }) => ({ value: words.indexOf(solvent) + 0.1 * words.indexOf(base) }), 8);
  for (const phone of [false, true])
    await with_(site.chrome, { phone }, async (page) => {
      await recordTexts(page);
      for (const [part, picture] of [['insights', '.slice canvas'], ['posterior', '.slice canvas'], ['posterior', 'canvas.heatmap']]) {
        await page.goto(`${site.url}/#/studies/long-words/${part}`);
        await page.reload();
        const texts = () => page.evaluate(([what, all]) => globalThis.written.filter(({ canvas, text, centred }) => centred && canvas.matches(what) && all.some((word) => text[0] === word[0] && (text === word || text.endsWith('…')))).map(({ text, y, from, to, canvas }) => ({ text, y, from, to, canvas: [...document.querySelectorAll('canvas')].indexOf(canvas) })), [picture, words]);
        await until(`words below ${picture} of ${part}`, async () => (await texts()).length >= 3);
        const seen = await texts();
        const overlaps = seen.flatMap((one) => seen.filter((other) => other.canvas === one.canvas && other.y === one.y && other.from > one.from + 1 && other.from < one.to).map((other) => `${one.text} | ${other.text}`));
        assert.deepEqual(overlaps, [], `${picture} of ${part}`);
        await page.locator(`${picture.startsWith('.slice') ? '.uplot' : picture}[title="${words.join(', ')}"]`).first().waitFor();
      }
    });
}

// Bars stand on zero, so that their lengths can be compared.
async function bars(site) {
  await site.api.create({ id: 'bars', metric: { name: 'v', goal: 'maximize' }, domain: CANDIDATES, algorithm: { name: 'uniform' } });
  await work(site.api, 'bars', 4, ['w'], () => ({ value: 1 }));
  await with_(site.chrome, { allowed: /409/ }, async (page) => {
    await recordTexts(page);
    await page.route('**/bars/batches*', async (route) => {
      const response = await route.fetch();
      const answer = await response.json();
      await route.fulfill({ response, json: { items: [17, 18, 19].map((size, batch) => ({ ...answer.items[0], batch, size })) } });
    });
    await page.goto(`${site.url}/#/studies/bars/algorithm`);
    const texts = () => page.evaluate(() => globalThis.written.filter(({ canvas, centred }) => !centred && canvas.closest('.panel')?.querySelector('h2').textContent === 'Batch size').map(({ text }) => text));
    await until('the numbers beside it', async () => (await texts()).length > 2);
    assert.ok((await texts()).includes('0'), `${await texts()}`);
  });
}

// One value beyond the axis is one value.
async function oneOutlier(site) {
  await site.api.create({ id: 'one-outlier', metric: { name: 'v', goal: 'minimize' }, domain: CANDIDATES, algorithm: { name: 'uniform' } });
  await work(site.api, 'one-outlier', 20, ['w'], (trial) => ({ value: trial.id === 5 ? 1000 : (trial.id * 7) % 10 }));
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/one-outlier`);
    await page.waitForSelector('text=1 value is beyond the axis (arrows); tick “outliers” to see it.');
  });
}

export const tests = {
  'charts: units and shares': units,
  'charts: units of several metrics': unitsEverywhere,
  'charts: observed points': observed,
  'charts: a wide screen': wide,
  'charts: long words below an axis': longWords,
  'charts: bars stand on zero': bars,
  'charts: one value beyond the axis': oneOutlier,
  'charts: a metric is chosen': chosenMetric,
  'charts: imported results alone': importsOnly,
  'charts: studies compared by time': comparedByTime,
  'charts: infeasible and failed trials': endedTrials,
};
