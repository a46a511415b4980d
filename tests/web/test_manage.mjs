// Many studies: ticked ones compared, labelled and deleted; a study edited; the tokens of a server.
import assert from 'node:assert/strict';
import { until, with_ } from './harness.mjs';
import { work } from './seed.mjs';

const tick = (page, id) => page.getByLabel(`Tick ${id}`, { exact: true }).check();

async function three(site, prefix) {
  for (const n of [1, 2, 3]) {
    const id = `${prefix}-${n}`;
    await site.api.create({ id, metric: { name: 'loss', goal: 'minimize' }, domain: { type: 'candidates', points: [[0], [1], [2], [3]] }, algorithm: { name: 'uniform' }, seed: n });
    await work(site.api, id, 6, ['w'], (trial) => ({ value: n + 1 / trial.id }));
  }
}

async function compared(site) {
  await three(site, 'compare');
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/?q=compare-`);
    await tick(page, 'compare-1');
    await tick(page, 'compare-3');
    await page.getByRole('link', { name: 'Compare', exact: true }).click();
    await page.waitForSelector('.chart canvas');
    const best = page.locator('.panel:has(h2:text-is("Figures")) tbody tr');
    assert.match(await best.nth(1).textContent(), /compare-3.*active.*6.*3\.16667/);
    assert.match(await page.locator('.panel:has(h2:text-is("Where they differ")) tbody').textContent(), /^seed13$/);
    await page.getByLabel('Along').selectOption('time');
    assert.match(page.url(), /along=time/);
    await page.reload();
    await page.waitForSelector('.chart canvas');
    assert.equal(await page.getByLabel('Along').inputValue(), 'time');
  });
}

// A fork has the name of its original. Wherever they are compared, the ids tell them apart.
async function equalNames(site) {
  const named = { id: 'twin', display_name: 'Bread of Monday', metric: { name: 'v', goal: 'maximize' }, domain: { type: 'candidates', points: [[0], [1], [2]] }, algorithm: { name: 'uniform' } };
  await site.api.create(named);
  await work(site.api, 'twin', 4, ['w'], (trial) => ({ value: trial.id }));
  await site.api.post('/v1/studies/twin/fork', { id: 'twin-fork', at_trial: 2, seed: 5 });
  await work(site.api, 'twin-fork', 2, ['w'], (trial) => ({ value: trial.id }));
  const names = ['Bread of Monday (twin)', 'Bread of Monday (twin-fork)'];
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/compare?studies=twin,twin-fork&after=2`);
    await page.waitForSelector('.chart canvas');
    const texts = (what) => page.locator(what).allTextContents();
    assert.deepEqual(await texts('.panel:has(h2:text-is("Figures")) tbody a'), names);
    for (const title of ['Where they differ', 'First picks']) await until(title, async () => JSON.stringify((await texts(`.panel:has(h2:text-is("${title}")) th`)).slice(1)) === JSON.stringify(names));
    assert.ok((await page.locator('.chart').getAttribute('aria-label')).includes(names.join(', ')));
  });
}

async function bulk(site) {
  await three(site, 'bulk');
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/?q=bulk-`);
    for (const n of [1, 2, 3]) await tick(page, `bulk-${n}`);
    await page.getByRole('button', { name: 'Label…' }).click();
    await page.getByLabel('Label, as key:value').fill('team: attic');
    await page.locator('dialog').getByRole('button', { name: 'Label', exact: true }).click();
    await page.waitForSelector('.toast >> text=3 studies labelled');
    assert.deepEqual((await site.api.get('/v1/studies/bulk-2')).labels, { team: 'attic' });
    await page.getByRole('button', { name: 'Delete…' }).click();
    const sure = page.locator('dialog').getByRole('button', { name: 'Delete', exact: true });
    await page.getByLabel('Number of studies').fill('2');
    assert.equal(await sure.isDisabled(), true);
    await page.getByLabel('Number of studies').fill('3');
    await sure.click();
    await page.waitForSelector('.toast >> text=3 studies deleted');
    const left = (await site.api.get('/v1/studies?limit=1000')).items.filter((study) => study.id.startsWith('bulk-'));
    assert.deepEqual(left, []);
  });
}

// One study is deleted after its name, or its id, was entered. Enter and Escape do nothing to it before.
async function deleted(site) {
  for (const id of ['delete-1', 'delete-2']) await site.api.create({ id, display_name: id === 'delete-1' ? 'Old oven' : undefined, metric: { name: 'loss', goal: 'minimize' }, domain: { type: 'candidates', points: [[0], [1]] } });
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/delete-1`);
    const button = page.getByRole('button', { name: 'Delete delete-1', exact: true });
    const name = page.getByLabel('Name of the study');
    const sure = page.locator('dialog').getByRole('button', { name: 'Delete', exact: true });
    await button.focus();
    await page.keyboard.press('Enter');
    await name.waitFor();
    assert.equal(await name.evaluate((input) => document.activeElement === input), true);
    for (const text of ['', 'Old', 'delete-2']) {
      await name.fill(text);
      await page.keyboard.press('Enter');
      assert.equal(await sure.isDisabled(), true, text);
    }
    await page.keyboard.press('Escape');
    await until('the focus is on the button', () => button.evaluate((b) => document.activeElement === b), 3);
    await site.api.patch('delete-1', { display_name: 'New oven' }); // the dialog knows it
    await button.click();
    await name.fill('New oven');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.toast >> text=delete-1 was deleted');
    const row = page.locator('tr:has(a[href="#/studies/delete-2"])');
    await row.locator('summary').click();
    await row.getByRole('button', { name: 'Delete delete-2' }).click();
    await name.fill('delete-2');
    await sure.click();
    await until('it is gone from the list', async () => (await row.count()) === 0);
    const left = (await site.api.get('/v1/studies?limit=1000')).items.filter((study) => study.id.startsWith('delete-'));
    assert.deepEqual(left, []);
  });
}

async function edited(site) {
  await site.api.create({ id: 'edit-me', metric: { name: 'loss', goal: 'minimize' }, metadata: { by: 'anna' }, horizon: 50, domain: { type: 'candidates', points: [[0], [1]] } });
  await with_(site.chrome, { allowed: /422/ }, async (page) => {
    await page.goto(`${site.url}/#/studies/edit-me`);
    const open = () => page.getByRole('button', { name: 'Edit edit-me' }).click();
    await open();
    await page.getByLabel('Horizon, trials').fill('many');
    await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
    await until('the field is marked', async () => (await page.getByLabel('Horizon, trials').getAttribute('aria-invalid')) === 'true');
    await page.getByLabel('Horizon, trials').fill('80');
    await page.getByLabel('Name', { exact: true }).fill('Edited by hand');
    await page.getByLabel('Note', { exact: true }).fill('the third oven\nsince March');
    await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
    await page.waitForSelector('.study-note >> text=the third oven');
    const { horizon, display_name, metadata } = await site.api.get('/v1/studies/edit-me');
    assert.deepEqual([horizon, display_name, metadata], [80, 'Edited by hand', { by: 'anna', note: 'the third oven\nsince March' }]);
    await open();
    await page.getByLabel('Note', { exact: true }).fill('');
    await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
    await until('the note is gone', async () => !(await site.api.get('/v1/studies/edit-me')).metadata.note);
    assert.deepEqual((await site.api.get('/v1/studies/edit-me')).metadata, { by: 'anna' });
  });
}

// Bounds and thresholds are changed in the same dialog; an error is shown at its own field.
async function goals(site) {
  const metrics = [{ name: 'gain', goal: 'maximize' }, { name: 'heat', goal: 'minimize', unit: '°C', at_most: 90 }, { name: 'note', role: 'recorded' }, { name: 'cost', role: 'constraint', at_least: 1, at_most: 9 }];
  await site.api.create({ id: 'goals', metrics, domain: { type: 'candidates', points: [[0], [1], [2], [3]] } });
  await work(site.api, 'goals', 3, ['w'], (trial) => ({ values: { gain: trial.point[0], heat: 50, note: 0, cost: 5 } }));
  await with_(site.chrome, { allowed: /422/ }, async (page) => {
    await page.goto(`${site.url}/#/studies/goals`);
    await page.getByRole('button', { name: 'Edit goals' }).click();
    const labels = await page.locator('dialog label').allTextContents();
    assert.deepEqual(labels.filter((label) => /, (threshold|allowed)/.test(label)), ['gain, threshold', 'heat (°C), threshold', 'heat (°C), allowed to', 'cost, allowed from', 'cost, allowed to']);
    const save = () => page.locator('dialog').getByRole('button', { name: 'Save' }).click();
    await page.getByLabel('cost, allowed to').fill('');
    await save();
    await until('the field is marked', async () => (await page.getByLabel('cost, allowed to').getAttribute('aria-invalid')) === 'true');
    await page.getByLabel('cost, allowed to').fill('0.5');
    await save();
    await page.waitForSelector('.field:has(label:text-is("cost, allowed to")) >> text=must be greater than');
    await page.getByLabel('cost, allowed to').fill('4.5');
    await page.getByLabel('gain, threshold').fill('0.5');
    await save();
    await page.waitForSelector('dialog .notice:has-text("either all objectives or none must have a threshold")');
    await page.getByLabel('heat (°C), threshold').fill('80');
    await save();
    await page.waitForSelector('.toast >> text=Changed goals.');
    const changed = (await site.api.get('/v1/studies/goals')).metrics;
    assert.deepEqual(changed.map((m) => [m.threshold, m.at_least, m.at_most]), [[0.5, undefined, undefined], [80, undefined, 90], [undefined, undefined, undefined], [undefined, 1, 4.5]]);
    assert.equal((await site.api.get('/v1/studies/goals/best')).observed.pareto.length, 0);
    await page.waitForSelector('text=No result keeps all bounds');
  });
}

// A study that a rule has ended says which, and that the rule still holds.
async function endedByRule(site) {
  const rules = (total) => [{ rule: 'cost', total }];
  await site.api.create({ id: 'spent', metric: { name: 'loss', goal: 'minimize' }, stop_when: rules(3), algorithm: { name: 'uniform' }, domain: { type: 'candidates', points: [[0], [1], [2]] } });
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/spent`);
    await page.waitForSelector('.badge.active');
    for (let i = 0; i < 3; i++) await site.api.tell('spent', [{ trial: (await site.api.ask('spent', 1, 'w'))[0].id, value: 1, cost: 1 }]);
    await page.waitForSelector('.notice:has-text("Finished by its rule cost: the results have cost 3 or more. While the rule holds, it ends a reopened study again")');
    const reopen = () => page.getByRole('button', { name: 'Reopen spent' }).click();
    await reopen();
    await page.locator('dialog:has-text("It was finished by its rule cost")').getByRole('button', { name: 'Reopen' }).click();
    await page.waitForSelector('.notice.warning:has-text("Its rule \u201ccost\u201d still holds and will end it again")');
    assert.equal(await page.locator('.notice:has-text("Finished by")').count(), 0);
    await page.getByRole('button', { name: 'Edit spent' }).click();
    await page.getByLabel('Rules that end it, as JSON').fill(JSON.stringify(rules(30)));
    await page.locator('dialog').getByRole('button', { name: 'Save' }).click();
    await until('nothing is wrong', async () => (await page.locator('.notice').count()) === 0);
    assert.deepEqual((await site.api.get('/v1/studies/spent')).stop_when.map(({ rule, total }) => ({ rule, total })), rules(30));
  });
}

async function tokens(site) {
  await with_(site.chrome, { allowed: /401/ }, async (page) => {
    await page.goto(`${site.closed.url}/#/`);
    await page.getByLabel('Token', { exact: true }).fill(site.closed.token);
    await page.click('text=Use the token');
    await page.getByRole('link', { name: 'Tokens', exact: true }).click();
    await page.getByLabel('For', { exact: true }).fill('the cluster');
    await page.getByLabel('Role', { exact: true }).selectOption('viewer');
    await page.getByRole('button', { name: 'Create the token' }).click();
    const made = await page.locator('code.token').textContent();
    const who = await fetch(`${site.closed.url}/v1/whoami`, { headers: { Authorization: `Bearer ${made}` } });
    assert.equal((await who.json()).role, 'viewer');
    await page.getByRole('button', { name: 'Revoke the cluster' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.waitForSelector('.toast >> text=Revoked the cluster');
    const after = await fetch(`${site.closed.url}/v1/whoami`, { headers: { Authorization: `Bearer ${made}` } });
    assert.equal(after.status, 401);
  });
}

// A fork begins as the study was after a trial, and goes on by itself.
async function forked(site) {
  const [, second] = (await site.api.get('/v1/studies/training/trials?state=completed')).items;
  await with_(site.chrome, { allowed: /409|422/ }, async (page) => {
    await page.goto(`${site.url}/#/studies/training/trials/${second.id}`);
    await page.click('button:text-is("Fork…")');
    const id = page.getByLabel('Id of the fork');
    assert.equal(await id.inputValue(), 'training-fork');
    await id.fill('Training Fork');
    await page.locator('dialog button:text-is("Fork")').click();
    await page.waitForSelector('dialog .notice.wrong:not([hidden])');
    await id.fill('training-fork');
    await page.locator('dialog button:text-is("Fork")').click();
    await page.waitForSelector('h2:text-is("First picks")');
    assert.ok(page.url().endsWith(`#/compare?studies=training%2Ctraining-fork&after=${second.id}`), page.url());
    const picks = page.locator('.panel:has(h2:text-is("First picks"))');
    const words = /^What each chose after trial (\d+) was reported\. (\d+) of the picks/;
    await until('the picks', async () => words.test(await picks.locator('.panel-note').textContent()));
    await picks.locator('tbody a').first().click();
    await page.waitForSelector(`h2.trial-title:has-text("Trial ${second.id + 1}")`);
    const fork = await site.api.get('/v1/studies/training-fork');
    assert.ok(fork.trials_completed >= 2 && fork.trials_completed < 80, `${fork.trials_completed}`);
    await page.goto(`${site.url}/#/studies/training/connect`);
    await page.click('button:text-is("Fork…")');
    await page.getByLabel('Id of the fork').fill('training-fork-2');
    await page.locator('dialog button:text-is("Fork")').click();
    await page.waitForSelector('h2:text-is("First picks")');
    assert.equal((await site.api.get('/v1/studies/training-fork-2')).observations, (await site.api.get('/v1/studies/training')).observations);
  });
}

// Workers report in any order: what was in flight when the trial was reported is no pick of either study.
async function partedInDisorder(site) {
  await site.api.create({ id: 'disorder', metric: { name: 'v', goal: 'maximize' }, algorithm: { name: 'uniform' }, seed: 4, domain: { type: 'space', parameters: [{ name: 'a', type: 'double', min: 0, max: 1 }] } });
  const ask = async (id, n) => {
    for (let i = 0; i < n; i++) await site.api.ask(id, 1, `w${i}`, { fresh: true });
  };
  const tell = (id, trials) => site.api.tell(id, trials.map((trial) => ({ trial, value: trial })));
  await ask('disorder', 6);
  await site.api.tell('disorder', [{ trial: 6, state: 'released' }]);
  await tell('disorder', [5, 4, 2]);
  const { trials: [again] } = await site.api.post('/v1/studies/disorder/ask', { worker: 'w9' }); // trial 6, handed out for the second time
  assert.equal(again.id, 6);
  await ask('disorder', 3);
  await tell('disorder', [1, 3, 6, 7]);
  await site.api.post('/v1/studies/disorder/fork', { id: 'disorder-fork', at_trial: 2 });
  await site.api.post('/v1/studies/disorder/fork', { id: 'disorder-other', at_trial: 2, seed: 8 });
  for (const id of ['disorder-fork', 'disorder-other']) await site.api.ask(id, 2, 'z');
  await with_(site.chrome, {}, async (page) => {
    for (const [id, own] of [['disorder-fork', [7]], ['disorder-other', [1, 2]]]) {
      await page.goto(`${site.url}/#/compare?studies=disorder,${id}&after=2`);
      const cells = page.locator('.panel:has(h2:text-is("First picks")) tbody');
      await cells.locator('a').first().waitFor();
      const numbers = await cells.locator('a').evaluateAll((links) => links.map((a) => [a.getAttribute('href').split('/')[2], Number(a.textContent.replace('trial ', ''))]));
      const of = (study, n) => numbers.filter(([its]) => its === study).map(([, number]) => number).slice(0, n); // others are queued
      assert.deepEqual(of('disorder', 3), [7, 8, 9]);
      assert.deepEqual(of(id, own.length), own);
    }
  });
}

// A fork with another definition: what cannot be changed so is said beside its field.
async function changedFork(site) {
  await site.api.create({ id: 'to-change', metric: { name: 'v', goal: 'maximize' }, horizon: 20, seed: 2, domain: { type: 'space', parameters: ['a', 'b'].map((name) => ({ name, type: 'double', min: 0, max: 1 })), constraints: ['a <= b'] } });
  await work(site.api, 'to-change', 4, ['w'], (trial) => ({ value: trial.parameters.a }));
  await with_(site.chrome, { allowed: /422/ }, async (page) => {
    await page.goto(`${site.url}/#/studies/to-change/connect`);
    await page.click('button:text-is("Fork…")');
    await page.click('dialog summary:text-is("Change more")');
    await page.getByLabel('Algorithm', { exact: true }).selectOption('gp_ucb');
    await page.getByLabel('Trials at most (horizon)').fill('none');
    await page.getByLabel('Constraints', { exact: true }).fill('');
    await page.locator('dialog button:text-is("Fork")').click();
    await until('the field is marked', async () => (await page.getByLabel('Trials at most (horizon)').getAttribute('aria-invalid')) === 'true');
    await page.getByLabel('Trials at most (horizon)').fill('50');
    await page.locator('dialog button:text-is("Fork")').click();
    await page.waitForSelector('h2:text-is("First picks")');
  });
  const fork = await site.api.get('/v1/studies/to-change-fork');
  assert.deepEqual([fork.algorithm.name, fork.horizon, fork.domain.constraints, fork.observations], ['gp_ucb', 50, undefined, 4]);
}

// Imported results are listed, and corrected or taken back; the earlier value stays.
async function importedResults(site) {
  await site.api.create({ id: 'imports', metric: { name: 'yield', goal: 'maximize' }, domain: { type: 'space', parameters: [{ name: 'heat', type: 'double', min: 0, max: 100, unit: '°C' }] } });
  await site.api.post('/v1/studies/imports/observations', { observations: Array.from({ length: 60 }, (_, i) => ({ parameters: { heat: i }, value: i / 10 })) });
  await with_(site.chrome, {}, async (page) => {
    await page.goto(`${site.url}/#/studies/imports/trials`);
    const view = page.locator('.panel:has(h2:text-is("Imported results"))');
    await until('a page of them', async () => (await view.locator('tbody tr').count()) === 50);
    await view.getByRole('button', { name: 'Next' }).click();
    await until('the others', async () => (await view.locator('tbody tr').count()) === 10);
    await view.getByRole('button', { name: 'Correct… imported result 60' }).click();
    await page.locator('dialog input[inputmode=decimal]').fill('3,25');
    await page.getByLabel('Reason', { exact: true }).fill('read wrongly');
    await page.click('dialog button:text-is("Save")');
    await page.waitForSelector('.toast >> text=Corrected imported result 60');
    await until('the new value', async () => /3.25/.test(await view.locator('tbody tr').last().textContent()));
    await view.getByRole('button', { name: 'Correct… imported result 60' }).click();
    await page.waitForSelector('dialog li:text-is("Earlier: 5.9 (read wrongly)")');
    await page.click('dialog button:text-is("Cancel")');
    await view.getByRole('button', { name: 'Correct… imported result 59' }).click();
    await page.click('dialog button:text-is("It failed")');
    await until('it is taken back', async () => (await view.locator('tbody tr').nth(8).locator('.badge').textContent()) === 'failed');
  });
  const result = await site.api.get('/v1/studies/imports/observations/60');
  assert.deepEqual([result.value, result.amendments[0].was.value], [3.25, 5.9]);
}

// More candidates for a study that runs.
async function moreCandidates(site) {
  await site.api.create({ id: 'manage-more', metric: { name: 'v', goal: 'maximize' }, domain: { type: 'candidates', points: [[0, 0], [1, 0]] }, algorithm: { name: 'uniform' } });
  const [trial] = await site.api.ask('manage-more', 1, 'w');
  await site.api.tell('manage-more', [{ trial: trial.id, value: 1 }]);
  await with_(site.chrome, { allowed: /409/ }, async (page) => { // there are no predictions to sort by
    await page.goto(`${site.url}/#/studies/manage-more/candidates`);
    await page.locator('input[type=file]').setInputFiles({ name: 'more.csv', mimeType: 'text/csv', buffer: Buffer.from('0.5,0.5\n0.25,0.75\n0.1,0.9\n') });
    await page.click('button:text-is("Add")');
    await page.waitForSelector('.toast >> text=Added 3 candidates');
    await page.waitForSelector('.panel-note:has-text("5 candidates")');
    assert.equal((await site.api.get('/v1/studies/manage-more')).candidates, 5);
  });
}

export const tests = {
  'manage: more candidates from a file': moreCandidates,
  'manage: a fork after a trial': forked,
  'manage: a fork of trials reported in any order': partedInDisorder,
  'manage: a fork with another definition': changedFork,
  'manage: imported results are listed and corrected': importedResults,
  'manage: ticked studies are compared': compared,
  'manage: studies of one name are compared': equalNames,
  'manage: ticked studies are labelled and deleted': bulk,
  'manage: one study is deleted after its name was entered': deleted,
  'manage: a study is edited, and what others put into its metadata stays': edited,
  'manage: thresholds and bounds are edited': goals,
  'manage: a study that a rule has ended': endedByRule,
  'manage: a token is made and revoked': tokens,
};
