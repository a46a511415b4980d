// The pictures of docs/dashboard.md: tests/web/run BUILD --screenshots. Writes docs/pictures/NAME.png.
import { browser, with_ } from './harness.mjs';
import { Api, seed } from './seed.mjs';

// A trial to enter the value of.
async function withTrial(page) {
  await page.getByLabel('My name', { exact: true }).fill('eva');
  await page.getByRole('button', { name: 'Get trials' }).click();
  await page.getByRole('button', { name: /^Save, trial/ }).waitFor();
}

// NAME: [address, what it waits for, {phone, part: of the page, height: px, first: what is done before}]
const PICTURES = {
  studies: ['#/', '.studies tbody tr', {}],
  overview: ['#/studies/training', '.result-part', { height: 1120 }],
  curves: ['#/studies/curves', '.panel:has(h2:text-is("Learning curves")) canvas', { part: '.panel:has(h2:text-is("Learning curves"))' }],
  trials: ['#/studies/training/trials?sort=value&order=asc', 'tbody tr', {}],
  insights: ['#/studies/training/insights', '.slice canvas', { height: 1000 }],
  workers: ['#/studies/bread/workers', '.gantt rect', {}],
  bench: ['#/studies/bread/bench', 'input[autocomplete=name]', { phone: true, height: 1000, first: withTrial }],
  new: ['#/new', '.form-end button', {}],
};
const chrome = await browser();
const url = process.env.BANDITD_URL;
const api = new Api(url);
await seed(api);
await api.call('DELETE', '/v1/studies/markup'); // it is for tests alone
for (const [name, [hash, ready, { phone, part, height, first }]] of Object.entries(PICTURES))
  await with_(chrome, { phone }, async (page) => {
    if (height) await page.setViewportSize({ ...page.viewportSize(), height });
    await page.goto(`${url}/${hash}`);
    await page.waitForSelector(ready);
    await first?.(page);
    await page.waitForTimeout(800); // figures and charts appear later
    const path = `${process.env.PICTURES}/${name}.png`;
    if (part) await page.locator(part).screenshot({ path });
    else await page.screenshot({ path });
    console.log(`# ${path}`);
  });
await chrome.close();
