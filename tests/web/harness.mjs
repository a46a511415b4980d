// A browser, pages that collect their errors, and TAP output.
import { createRequire } from 'node:module';
import assert from 'node:assert/strict';

const require = createRequire(`${process.env.BANDITD_WEB_MODULES}/`);
const { chromium } = require('playwright-core');
export const AXE = require('axe-core').source;

let failed = 0;

export async function test(name, work) {
  try {
    const said = await work();
    console.log(`ok - ${name}`);
    if (said) console.log(`# ${said}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok - ${name}`);
    for (const line of String(error.stack ?? error).split('\n').slice(0, 30)) console.log(`# ${line}`);
  }
}

export function finish() {
  process.exitCode = failed ? 1 : 0;
}

export const browser = () => chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox', '--disable-gpu'] });

/* A page in its own browser context; `close` fails if the console or a script reported an error.
 *   allowed  messages that the test expects, such as refusals, which the browser reports as errors */
export async function open(chrome, { dark = false, phone = false, allowed = null, still = true } = {}) {
  const context = await chrome.newContext({
    viewport: phone ? { width: 390, height: 844 } : { width: 1280, height: 800 },
    colorScheme: dark ? 'dark' : 'light',
    hasTouch: phone,
    reducedMotion: still ? 'reduce' : 'no-preference',
    acceptDownloads: true,
  });
  context.setDefaultTimeout(15000);
  const page = await context.newPage();
  const errors = [];
  page.on('console', (message) => {
    const text = `${message.text()} ${message.location().url}`;
    if (['error', 'warning'].includes(message.type()) && !allowed?.test(text)) errors.push(text);
  });
  page.on('pageerror', (error) => errors.push(error.stack));
  return {
    page,
    async close() {
      await page.unrouteAll({ behavior: 'ignoreErrors' }); // answers that are still on their way
      await context.close();
      assert.deepEqual(errors, [], 'errors in the console');
    },
  };
}

// Runs `work` with a new page, and closes the page.
export async function with_(chrome, options, work) {
  const { page, close } = await open(chrome, options);
  const said = await work(page);
  await close();
  return said;
}

export async function until(what, condition, seconds = 15) {
  const end = Date.now() + 1000 * seconds;
  let seen;
  while (Date.now() < end) {
    seen = await condition();
    if (seen) return seen;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new assert.AssertionError({ message: `not within ${seconds} s: ${what}` });
}
