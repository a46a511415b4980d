// A study of 100 000 trials: the time until its pages can be used. The test prints the times and has no limit for them.
import assert from 'node:assert/strict';
import { until, with_ } from './harness.mjs';
import { points, random, work } from './seed.mjs';

const TRIALS = 100000;

async function large(site) {
  const next = random(9);
  await site.api.create({
    id: 'large',
    metric: { name: 'value', goal: 'maximize' },
    domain: { type: 'candidates', points: points(5000, 4, 8) },
    algorithm: { name: 'uniform', max_batch: 100000 },
    horizon: 2 * TRIALS,
  });
  await work(site.api, 'large', TRIALS, ['w1', 'w2', 'w3'], (trial) => ({ value: trial.point[0] + next() }), 1000);
  const figures = [];
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/nothing`); // warms up the server and the browser, but not the page
    for (const [name, hash, ready] of [
      ['overview', '#/studies/large', () => /100\u202f000 values/.test(document.querySelector('.chart')?.getAttribute('aria-label') ?? '')],
      ['trials', '#/studies/large/trials', () => document.querySelectorAll('tbody tr').length === 50],
      ['workers', '#/studies/large/workers', () => document.querySelectorAll('.gantt rect').length > 100],
      ['parallel', '#/studies/large/parallel', () => /of [5-9]\d\d trials|of 1000 trials/.test(document.querySelector('.readout')?.textContent ?? '')],
    ]) {
      const begun = Date.now();
      await page.goto(`${site.url}/${hash}`);
      await page.reload();
      await page.waitForFunction(ready, null, { polling: 'raf' }).catch(async (error) => {
        await page.screenshot({ path: `${site.screenshots}/late.png`, fullPage: true });
        throw new Error(`${name}: ${error}`);
      });
      await page.click('.tabs >> text=Connect'); // the page responds to a click
      await page.waitForSelector('pre');
      figures.push(`${name} ${((Date.now() - begun) / 1000).toFixed(2)} s`);
    }
    assert.match(await page.locator('.tile:has(dt:text-is("Reported")) dd').first().textContent(), /^100\u202f000$/);
    await page.goto(`${site.url}/#/studies/large`);
    await page.waitForSelector('.connection.live');
    await work(site.api, 'large', 1, ['w1'], () => ({ value: 77 }));
    await until('a new best is shown', async () => (await page.locator('.tile dd').first().textContent()) === '77');
    await page.screenshot({ path: `${site.screenshots}/large-light.png`, fullPage: true });
  });
  return `${TRIALS} trials, from the address to the answer to a click: ${figures.join(', ')}`;
}

export const tests = { 'a hundred thousand trials': large };
