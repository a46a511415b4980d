// Open pages of a live study for an hour: do their memory, their nodes and their listeners grow? tests/web/run BUILD --leaks,
// with the minutes in LEAK_MINUTES. One page stays at the overview, one walks through all parts of the study, one shows the
// list. Prints the figures of each minute after a collection of garbage, and fails if the last are well above the first.
import { browser, open } from './harness.mjs';
import { Api, points, target, work } from './seed.mjs';

const MINUTES = Number(process.env.LEAK_MINUTES || 60);
const PARTS = ['trials', 'bench', 'workers', 'insights', 'posterior', 'parallel', 'candidates', 'algorithm', 'connect', 'trials/3', ''];
const REST = 2500; // ms at each part
const WARM = 0.15; // the share of the time in which caches fill
const GROWTH = { nodes: 1.1, listeners: 1.1, heap: 1.15 };
const SLACK = { nodes: 200, listeners: 50, heap: 0.5e6 };

const url = process.env.BANDITD_URL;
const api = new Api(url);
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const end = Date.now() + 60e3 * MINUTES;

// Enough trials for the charts to have their greatest size from the beginning.
const measure = (trial) => (trial.id % 29 === 5 ? { state: 'failed', reason: 'the oven was off' } : { value: target(trial.point) + 0.1 * Math.sin(trial.id) });
await api.create({
  id: 'live',
  metric: { name: 'rating', goal: 'maximize' },
  domain: { type: 'candidates', points: points(400, 2, 2), names: ['degrees', 'minutes'] },
  algorithm: { name: 'bbkb', kernel: { type: 'matern', lengthscale: [0.5, 1] }, noise_std: 0.1 },
  optimum: 1,
});
await work(api, 'live', 1500, ['w1', 'w2', 'w3'], measure, 50);
for (let i = 0; i < 100; i++) await api.create({ id: `quiet-${i}`, metric: { name: 'v', goal: 'maximize' }, domain: { type: 'candidates', points: [[0], [1]] }, algorithm: { name: 'uniform' } });

// Reports a result each second until the end.
async function report() {
  let told = 0;
  for (; Date.now() < end; told++) {
    const [trial] = await api.ask('live', 1, `w${told % 3}`, { wait_seconds: 5 });
    await pause(1000);
    if (trial) await api.tell('live', [{ trial: trial.id, ...measure(trial) }]);
  }
  return told;
}

// What a page holds after a collection of garbage.
async function held(session) {
  for (let i = 0; i < 2; i++) await session.send('HeapProfiler.collectGarbage');
  const { metrics } = await session.send('Performance.getMetrics');
  const of = (name) => metrics.find((m) => m.name === name).value;
  return { heap: of('JSHeapUsedSize'), nodes: of('Nodes'), listeners: of('JSEventListeners') };
}

const still = () => pause(1000 * Math.min(60, Math.max(5, (end - Date.now()) / 1000)));
async function walk(page) {
  for (const part of PARTS) {
    await page.goto(`${url}/#/studies/live${part && `/${part}`}`);
    await pause(REST);
  }
  await page.locator('.chart canvas').first().waitFor(); // a handle of the element would keep all parts around it
  await pause(Math.min(60e3 - PARTS.length * REST, Math.max(1000, end - Date.now())));
}

/* Measures a page after each turn, until the end. -> the figures of all turns */
async function watch(chrome, name, hash, ready, turn) {
  const { page, close } = await open(chrome, { still: false });
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  await page.goto(`${url}/${hash}`);
  await page.locator(ready).first().waitFor();
  const all = [];
  while (Date.now() < end) {
    await turn(page);
    const now = await held(session);
    all.push(now);
    console.log(`# ${name}, turn ${all.length}: ${(now.heap / 1e6).toFixed(2)} MB, ${now.nodes} nodes, ${now.listeners} listeners`);
  }
  await close();
  return all;
}

// The medians of the first and of the last fifth after the pages are warm.
function judge(name, all) {
  const warm = all.slice(Math.ceil(WARM * all.length));
  const fifth = Math.max(1, Math.floor(warm.length / 5));
  const median = (rows, what) => rows.map((row) => row[what]).sort((a, b) => a - b)[Math.floor(rows.length / 2)];
  let fine = true;
  for (const what of Object.keys(GROWTH)) {
    const [first, last] = [median(warm.slice(0, fifth), what), median(warm.slice(-fifth), what)];
    const grown = last > GROWTH[what] * first + SLACK[what];
    fine &&= !grown;
    console.log(`${grown ? 'not ok' : 'ok'} - ${name}: ${what} from ${Math.round(first)} to ${Math.round(last)}`);
  }
  return fine;
}

const chrome = await browser();
const pages = [
  ['the overview', '#/studies/live', '.chart canvas', still],
  ['all parts in turn', '#/studies/live', '.chart canvas', walk],
  ['the list', '#/', '.studies tbody tr', still],
];
const [told, ...figures] = await Promise.all([report(), ...pages.map(([name, ...rest]) => watch(chrome, name, ...rest))]);
console.log(`# ${told} trials were reported in ${MINUTES} minutes`);
const fine = pages.map(([name], i) => judge(name, figures[i])).every(Boolean);
await chrome.close();
process.exitCode = fine ? 0 : 1;
