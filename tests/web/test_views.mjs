// What can be done with a chart: open a trial by a click, draw values by time, read the label at the cursor, see learning
// curves, and save pictures.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { AXE, until, with_ } from './harness.mjs';

async function clicked(site) {
  await with_(site.chrome, { allowed: /404/ }, async (page) => {
    await page.goto(`${site.url}/#/studies/bread`);
    const over = page.locator('.chart .u-over').first();
    await page.waitForSelector('.result-part'); // it moves the chart down
    await page.waitForSelector('.panel:has(h2:text-is("Failures")) tbody tr');
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.up();
    await page.waitForSelector('h2.trial-title');
    const number = Number(/trials\/(\d+)$/.exec(page.url())[1]);
    assert.ok(number > 50 && number < 90, page.url());
    await page.goto(`${site.url}/#/studies/bread/trials/999999`);
    await page.waitForSelector('.empty:has-text("no trial 999999")');
  });
}

// By time, the values are in the order of their reports, and the best so far never gets worse; the address keeps the choice.
async function alongTime(site) {
  await site.api.create({ id: 'along', metric: { name: 'loss', goal: 'minimize' }, domain: { type: 'candidates', points: [[0], [1], [2], [3]] }, algorithm: { name: 'uniform' } });
  const [first, second, third] = await site.api.ask('along', 3, 'w');
  for (const [trial, value] of [[third, 7], [second, 5], [first, 2]]) await site.api.tell('along', [{ trial: trial.id, value }]);
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/along`);
    const readout = page.locator('.readout').first();
    const chart = page.locator('.chart').first();
    const at = async (key) => {
      await chart.focus();
      await page.keyboard.press(key);
      return readout.textContent();
    };
    await page.waitForSelector('.chart canvas');
    assert.match(await at('Home'), /^trial 1value 2best 2$/);
    await page.getByLabel('Along', { exact: true }).selectOption('time');
    await until('the address has it', () => page.url().endsWith('?along=time'));
    await until('by time', async () => /by time: 3 values/.test(await chart.getAttribute('aria-label')));
    assert.match(await at('Home'), /^time \d.*value 7best 7$/);
    assert.match(await at('ArrowRight'), /value 5best 5$/);
    assert.match(await at('End'), /value 2best 2$/);
    assert.equal(await page.getByLabel('log trials').first().isVisible(), false);
    await page.reload();
    await until('also after a reload', async () => /by time: 3 values/.test(await chart.getAttribute('aria-label')));
    await chart.focus();
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    await page.waitForSelector('h2.trial-title');
    assert.ok(page.url().endsWith(`/trials/${third.id}`), page.url());
  });
}

// The label at the cursor has the settings of the trial there; Escape hides it.
async function hoverLabel(site) {
  const first = await site.api.get('/v1/studies/training/trials/1');
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/training`);
    await page.waitForSelector('.result-part'); // it moves the chart down
    const chart = page.locator('.panel:has(h2:text-is("Values and the best so far")) .chart');
    await chart.locator('canvas').waitFor();
    await chart.focus();
    await page.keyboard.press('Home');
    const label = chart.locator('.hover-label');
    await label.locator('b:text-is("trial 1")').waitFor();
    const said = await label.locator('dt').allTextContents();
    for (const name of Object.keys(first.parameters)) assert.ok(said.includes(name), `${name}: ${said}`);
    await page.evaluate(AXE);
    assert.deepEqual((await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }))).violations.map((v) => v.id), []);
    await page.keyboard.press('Escape');
    assert.equal(await label.isVisible(), false);
    const box = await chart.locator('.u-over').boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await label.waitFor();
    await chart.screenshot({ path: `${site.screenshots}/hover-label.png` });
    const [inner, outer] = [await label.boundingBox(), await chart.boundingBox()];
    assert.ok(inner.x >= outer.x && inner.x + inner.width <= outer.x + outer.width + 1, 'it is within the chart');
    await page.mouse.move(box.x + box.width / 2, box.y - 60);
    await until('it goes with the pointer', async () => !(await label.isVisible()));
  });
}

// Learning curves: a line for each trial with measurements, the stopped ones among them; a click opens one. And the charts
// as files.
async function curves(site) {
  const trials = (await site.api.get('/v1/studies/curves/trials?state=completed')).items;
  const best = trials.reduce((a, b) => (b.value < a.value ? b : a));
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/curves`);
    const view = page.locator('.panel:has(h2:text-is("Learning curves"))');
    await view.locator('canvas').waitFor();
    assert.match(await view.locator('.panel-note').textContent(), /14 trials with measurements.*3 of them stopped/);
    assert.match(await view.locator('.readout').textContent(), new RegExp(`step 20.*trial ${best.id}, the best`));
    await view.locator('.chart').focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector(`h2:has-text("Trial ${best.id}")`);
    await page.goBack();
    await view.locator('canvas').waitFor();
    await view.locator('.u-over').scrollIntoViewIfNeeded();
    const box = await view.locator('.u-over').boundingBox();
    await page.mouse.click(box.x + 4, box.y + 4); // the greatest value at step 0
    await page.waitForSelector('h2.trial-title');
    assert.match(page.url(), /trials\/\d+$/);
    await page.goBack();
    await view.locator('canvas').waitFor();
    const saved = async (panel, kind) => {
      await panel.locator('summary:text-is("Save")').first().click();
      const [file] = await Promise.all([page.waitForEvent('download'), panel.getByRole('button', { name: kind, exact: true }).first().click()]);
      return { name: file.suggestedFilename(), bytes: await readFile(await file.path()) };
    };
    const png = await saved(view, 'PNG');
    assert.equal(png.name, 'learning-curves.png');
    assert.equal(png.bytes.subarray(1, 4).toString(), 'PNG');
    const svg = await saved(view, 'SVG');
    assert.equal(svg.name, 'learning-curves.svg');
    const drawn = await page.evaluate((text) => {
      const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
      return { wrong: parsed.querySelectorAll('parsererror').length, paths: parsed.querySelectorAll('path').length, texts: [...parsed.querySelectorAll('text')].map((t) => t.textContent) };
    }, svg.bytes.toString());
    assert.equal(drawn.wrong, 0);
    assert.ok(drawn.paths >= 14 && drawn.texts.includes('step') && drawn.texts.includes('loss'), JSON.stringify(drawn));
    assert.ok(!/NaN|undefined/.test(svg.bytes.toString()));
    const drawings = [
      ['#/studies/training/parallel', page.locator('.panel').first(), '.readout:has-text("trials")'],
      ['#/studies/training/posterior', page.locator('.panel:has(.heatmap)').first(), '.heatmap[aria-label]'],
      ['#/studies/bread/insights', page.locator('.slice').first(), '.readout b'],
    ];
    for (const [address, chosen, shown] of drawings) {
      await page.goto(`${site.url}/${address}`);
      await chosen.locator(shown).first().waitFor(); // the data are there
      const text = (await saved(chosen, 'SVG')).bytes.toString();
      assert.ok(text.length > 1000 && text.startsWith('<svg') && !/NaN|undefined/.test(text), `${address}: ${text.slice(0, 300)}`);
    }
  });
}

// The timeline and the small charts of the list as files: with their colours, whatever the page's theme.
async function pictures(site) {
  await with_(site.chrome, { dark: true }, async (page) => {
    const saved = async (button) => {
      const [file] = await Promise.all([page.waitForEvent('download'), button.click()]);
      return { name: file.suggestedFilename(), bytes: await readFile(await file.path()) };
    };
    const parse = (bytes) =>
      page.evaluate((text) => {
        const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
        return { wrong: parsed.querySelectorAll('parsererror').length, fills: [...parsed.querySelectorAll('path')].map((p) => p.getAttribute('fill')), strokes: [...parsed.querySelectorAll('path')].map((p) => p.getAttribute('stroke')), texts: [...parsed.querySelectorAll('text')].map((t) => t.textContent) };
      }, bytes.toString());
    // In one step, because the timeline is drawn again each second.
    const colourOf = (selector, name) => page.evaluate(([chosen, property]) => getComputedStyle(document.querySelector(chosen))[property], [selector, name]);
    await page.goto(`${site.url}/#/studies/bread/workers`);
    await page.waitForSelector('.gantt rect.s-failed');
    const [bars, failed] = [await page.locator('.gantt rect').count(), await colourOf('.gantt rect.s-failed', 'fill')];
    await page.locator('summary:text-is("Save")').click();
    const timeline = await saved(page.getByRole('button', { name: 'SVG', exact: true }));
    assert.equal(timeline.name, 'timeline-of-bread.svg');
    const drawn = await parse(timeline.bytes);
    assert.equal(drawn.wrong, 0);
    assert.ok(['anna', 'bela', 'chen', 'dora'].every((name) => drawn.texts.includes(name)), String(drawn.texts));
    assert.ok(drawn.fills.length >= bars && drawn.fills.includes(failed), `${failed} among ${new Set(drawn.fills)}`);
    await page.locator('summary:text-is("Save")').click();
    const png = await saved(page.getByRole('button', { name: 'PNG', exact: true }));
    assert.equal(png.bytes.subarray(1, 4).toString(), 'PNG');
    await page.goto(`${site.url}/#/?q=molecules`);
    await page.waitForSelector('.spark-best');
    const line = await colourOf('.spark-best', 'stroke');
    await page.getByLabel('More actions on molecules').click();
    const small = await saved(page.getByRole('button', { name: 'Chart as SVG' }));
    assert.equal(small.name, 'best-so-far-of-molecules.svg');
    assert.ok((await parse(small.bytes)).strokes.includes(line));
    await page.getByLabel('More actions on molecules').click();
    const smallPng = await saved(page.getByRole('button', { name: 'Chart as PNG' }));
    assert.equal(smallPng.bytes.readUInt32BE(16), 480); // four dots per pixel
  });
}

// Each parameter has its own lengthscale in the model, however many features the model has for it.
async function lengthscales(site) {
  const on = (value) => ({ parameter: 'way', in: [value] });
  const number = (name, more) => ({ name, type: 'double', min: 0, max: 1, ...more });
  const word = (name, values, more) => ({ name, type: 'categorical', values, ...more });
  const parameters = [
    word('grade', ['low', 'mid', 'high'], { ordered: true }),
    word('solvent', ['water', 'DMF', 'toluene'], { features: [[1, 2, 9], [3, 4, 2], [5, 7, 3]] }),
    number('speed', { active_when: on('stirred') }),
    number('angle', { active_when: on('shaken') }),
    number('power', { active_when: on('stirred') }),
    word('way', ['stirred', 'shaken']),
    word('sample', Array.from({ length: 1001 }, (_, i) => `s${i}`)),
    number('heat'),
  ];
  const given = parameters.map((_, i) => 0.5 + i / 10);
  await site.api.create({ id: 'lengthscales', metric: { name: 'yield', goal: 'maximize' }, domain: { type: 'space', parameters }, algorithm: { name: 'bbkb', kernel: { type: 'matern', lengthscale: given } } });
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/lengthscales/algorithm`);
    const rows = page.locator('.relevance tbody tr');
    await rows.first().waitFor();
    assert.deepEqual(
      await rows.evaluateAll((all) => all.map((row) => [row.cells[0].textContent, row.cells[2].textContent])),
      parameters.map(({ name }, i) => [name, `ℓ ${given[i]}`]),
    );
  });
}

export const tests = {
  'views: a click on a value': clicked,
  'views: values by time': alongTime,
  'views: the label at the cursor': hoverLabel,
  'views: learning curves, and charts as files': curves,
  'views: the timeline and small charts as files': pictures,
  'the lengthscale of each parameter': lengthscales,
};
