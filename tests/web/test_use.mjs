// A study from its creation to its deletion, while workers evaluate its trials.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { until, with_ } from './harness.mjs';
import { points, target, work } from './seed.mjs';

const text = (page, selector) => page.locator(selector).first().textContent();
const tileOf = (page, label) => page.locator(`.tile:has(dt:text-is("${label}")) dd`).first().textContent();

function csv(n) {
  const cells = [];
  for (let i = 0; i < n; i++) for (let j = 0; j < n; j++) cells.push(`${i / (n - 1)}, ${j / (n - 1)}`);
  return cells.join('\n');
}

// Creates a study with the form, works on it, watches it without a reload, pauses, resumes, finishes and deletes it.
async function life(site) {
  return with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/`);
    await page.click('text=New study');
    await page.getByLabel('Id', { exact: true }).fill('life');
    await page.getByLabel('A list of candidates').check();
    await page.getByLabel('Points, one per line').fill(csv(9));
    await page.getByLabel('Feature names').fill('left, right');
    await page.click('summary:text-is("Algorithm")');
    await page.getByLabel('Lengthscale').fill('0.5');
    await page.getByLabel('Trials at most (horizon)').fill('60');
    await page.click('text=Create the study');
    await until('the study is shown', async () => page.url().endsWith('#/studies/life'));
    await page.waitForSelector('.connection.live');
    const made = await site.api.get('/v1/studies/life');
    assert.equal(made.candidates, 81);
    assert.deepEqual(made.domain.names, ['left', 'right']);
    assert.equal(made.algorithm.kernel.lengthscale, 0.5);

    await page.evaluate(() => (globalThis.marked = true)); // lost by a reload
    assert.equal(await tileOf(page, 'Best measured'), '–');
    let [best, changes] = [-Infinity, 0];
    for (let told = 0; told < 40; told += 4) {
      await work(site.api, 'life', 4, ['w1', 'w2'], (trial) => ({ value: target(trial.point) + told / 10 })); // later trials are better
      const now = (await site.api.get('/v1/studies/life/best')).observed.value;
      if (now > best) {
        best = now;
        changes += 1;
        const shown = String(Number(best.toPrecision(5)));
        await until(`the page shows ${shown}`, async () => (await tileOf(page, 'Best measured')) === shown);
      }
    }
    assert.ok(changes >= 2, `the best changed ${changes} times`);
    await until('all are counted', async () => (await tileOf(page, 'Reported')) === '40');
    await until('the chart has them', async () => /40 values/.test(await page.locator('.chart').first().getAttribute('aria-label')));
    assert.ok(await page.evaluate(() => globalThis.marked), 'the page was not loaded again');

    const [held] = await site.api.ask('life', 1, 'slow', { lease_seconds: 100 });
    const lease = page.locator(`tr:has(td a:text-is("${held.id}")) .lease`);
    await until('the pending trial counts down', async () => /^1:[34]\d$/.test(await lease.first().textContent()));
    const before = await lease.first().textContent();
    await until('and goes on', async () => (await lease.first().textContent()) !== before);

    await page.click('.study-head button:has-text("Pause")');
    await until('it is paused', async () => (await text(page, '.study-head .badge')) === 'paused');
    assert.equal((await site.api.get('/v1/studies/life')).state, 'paused');
    await page.click('.study-head button:has-text("Resume")');
    await until('it is active', async () => (await text(page, '.study-head .badge')) === 'active');

    await page.click('.study-head button:has-text("Finish")');
    await page.click('dialog button:has-text("Finish")');
    await until('it is finished', async () => (await text(page, '.study-head .badge')) === 'finished');

    await page.click('.study-head button:has-text("Delete")');
    await page.click('dialog button:has-text("Cancel")');
    assert.equal((await site.api.get('/v1/studies/life')).state, 'finished', 'nothing is deleted before it is confirmed');
    await page.click('.study-head button:has-text("Delete")');
    await page.getByLabel('Name of the study').fill('life');
    await page.click('dialog button:has-text("Delete")');
    await until('the list is shown', async () => page.url().endsWith('#/'));
    const { items } = await site.api.get('/v1/studies?limit=1000');
    assert.ok(!items.some((study) => study.id === 'life'));
  });
}

// Downloads both formats; a server without exports causes a message.
async function exports_(site) {
  const offered = (await fetch(`${site.url}/v1/studies/bread/export?format=csv`)).ok;
  await with_(site.chrome, offered ? {} : { allowed: /404/ }, async (page) => {
    await page.goto(`${site.url}/#/studies/bread/connect`);
    for (const [button, format] of [['Download NDJSON', 'ndjson'], ['Download CSV', 'csv']]) {
      if (!offered) {
        await page.click(`text=${button}`);
        await page.waitForSelector('.toast >> text=does not offer');
        continue;
      }
      const [download] = await Promise.all([page.waitForEvent('download'), page.click(`text=${button}`)]);
      assert.equal(download.suggestedFilename(), `bread.${format}`);
      const lines = (await readFile(await download.path(), 'utf8')).trim().split('\n');
      if (format === 'ndjson') lines.forEach((line) => JSON.parse(line));
      else {
        const state = lines[0].split(',').indexOf('state');
        assert.match(lines[0], /^trial,candidate,.*value,state/);
        const { trials_completed: completed } = await site.api.get('/v1/studies/bread');
        assert.equal(lines.filter((line) => line.split(',')[state] === 'completed').length, completed);
      }
    }
  });
}

const shown = (page) => page.locator('.studies tbody tr').evaluateAll((rows) => rows.filter((r) => r.offsetParent).map((r) => r.querySelector('a').getAttribute('href').split('/').at(-1)).sort());

async function filter(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/`);
    await page.waitForSelector('.studies tbody tr');
    const is = (what, wanted) => until(`${what}: ${wanted}`, async () => JSON.stringify(await shown(page)) === JSON.stringify(wanted));
    await page.getByLabel('Filter').fill('team:bak');
    await is('a label', ['bread']);
    await page.getByLabel('Filter').fill('small');
    await is('a name', ['molecules', 'training']);
    await page.getByLabel('Filter').fill('');
    await page.getByLabel('State', { exact: true }).selectOption('paused');
    await is('a state', ['paused']);
    await page.reload();
    await is('after a reload', ['paused']);
    await page.getByLabel('Filter').fill('bread');
    await page.waitForSelector('text=No studies match');
    await page.getByLabel('State', { exact: true }).selectOption('');
    await page.getByLabel('Filter').fill('');
    await page.getByLabel('Order').selectOption('trials');
    const first = page.locator('.studies tbody tr').first().locator('a').first();
    await until('the most trials first', async () => (await first.getAttribute('href')) === '#/studies/molecules');
  });
}

// The list shows changes made by others, and its buttons work.
async function listIsLive(site) {
  await with_(site.chrome, {}, async (page) => {
    await site.api.create({ id: 'listed', metric: { name: 'v', goal: 'minimize' }, domain: { type: 'candidates', points: [[0], [1], [2]] }, algorithm: { name: 'uniform' } });
    await page.goto(`${site.url}/#/`);
    const row = page.locator('tr:has(a[href="#/studies/listed"])');
    await row.waitFor();
    await work(site.api, 'listed', 3, ['w'], (trial) => ({ value: -trial.id }));
    await until('the best value', async () => (await row.textContent()).includes('−3'));
    await row.getByRole('button', { name: 'Pause' }).click();
    await until('the button has changed', async () => (await row.getByRole('button', { name: 'Resume' }).count()) === 1);
    assert.equal((await site.api.get('/v1/studies/listed')).state, 'paused');
    await site.api.call('DELETE', '/v1/studies/listed');
    await until('it is gone from the list', async () => (await row.count()) === 0);
  });
}

// By keyboard: the link that skips the header, the chart's cursor, the dialog's focus.
async function keyboard(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/bread`);
    await page.waitForSelector('.chart canvas');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.className), 'skip');
    const chart = page.locator('.chart').first();
    await chart.focus();
    const readout = page.locator('.readout').first();
    const last = await readout.textContent();
    await page.keyboard.press('ArrowLeft');
    await until('the cursor has moved', async () => (await readout.textContent()) !== last);
    await page.keyboard.press('Home');
    await until('to the first trial', async () => /^trial 1(?!\d)/.test(await readout.textContent()));
    await page.locator('.study-head button:has-text("Finish")').focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('dialog[open]');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Cancel');
    await page.keyboard.press('Enter');
    await until('the dialog is gone', async () => (await page.locator('dialog').count()) === 0);
    assert.equal((await site.api.get('/v1/studies/bread')).state, 'active');
  });
}

async function trials(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/bread/trials`);
    await page.waitForSelector('tbody tr');
    await page.getByLabel('State', { exact: true }).selectOption('failed');
    await until('only failed ones', async () => {
      const states = await page.locator('tbody .badge').allTextContents();
      return states.length > 0 && states.every((state) => state === 'failed');
    });
    await page.getByLabel('Worker', { exact: true }).fill('bela');
    await page.getByLabel('Worker', { exact: true }).press('Enter');
    const failed = (await site.api.get('/v1/studies/bread/trials?state=failed&worker=bela')).items.map((t) => String(t.id)).reverse();
    await until('only of bela, the newest first', async () => JSON.stringify(await page.locator('tbody td:first-child a').allTextContents()) === JSON.stringify(failed));
    await page.locator('tbody td:first-child a').first().click();
    await page.waitForSelector('pre.reason:has-text("the oven was off")');
    assert.ok(page.url().endsWith(`#/studies/bread/trials/${failed[0]}`));
  });
}

// The page of a trial says why it was chosen, and forks the study with another seed. The first picks of both are shown side
// by side.
async function whyAndForks(site) {
  await site.api.create({ id: 'asked-why', metric: { name: 'loss', goal: 'minimize' }, seed: 4, domain: { type: 'space', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] } });
  await work(site.api, 'asked-why', 9, ['w'], (trial) => ({ value: (trial.parameters.x - 0.3) ** 2 }));
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/asked-why/trials/1`);
    await page.waitForSelector('text=One of the first points: no result was known yet.');
    await page.goto(`${site.url}/#/studies/asked-why/trials/9`);
    const { sentence } = await site.api.get('/v1/studies/asked-why/trials/9/why');
    await page.waitForSelector(`text=${sentence}`);
    assert.ok((await page.getByText('Expected loss').count()) === 1);
    await page.click('button:text-is("Fork…")');
    await page.getByLabel('Another seed').fill('12');
    await page.getByLabel('Id of the fork').fill('asked-again');
    await page.locator('dialog button:text-is("Fork")').click();
    await page.waitForSelector('h2:text-is("First picks")');
    assert.match(page.url(), /compare\?studies=asked-why%2Casked-again&after=9$/);
    const picks = page.locator('.panel:has(h2:text-is("First picks")) tbody tr');
    await page.click('text=Show what asked-again would choose');
    await until('five picks of the fork', async () => (await picks.count()) === 5);
    const chosen = (await site.api.get('/v1/studies/asked-again/trials')).items;
    assert.deepEqual(chosen.map((trial) => trial.state), Array(5).fill('queued')); // the next worker gets them
    assert.equal(await picks.first().locator('td').nth(2).textContent(), `trial 1: x ${Number(chosen[0].parameters.x.toPrecision(4))}`);
    const fork = await site.api.get('/v1/studies/asked-again');
    assert.deepEqual([fork.seed, fork.observations, fork.history_from], [12, 9, 'asked-why']);
  });
}

// A fork is asked for the context of the other study's first pick.
async function forkWithContext(site) {
  const parameters = [{ name: 'day', type: 'double', min: 0, max: 1, role: 'context' }, { name: 'x', type: 'double', min: 0, max: 1 }];
  await site.api.create({ id: 'days', metric: { name: 'loss', goal: 'minimize' }, seed: 4, domain: { type: 'space', parameters } });
  for (const day of [0.125, 0.5, 0.875]) {
    const { trials } = await site.api.post('/v1/studies/days/ask', { fixed: { day } });
    await site.api.post('/v1/studies/days/tell', { results: [{ trial: trials[0].id, value: day }] });
  }
  await site.api.post('/v1/studies/days/fork', { id: 'days-again', at_trial: 1, seed: 5 });
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/compare?studies=days,days-again&after=1`);
    await page.click('text=Show what days-again would choose');
    await until('five picks of the fork', async () => (await page.locator('.panel:has(h2:text-is("First picks")) tbody tr').count()) === 5);
    const chosen = (await site.api.get('/v1/studies/days-again/trials')).items;
    assert.deepEqual(chosen.map((trial) => trial.parameters.day), Array(5).fill(0.5));
  });
}

// The rows are sorted by the chosen column.
async function candidates(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/bread/candidates`);
    await page.waitForSelector('tbody tr');
    const column = (n) => page.locator(`tbody td:nth-child(${n})`).evaluateAll((cells) => cells.map((c) => Number(c.textContent)));
    const falls = (values) => values.every((v, i) => i === 0 || v <= values[i - 1]);
    assert.ok(falls(await column(2)), 'the best mean first');
    for (const [order, n] of [['ucb', 4], ['pulls', 5], ['std', 3]]) {
      await page.getByLabel('sorted by').selectOption(order);
      await until(`sorted by ${order}`, async () => falls(await column(n)));
    }
    const first = await page.locator('tbody td').first().textContent();
    await page.click('button:text-is("Next")');
    await until('the next page', async () => (await page.locator('tbody td').first().textContent()) !== first);
    await page.click('button:text-is("Previous")');
    await until('back', async () => (await page.locator('tbody td').first().textContent()) === first);
  });
}

// With several metrics, the list has the predictions of each, and can be sorted by them.
async function candidatesOfMetrics(site) {
  const metrics = [{ name: 'accuracy', goal: 'maximize' }, { name: 'latency', goal: 'minimize', unit: 'ms' }, { name: 'memory', role: 'constraint', at_most: 20 }];
  const points = Array.from({ length: 25 }, (_, i) => [i % 5, Math.floor(i / 5)]);
  await site.api.create({ id: 'each', metrics, domain: { type: 'candidates', points, names: ['depth', 'width'] }, seed: 1 });
  const of = ([depth, width]) => ({ accuracy: 1 - 1 / (1 + depth + width), latency: 10 + depth * width, memory: 3 * depth + 3 * width });
  await work(site.api, 'each', 12, ['w'], (trial) => ({ values: of(trial.point) }));
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/each/candidates`);
    await page.waitForSelector('tbody tr');
    assert.deepEqual(await page.locator('thead th').allTextContents(), ['Candidate', 'accuracy', 'Std', 'latency (ms)', 'Std', 'memory', 'Std', 'Keeps all bounds', 'Pulls', 'Mean of reported values', 'depth', 'width', 'State']);
    const column = (n) => page.locator(`tbody td:nth-child(${n})`).evaluateAll((cells) => cells.map((c) => Number.parseFloat(c.textContent)));
    const falls = (values) => values.every((v, i) => i === 0 || v <= values[i - 1]);
    assert.ok(falls(await column(2)), 'the best accuracy first');
    await page.getByLabel('sorted by').selectOption({ label: 'best mean of latency' });
    await until('the shortest latency first', async () => falls((await column(4)).reverse()));
    await page.getByLabel('sorted by').selectOption({ label: 'most probably within all bounds' });
    await until('the most probable first', async () => falls(await column(8)));
    const { posterior } = (await site.api.get('/v1/studies/each/candidates?sort=feasible_probability&limit=1')).items[0];
    assert.ok(Math.abs((await column(4))[0] - posterior.values.latency.mean) < 0.1);
  });
}

// The page continues by itself after the stream of events was interrupted.
async function reconnects(site) {
  await with_(site.chrome, { allowed: /ERR_(FAILED|CONNECTION|ABORTED)|Failed to load resource/ }, async (page) => {
    let broken = true;
    await page.route('**/events', (route) => (broken ? route.abort() : route.continue()));
    await page.goto(`${site.url}/#/studies/training`);
    await page.waitForSelector('.connection.waiting');
    await work(site.api, 'training', 3, ['late'], () => ({ value: 1 }));
    broken = false;
    await page.waitForSelector('.connection.live');
    const { observations } = await site.api.get('/v1/studies/training');
    await until('what was missed is shown', async () => (await page.locator('.tile:has(dt:text-is("Batches")) .tile-note').textContent()) === `${observations} values`);
  });
}

// Damaged studies are named above the list.
async function damaged(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.route('**/v1/studies?*', async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...(await response.json()), damaged: ['harmed'] } });
    });
    await page.goto(`${site.url}/#/`);
    await page.waitForSelector('.notice:has-text("harmed")');
    await page.waitForSelector('tbody a[href="#/studies/training"]');
  });
}

// A hidden tab has no connection and reads nothing. When it is shown again, it is updated.
async function hidden(site) {
  await with_(site.chrome, {}, async (page) => {
    const hide = (value) =>
      page.evaluate((now) => {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => now });
        document.dispatchEvent(new Event('visibilitychange'));
      }, value);
    await page.goto(`${site.url}/#/studies/paused`);
    await page.waitForSelector('.connection.live');
    await hide(true);
    await page.waitForSelector('.connection.waiting');
    await page.waitForTimeout(1000);
    const requests = [];
    page.on('request', (request) => requests.push(request.url()));
    await site.api.patch('paused', { display_name: 'Renamed while hidden' });
    await page.waitForTimeout(1500);
    assert.deepEqual(requests, []);
    await hide(false);
    await page.waitForSelector('.connection.live');
    await page.waitForSelector('h1:text-is("Renamed while hidden")');
    await site.api.patch('paused', { display_name: '' });
  });
}

const RIGHT = "right $PATH; it's"; // the name of a feature

// The commands to paste work unchanged.
async function pasted(site) {
  const folder = await mkdtemp(`${tmpdir()}/banditd-web-`);
  const root = process.cwd();
  const environment = {
    ...process.env,
    PATH: `${folder}:${site.build}:${process.env.PATH}`,
    PYTHONPATH: `${root}/clients/python/src`,
  };
  const shell = (command) => promisify(execFile)('bash', ['-ec', command], { cwd: folder, env: environment, timeout: 60000 });
  await writeFile(`${folder}/measure`, '#!/bin/sh\necho "$1 + $2" | bc -l 2>/dev/null || python3 -c "print($1 + $2)"\n', { mode: 0o755 });
  await with_(site.chrome, {}, async (page) => {
    // Creates a study, opens it and runs what it shows. before: what defines measure() for Python
    const paste = async (id, title, part, definition, before) => {
      await site.api.create({ id, algorithm: { name: 'uniform' }, horizon: 5, ...definition });
      await page.goto(`${site.url}/#/studies/${id}${part}`);
      const text = await page.getByLabel(title, { exact: true }).locator('code').textContent();
      await writeFile(`${folder}/pasted`, title === 'Python' ? `${before}\n${text}` : text);
      return shell(title === 'Python' ? 'python3 pasted' : '. ./pasted');
    };
    const trials = async (id) => (await site.api.get(`/v1/studies/${id}/trials`)).items;
    const sum = {
      metric: { name: 'sum', goal: 'maximize' },
      domain: { type: 'candidates', points: points(20, 2, 7), names: ['left', RIGHT] },
    };
    const curl = await paste('pasted-curl', 'curl', '/connect', sum);
    assert.equal(curl.stdout.trim().split('\n').length, 3, curl.stdout);
    assert.ok(curl.stdout.includes('"accepted":1'), curl.stdout);
    for (const [id, title] of [['pasted-python', 'Python'], ['pasted-shell', 'Shell']]) {
      await paste(id, title, '/connect', sum, `measure = lambda parameters: parameters["left"] + parameters[${JSON.stringify(RIGHT)}]`);
      assert.equal((await site.api.get(`/v1/studies/${id}`)).state, 'finished');
      const items = await trials(id);
      assert.equal(items.length, 5);
      for (const trial of items) assert.ok(Math.abs(trial.value - trial.point[0] - trial.point[1]) < 1e-6, JSON.stringify(trial));
    }
    // Several metrics, and contexts that each ask must bring. The overview of a study without results shows the same.
    const several = {
      algorithm: { name: 'log_ei' },
      aim: 'best',
      metrics: [{ name: 'the yield', goal: 'maximize' }, { name: "it's cost", goal: 'minimize' }, { name: 'minutes', role: 'recorded' }],
      domain: {
        type: 'space',
        parameters: [
          { name: 'heat', type: 'double', min: 0, max: 30, role: 'context' },
          { name: 'dry', type: 'boolean', role: 'context' },
          { name: 'time', type: 'double', min: 1, max: 9 },
        ],
      },
    };
    await writeFile(`${folder}/measure`, `#!/bin/sh\necho measuring\necho '{"the yield": '$3', "it'"'"'s cost": '$1'}'\n`, { mode: 0o755 });
    const measure = 'measure = lambda parameters: {"the yield": parameters["time"], "it\'s cost": parameters["heat"]}';
    for (const [id, title, n] of [['pasted-curl-2', 'curl', 1], ['pasted-python-2', 'Python', 5], ['pasted-shell-2', 'Shell', 5]]) {
      await paste(id, title, '', several, measure);
      const items = (await trials(id)).filter((trial) => trial.state === 'completed');
      assert.equal(items.length, n, id);
      for (const { parameters, values } of items) {
        assert.deepEqual([parameters.heat, parameters.dry], [15, true], id);
        assert.deepEqual(values, title === 'curl' ? { 'the yield': 0.5, "it's cost": 1, minutes: 1.5 } : { 'the yield': parameters.time, "it's cost": 15 });
      }
    }
  });
  await rm(folder, { recursive: true });
}

// A lease expires: the trial goes to another worker, and the timeline shows both attempts.
async function leases(site) {
  await site.api.create({ id: 'leases', metric: { name: 'v', goal: 'maximize' }, domain: { type: 'candidates', points: [[0], [1]] }, algorithm: { name: 'uniform' }, lease_seconds: 1 });
  // The page may be reading the study when it is deleted.
  await with_(site.chrome, { allowed: /404/ }, async (page) => {
    const [lost] = await site.api.ask('leases', 1, 'lost');
    const taken = await until('another worker has it', async () => (await site.api.ask('leases', 1, 'found', { fresh: true })).find((t) => t.id === lost.id));
    assert.equal(taken.attempt, 2);
    await site.api.tell('leases', [{ trial: taken.id, value: 1 }]);
    await page.goto(`${site.url}/#/studies/leases/workers`);
    const bars = page.locator('.gantt rect title');
    await until('both attempts', async () => {
      const said = await bars.allTextContents();
      return said.some((s) => /^trial 1, ended, attempt 1/.test(s)) && said.some((s) => s.startsWith('trial 1, completed, attempt 2'));
    });
    await page.goto(`${site.url}/#/studies/leases/trials`);
    await page.locator('tbody td:first-child a').last().click();
    await until('both in the table', async () => (await page.locator('.histories tbody tr').count()) === 2);
    await site.api.call('DELETE', '/v1/studies/leases');
    await page.waitForSelector('text=This study has been deleted', { state: 'attached' });
  });
}

// Recorded metrics, and the history of a value.
async function recorded(site) {
  await site.api.create({
    id: 'recorded',
    metrics: [{ name: 'accuracy', goal: 'maximize' }, { name: 'latency', goal: 'minimize', role: 'recorded' }],
    domain: { type: 'candidates', points: [[0], [1], [2]] },
    algorithm: { name: 'uniform' },
  });
  await with_(site.chrome, {}, async (page) => {
    const [trial] = await site.api.ask('recorded', 1, 'w');
    await site.api.post(`/v1/studies/recorded/trials/${trial.id}/measurements`, { step: 3, value: 0.25 });
    await site.api.tell('recorded', [{ trial: trial.id, values: { accuracy: 0.5, latency: 12.75 } }]);
    await site.api.post(`/v1/studies/recorded/trials/${trial.id}/amend`, { value: 0.625, reason: 'read off wrongly' });
    await page.goto(`${site.url}/#/studies/recorded/trials`);
    await page.waitForSelector('th:has-text("latency")');
    const row = (await page.locator('tbody tr').first().textContent()) ?? '';
    assert.ok(row.includes('0.625') && row.includes('12.75'), row);
    await page.locator('tbody td:first-child a').first().click();
    await page.waitForSelector('.histories >> text=read off wrongly');
    await page.waitForSelector('.histories h2:text-is("Measurements")');
    await page.waitForSelector('h2:text-is("Intermediate measurements")');
    await page.goto(`${site.url}/#/studies/recorded/parallel`);
    await until('an axis of its own', async () => /latency, accuracy/.test(await page.locator('.parallel').getAttribute('aria-label')));
  });
}

async function estimated(site) {
  await site.api.create({ id: 'stopped', metric: { name: 'accuracy', goal: 'maximize' }, domain: { type: 'space', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] }, stopping: { rule: 'median' } });
  const run = async (...values) => {
    const [trial] = await site.api.ask('stopped', 1, 'w');
    for (const [step, value] of values.entries()) await site.api.post(`/v1/studies/stopped/trials/${trial.id}/measurements`, { step, value });
    return trial.id;
  };
  for (const value of [0.5, 0.6, 0.7]) await site.api.tell('stopped', [{ trial: await run(value - 0.25), value }]);
  const trial = await run(0.25);
  await site.api.tell('stopped', [{ trial, state: 'stopped' }]);
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/stopped/trials/${trial}`);
    await page.waitForSelector('text=The model takes its value as 0.5 ± 0.001, estimated from its measurements.');
  });
}

// Sets ranges on the axes of the parallel coordinates by keyboard.
async function ranges(site) {
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/molecules/parallel`);
    const readout = page.locator('.readout').first();
    await until('all trials', async () => (await readout.textContent()).startsWith('300 of 300'));
    await page.getByLabel('range of').selectOption('solubility');
    await page.getByLabel('range from, percent of the axis').focus();
    for (let i = 0; i < 50; i++) await page.keyboard.press('ArrowRight');
    const values = (await site.api.get('/v1/studies/molecules/series?points=1000')).items.map((p) => p.value);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const wanted = values.filter((v) => v >= (low + high) / 2).length;
    await until(`${wanted} trials`, async () => (await readout.textContent()).startsWith(`${wanted} of 300`));
    await page.click('text=All lines');
    await until('all again', async () => (await readout.textContent()).startsWith('300 of 300'));
  });
}

// A list that has not changed is not sent again.
async function unchanged(site) {
  await with_(site.chrome, {}, async (page) => {
    const statuses = [];
    page.on('response', (response) => response.url().includes('/v1/studies?') && statuses.push(response.status()));
    await page.goto(`${site.url}/#/`);
    await until('the list was read three times', () => statuses.length >= 3, 20);
    assert.deepEqual(statuses.slice(1, 3), [304, 304]);
    const name = `Renamed ${Date.now()}`;
    await site.api.patch('paused', { display_name: name });
    await page.waitForSelector(`a:text-is("${name}")`);
    await site.api.patch('paused', { display_name: '' });
  });
}

export const tests = {
  'a study from its creation to its deletion': life,
  'the export': exports_,
  'the filter': filter,
  'the list is live': listIsLive,
  'by keyboard': keyboard,
  'trials by state and worker': trials,
  'why a trial was chosen, and a fork with another seed': whyAndForks,
  'a fork is asked for the context of the first pick': forkWithContext,
  'candidates in each order': candidates,
  'candidates with several metrics': candidatesOfMetrics,
  'an interrupted stream of events': reconnects,
  'a damaged study': damaged,
  'a list that has not changed': unchanged,
  'a hidden tab': hidden,
  'commands to paste': pasted,
  'an expired lease, a deleted study': leases,
  'recorded metrics, measurements and amendments': recorded,
  'a stopped trial with an estimate': estimated,
  'ranges without a mouse': ranges,
};
