// Runs all tests in the browser, one after another. See run.
import { browser, finish, test } from './harness.mjs';
import * as use from './test_use.mjs';
import * as form from './test_form.mjs';
import * as looks from './test_looks.mjs';
import * as states from './test_states.mjs';
import * as safety from './test_safety.mjs';
import * as answers from './test_answers.mjs';
import * as views from './test_views.mjs';
import * as charts from './test_charts.mjs';
import * as gaps from './test_gaps.mjs';
import * as reach from './test_reach.mjs';
import * as manage from './test_manage.mjs';
import * as people from './test_people.mjs';
import * as trouble from './test_trouble.mjs';
import * as days from './test_days.mjs';
import * as weight from './test_weight.mjs';
import * as large from './test_large.mjs';
import { Api, seed } from './seed.mjs';

const wanted = process.argv[2] ?? '';
const chrome = await browser();
const url = process.env.BANDITD_URL;
const api = new Api(url);
const site = {
  chrome,
  url,
  api,
  closed: { url: process.env.BANDITD_CLOSED_URL, token: process.env.BANDITD_CLOSED_TOKEN },
  screenshots: process.env.SCREENSHOTS,
  build: process.env.BANDITD_BUILD, // where the programs are
};

await seed(api);
for (const module of [looks, states, use, form, safety, answers, views, charts, gaps, reach, people, manage, trouble, days, weight, large])
  for (const [name, work] of Object.entries(module.tests)) if (name.includes(wanted)) await test(name, () => work(site));
await chrome.close();
finish();
