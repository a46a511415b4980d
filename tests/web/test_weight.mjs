// What a browser without anything in its cache receives: the bytes on the wire, answers' headers included, of the files of a
// first view.
import assert from 'node:assert/strict';
import { until, with_ } from './harness.mjs';

const MOST = 100000; // bytes

// The files that the page loads, by address; those of the API are not files.
async function filesOf(site, hash, ready) {
  return with_(site.chrome, {}, async (page) => {
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    const asked = new Map();
    const files = new Map();
    session.on('Network.requestWillBeSent', ({ requestId, request }) => asked.set(requestId, new URL(request.url).pathname));
    session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => files.set(asked.get(requestId), encodedDataLength));
    await page.goto(`${site.url}/${hash}`);
    await page.waitForSelector(ready);
    await page.waitForLoadState('networkidle').catch(() => {}); // a stream of events never ends
    await until('the files are there', () => [...asked.values()].filter((path) => !path.startsWith('/v1/')).every((path) => files.has(path)));
    return [...files].filter(([path]) => !path.startsWith('/v1/'));
  });
}

async function light(site) {
  const said = [];
  for (const [name, hash, ready] of [['the list', '#/', '.studies tbody tr'], ['a study', '#/studies/training', '.chart canvas'], ['its trials', '#/studies/training/trials', 'tbody tr']]) {
    const files = await filesOf(site, hash, ready);
    const bytes = files.reduce((sum, [, size]) => sum + size, 0);
    assert.ok(files.length > 15 && bytes > 40000, `${files.length} files, ${bytes} bytes`); // all were seen
    assert.ok(bytes <= MOST, `${name}: ${bytes} bytes in ${files.length} files: ${JSON.stringify(files)}`);
    said.push(`${name} ${bytes} bytes in ${files.length} files`);
  }
  return said.join(', ');
}

export const tests = { 'weight: the bytes of a first view': light };
