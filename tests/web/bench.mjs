// How long people wait for the dashboard: tests/web/run BUILD --bench. Prints a table; the figures are medians.
import { browser, with_ } from './harness.mjs';
import { Api, points, random, work } from './seed.mjs';

const TURNS = 5;
const STUDIES = 1000;
const TRIALS = 10000;
const CANDIDATES = 20640;

const chrome = await browser();
const url = process.env.BANDITD_URL;
const api = new Api(url);
const site = { chrome, url };
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const row = (what, figure) => console.log(`| ${what} | ${figure} |`);

// Seconds from the address to the moment at which `ready` holds in the page, in new contexts without a cache.
async function seconds(hash, ready) {
  const all = [];
  for (let turn = 0; turn < TURNS; turn++)
    await with_(site.chrome, {}, async (page) => {
      const begun = performance.now();
      await page.goto(`${url}/${hash}`);
      await page.waitForFunction(ready, null, { polling: 'raf' });
      all.push((performance.now() - begun) / 1000);
    });
  return `${median(all).toFixed(2)} s (${all.map((x) => x.toFixed(2)).sort().join(', ')})`;
}

console.log('| what | median of five |\n|---|---|');
const next = random(3);
await api.create({
  id: 'large',
  metric: { name: 'value', goal: 'maximize' },
  domain: { type: 'candidates', points: points(CANDIDATES, 8, 8) },
  algorithm: { name: 'bbkb', kernel: { type: 'gaussian', lengthscale: 12.5 }, lambda: 0.01, noise_std: 0.1 },
});
const told = await work(api, 'large', TRIALS, ['w1', 'w2', 'w3'], (trial) => ({ value: trial.point[0] - trial.point[3] ** 2 + 0.1 * next() }), 500);
const drawn = () => document.querySelector('.chart canvas') && /values, the best is/.test(document.querySelector('.chart').getAttribute('aria-label')) && document.querySelector('.result-part');
row(`the overview of ${CANDIDATES} candidates and ${told} trials: values drawn, result shown`, await seconds('#/studies/large', drawn));
row('its trials', await seconds('#/studies/large/trials', () => document.querySelectorAll('tbody tr').length === 50));
row('its best trials, sorted by the server', await seconds('#/studies/large/trials?sort=value&order=desc', () => document.querySelectorAll('tbody tr').length === 50));

for (let i = 0; i < STUDIES - 1; i++) {
  const id = `many-${String(i).padStart(4, '0')}`;
  await api.create({ id, labels: { team: `t${i % 7}` }, metric: { name: 'v', goal: 'maximize' }, domain: { type: 'candidates', points: [[0], [1], [2], [3]] }, algorithm: { name: 'uniform' } });
  await work(api, id, 3, ['w'], () => ({ value: next() }));
}
row(`the list of ${STUDIES} studies`, await seconds('#/', () => /1000 studies/.test(document.querySelector('main').textContent) && document.querySelectorAll('.studies tbody tr').length >= 20));

// What arrives in thirty seconds while nothing changes, and what one change costs.
const session = async (page) => {
  const client = await page.context().newCDPSession(page);
  await client.send('Network.enable');
  const seen = { bytes: 0, answers: 0, unchanged: 0 };
  client.on('Network.loadingFinished', ({ encodedDataLength }) => {
    seen.bytes += encodedDataLength;
    seen.answers += 1;
  });
  client.on('Network.responseReceived', ({ response }) => {
    if (response.status !== 304) return; // without a body, it never ends loading
    seen.bytes += response.encodedDataLength;
    seen.unchanged += 1;
  });
  return seen;
};
await with_(chrome, {}, async (page) => {
  await page.goto(`${url}/#/`);
  await page.waitForSelector('.studies tbody tr');
  await page.waitForTimeout(4000);
  const seen = await session(page);
  await page.waitForTimeout(30000);
  row('the open list, thirty seconds without a change', `${seen.bytes} bytes, ${seen.answers} answers and ${seen.unchanged} times 304`);
  Object.assign(seen, { bytes: 0, answers: 0, unchanged: 0 });
  await api.patch('many-0001', { display_name: 'Renamed' });
  await page.waitForTimeout(30000);
  row('the same with one change', `${seen.bytes} bytes, ${seen.answers} answers and ${seen.unchanged} times 304`);
});
await chrome.close();
