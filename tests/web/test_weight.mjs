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
  await site.api.create({ id: 'weighed', metrics: [{ name: 'a', goal: 'maximize' }, { name: 'b', role: 'recorded' }], domain: { type: 'candidates', points: [[0], [1], [2]] }, algorithm: { name: 'uniform' } });
  const [first, second] = await site.api.ask('weighed', 2, 'w');
  await site.api.tell('weighed', [{ trial: first.id, values: { a: 1, b: 2 } }, { trial: second.id, state: 'failed', reason: 'broken' }]);
  for (const [name, hash, ready] of [['the list', '#/', '.studies tbody tr'], ['a study', '#/studies/training', '.chart canvas'], ['a study with two metrics and failures', '#/studies/weighed', '.panel:has(h2:text-is("Failures")) tbody tr'], ['its trials', '#/studies/training/trials', 'tbody tr']]) {
    const files = await filesOf(site, hash, ready);
    const bytes = files.reduce((sum, [, size]) => sum + size, 0);
    assert.ok(files.length > 15 && bytes > 40000, `${files.length} files, ${bytes} bytes`); // all were seen
    assert.ok(bytes <= MOST, `${name}: ${bytes} bytes in ${files.length} files: ${JSON.stringify(files)}`);
    said.push(`${name} ${bytes} bytes in ${files.length} files`);
  }
  await site.api.call('DELETE', '/v1/studies/weighed');
  return said.join(', ');
}

// Of a long list, only the part with a change is sent again.
async function parts(site) {
  const ids = Array.from({ length: 230 }, (_, i) => `many-${String(i).padStart(3, '0')}`);
  for (const id of ids) await site.api.create({ id, metric: { name: 'v', goal: 'maximize' }, domain: { type: 'candidates', points: [[0], [1]] }, algorithm: { name: 'uniform' } });
  await with_(site.chrome, {}, async (page) => {
    const statuses = [];
    page.on('response', (response) => response.url().includes('/v1/studies?') && statuses.push(response.status()));
    await page.goto(`${site.url}/#/?q=many-`);
    await until('the list was read again', () => statuses.filter((status) => status === 304).length >= 3, 30);
    await site.api.patch('many-229', { display_name: 'The changed one' });
    statuses.length = 0;
    await page.getByLabel('Filter').fill('many-229');
    await page.waitForSelector('a:text-is("The changed one")');
    assert.equal(statuses.filter((status) => status === 200).length, 1, String(statuses));
    assert.ok(statuses.filter((status) => status === 304).length >= 2, String(statuses));
  });
  for (const id of ids) await site.api.call('DELETE', `/v1/studies/${id}`);
}

export const tests = {
  'weight: the part of a list with a change': parts,
  'weight: the bytes of a first view': light,
};
