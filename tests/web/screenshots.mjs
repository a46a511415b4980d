// The pictures of docs/dashboard.md: tests/web/run BUILD --screenshots. Writes docs/pictures/NAME.png.
import { browser, with_ } from './harness.mjs';
import { Api, seed } from './seed.mjs';

const PICTURES = {
  studies: ['#/', '.studies tbody tr', {}],
  overview: ['#/studies/training', '.result-part', {}],
  curves: ['#/studies/curves', '.panel:has(h2:text-is("Learning curves")) canvas', { part: '.panel:has(h2:text-is("Learning curves"))' }],
  trials: ['#/studies/training/trials?sort=value&order=asc', 'tbody tr', {}],
  insights: ['#/studies/training/insights', '.slice canvas', {}],
  workers: ['#/studies/bread/workers', '.gantt rect', {}],
  bench: ['#/studies/bread/bench', 'input[autocomplete=name]', { phone: true }],
  new: ['#/new', '.form-end button', {}],
};
const chrome = await browser();
const url = process.env.BANDITD_URL;
await seed(new Api(url));
for (const [name, [hash, ready, { phone, part }]] of Object.entries(PICTURES))
  await with_(chrome, { phone }, async (page) => {
    await page.goto(`${url}/${hash}`);
    await page.waitForSelector(ready);
    await page.waitForTimeout(800); // figures and charts appear later
    const path = `${process.env.PICTURES}/${name}.png`;
    if (part) await page.locator(part).screenshot({ path });
    else await page.screenshot({ path });
    console.log(`# ${path}`);
  });
await chrome.close();
