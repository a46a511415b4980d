// Every page in light, in dark and on a phone: no violations found by axe, no errors, and a screenshot to look at.
import assert from 'node:assert/strict';
import { AXE, with_ } from './harness.mjs';

// The address, and a selector that matches once the page has its content.
export const PAGES = {
  studies: ['#/', '.studies tbody tr:nth-child(7)'],
  new: ['#/new', '.form-end button'],
  overview: ['#/studies/bread', '.chart canvas'],
  regret: ['#/studies/molecules', '.panel:has(h2:text-is("Regret")) canvas'],
  trials: ['#/studies/bread/trials', 'tbody tr'],
  workers: ['#/studies/bread/workers', '.gantt rect'],
  batches: ['#/studies/molecules/batches', 'tbody tr'],
  model: ['#/studies/molecules/model', '.relevance .bar'],
  insights: ['#/studies/bread/insights', '.slice canvas'],
  'insights-space': ['#/studies/training/insights', '.slice canvas'],
  posterior: ['#/studies/bread/posterior', '.slice canvas'],
  'posterior-space': ['#/studies/training/posterior', '.slice canvas'],
  'model-space': ['#/studies/training/model', '.relevance .bar'],
  parallel: ['#/studies/molecules/parallel', '.parallel'],
  candidates: ['#/studies/bread/candidates', 'tbody tr'],
  connect: ['#/studies/bread/connect', 'pre'],
  markup: ['#/studies/markup', '.chart canvas'],
  awaiting: ['#/studies/waiting/connect', 'input[type=file]'],
  compare: ['#/compare?studies=bread,molecules,training', '.chart canvas'],
  bench: ['#/studies/bread/bench', 'input[autocomplete=name]'],
  trial: ['#/studies/bread/trials/8', '.histories table'],
  ranges: ['#/studies/training/trials?min:metric:loss=0', '.range'],
  imports: ['#/studies/imported/trials', '.panel:has(h2:text-is("Imported results")) tbody tr'],
  tokens: ['#/tokens', 'main h1'],
  'learning-curves': ['#/studies/curves', '.panel:has(h2:text-is("Learning curves")) canvas'],
  'overview-space': ['#/studies/training', '.result-part'],
  'parallel-space': ['#/studies/training/parallel', '.parallel'],
  words: ['#/words', '.words dd'],
  empty: ['#/studies/nothing-yet', 'pre'],
  failing: ['#/studies/failing', '.notice.warning'],
  missing: ['#/nothing', '.empty'],
};
export const LOOKS = { light: {}, dark: { dark: true }, phone: { phone: true } };

async function violations(page) {
  await page.evaluate(AXE); // evaluated, because the page's policy forbids scripts from elsewhere
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.html.slice(0, 120)).join(' | ')}`);
}

// No violations found by axe, and no content wider than the window.
export async function inspect(page) {
  assert.deepEqual(await violations(page), []);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(wide <= 0, `the page is ${wide} px wider than the window`);
}

async function look(site, look_, name) {
  const [hash, ready] = PAGES[name];
  await with_(site.chrome, { ...LOOKS[look_] }, async (page) => {
    await page.goto(`${site.url}/${hash}`);
    await page.waitForSelector(ready);
    await page.waitForTimeout(400); // charts and figures appear later
    await page.screenshot({ path: `${site.screenshots}/${name}-${look_}.png`, fullPage: true });
    await inspect(page);
  });
}

// The form for a space, with all options unfolded, and as JSON.
async function spaceForm(site, look_) {
  await with_(site.chrome, { ...LOOKS[look_] }, async (page) => {
    await page.goto(`${site.url}/#/new`);
    await page.getByLabel('Named parameters').check();
    await page.click('text=Add a parameter');
    await page.locator('.parameter').nth(1).getByLabel('Type').selectOption('categorical');
    await page.click('summary:text-is("Algorithm")');
    await page.getByLabel('Algorithm', { exact: true }).selectOption('bbkb');
    await page.click('text=Add a rule that ends the study');
    await page.locator('details:not([open]) > summary').evaluateAll((all) => all.forEach((summary) => summary.click()));
    await page.screenshot({ path: `${site.screenshots}/new-space-${look_}.png`, fullPage: true });
    await inspect(page);
    await page.click('button:text-is("JSON")');
    await page.screenshot({ path: `${site.screenshots}/new-json-${look_}.png`, fullPage: true });
    await inspect(page);
  });
}

async function dialogs(site, look_) {
  await with_(site.chrome, { ...LOOKS[look_] }, async (page) => {
    await page.goto(`${site.url}/#/studies/bread/trials`);
    await page.click('.study-head button:has-text("Delete")');
    await page.waitForSelector('dialog[open]');
    await page.screenshot({ path: `${site.screenshots}/delete-${look_}.png` });
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press('Escape');
  });
}

// The switch overrides the system's theme, and the choice is stored.
async function theme(site) {
  await with_(site.chrome, {}, async (page) => {
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.goto(`${site.url}/#/`);
    const light = await background();
    await page.selectOption('.top-tools select', 'dark');
    const dark = await background();
    assert.notEqual(dark, light);
    await page.reload();
    assert.equal(await background(), dark);
    await page.selectOption('.top-tools select', '');
    assert.equal(await background(), light);
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.equal(await background(), dark);
  });
}

export const tests = {
  ...Object.fromEntries(Object.keys(LOOKS).flatMap((look_) => Object.keys(PAGES).map((name) => [`page ${name}, ${look_}`, (site) => look(site, look_, name)]))),
  ...Object.fromEntries(Object.keys(LOOKS).map((look_) => [`dialogs, ${look_}`, (site) => dialogs(site, look_)])),
  ...Object.fromEntries(Object.keys(LOOKS).map((look_) => [`the form for a space, ${look_}`, (site) => spaceForm(site, look_)])),
  'the switch of the theme': theme,
};
