// Creates the studies that the browser shows, through the API.

export class Api {
  constructor(url, token) {
    this.url = url;
    this.headers = { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) };
  }

  async call(method, path, body) {
    const response = await fetch(this.url + path, { method, headers: this.headers, body: body && JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }

  get(path) {
    return this.call('GET', path);
  }

  post(path, body) {
    return this.call('POST', path, body);
  }

  create(definition) {
    return this.post('/v1/studies', definition);
  }

  patch(id, change) {
    return this.call('PATCH', `/v1/studies/${id}`, change);
  }

  // -> trials
  async ask(id, count, worker, more = {}) {
    return (await this.post(`/v1/studies/${id}/ask`, { count, worker, ...more })).trials;
  }

  tell(id, results) {
    return this.post(`/v1/studies/${id}/tell`, { results });
  }
}

// Pseudo-random numbers between 0 and 1, the same in each run (mulberry32).
export function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let x = Math.imul(state ^ (state >>> 15), 1 | state);
    x = (x + Math.imul(x ^ (x >>> 7), 61 | x)) ^ x;
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

// A smooth function with the maximum 1 at 0.7, 0.3, 0.7, 0.3, …
export function target(point) {
  return Math.exp(-2 * point.reduce((sum, x, i) => sum + (x - (i % 2 ? 0.3 : 0.7)) ** 2, 0));
}

// Workers that ask and tell until `trials` trials are reported. `measure(trial)` -> a result without the trial's number
export async function work(api, id, trials, workers, measure, count = 1) {
  let told = 0;
  for (let turn = 0; told < trials; turn++) {
    const worker = workers[turn % workers.length];
    const asked = await api.ask(id, Math.min(count, trials - told), worker, { wait_seconds: 5 });
    if (!asked.length) return told;
    await api.tell(id, asked.map((trial) => ({ trial: trial.id, ...measure(trial) })));
    told += asked.length;
  }
  return told;
}

export function points(n, dimension, seed) {
  const next = random(seed);
  return Array.from({ length: n }, () => Array.from({ length: dimension }, () => Math.round(next() * 1e4) / 1e4));
}

const algorithm = (more) => ({ name: 'bbkb', kernel: { type: 'matern', lengthscale: 1.2 }, noise_std: 0.05, ...more });

export const MARKUP = '<img src=x onerror="document.title=\'broken in\'"> & <b>bold</b>';

/* The studies that the pages show:
 *   bread      two features, busy workers, failures             molecules  six features, a horizon, a known optimum
 *   nothing-yet, failing: nothing to show, and nothing but failures
 *   markup     names and reasons that look like markup          paused, finished, waiting: states */
export async function seed(api) {
  const next = random(1);
  const noisy = (trial) => ({ value: target(trial.point) + 0.05 * (next() - 0.5) });
  const workers = ['anna', 'bela', 'chen', 'dora'];

  await api.create({
    id: 'bread',
    display_name: 'Bread, crust and crumb',
    labels: { team: 'bakery', oven: 'deck' },
    metric: { name: 'rating', goal: 'maximize' },
    domain: { type: 'candidates', points: points(400, 2, 2), names: ['degrees', 'minutes'], scaling: 'none' },
    algorithm: algorithm({ kernel: { type: 'matern', lengthscale: [0.25, 0.5] } }),
    horizon: 400,
    seed: 1,
  });
  await work(api, 'bread', 140, workers, (trial) => (trial.id % 23 === 7 ? { state: 'failed', reason: 'the oven was off' } : noisy(trial)));
  for (const [i, worker] of workers.entries()) await api.ask('bread', 1, worker, { lease_seconds: 20 + 190 * i });

  await api.create({
    id: 'molecules',
    display_name: 'Solubility of small molecules',
    labels: { team: 'chemistry' },
    metric: { name: 'solubility', goal: 'maximize' },
    optimum: 1,
    domain: { type: 'candidates', points: points(2000, 6, 3), names: ['mass', 'rings', 'donors', 'acceptors', 'logp', 'surface'], scaling: 'none' },
    algorithm: algorithm({ kernel: { type: 'gaussian', lengthscale: [0.4, 1.5, 0.6, 0.8, 0.3, 2.5] } }),
    horizon: 600,
    seed: 2,
  });
  await work(api, 'molecules', 300, ['robot-1', 'robot-2'], noisy, 4);

  await api.create({
    id: 'markup',
    display_name: MARKUP,
    labels: { [MARKUP.replaceAll(':', '')]: MARKUP },
    metric: { name: MARKUP, goal: 'minimize' },
    domain: { type: 'candidates', points: points(30, 2, 4), names: [MARKUP, '</script><script>document.title="broken in"</script>'], scaling: 'none' },
    algorithm: algorithm(),
    seed: 3,
  });
  await work(api, 'markup', 8, [MARKUP], (trial) => (trial.id % 3 === 0 ? { state: 'failed', reason: MARKUP } : noisy(trial)));
  await api.ask('markup', 1, MARKUP);

  await api.create({ id: 'paused', metric: { name: 'seconds', goal: 'minimize' }, domain: { type: 'candidates', points: points(60, 3, 5) }, algorithm: algorithm(), seed: 4 });
  await work(api, 'paused', 30, ['one'], (trial) => ({ value: 2 - noisy(trial).value }));
  await api.patch('paused', { state: 'paused' });

  await api.create({ id: 'finished', metric: { name: 'yield', goal: 'maximize' }, domain: { type: 'candidates', points: points(60, 1, 6) }, algorithm: algorithm({ kernel: { type: 'gaussian', lengthscale: 0.5 } }), horizon: 40, seed: 5 });
  await work(api, 'finished', 40, ['one', 'two'], noisy);

  await api.create({ id: 'waiting', metric: { name: 'value', goal: 'maximize' }, domain: { type: 'candidates', dimension: 4 }, algorithm: algorithm() });

  await api.create({ id: 'nothing-yet', metric: { name: 'loss', goal: 'minimize' }, domain: { type: 'space', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] }, algorithm: algorithm({ kernel: undefined }) });
  await api.create({ id: 'failing', metric: { name: 'loss', goal: 'minimize' }, domain: { type: 'candidates', points: points(40, 2, 9) }, algorithm: { name: 'uniform' } });
  await work(api, 'failing', 30, ['node-1', 'node-2'], (trial) => ({ state: 'failed', reason: `Traceback (most recent call last):\n  File "train.py", line 3\nFileNotFoundError: data-${trial.id}.csv` }));

  await api.create({
    id: 'training',
    display_name: 'Training of a small network',
    metric: { name: 'loss', goal: 'minimize' },
    domain: {
      type: 'space',
      parameters: [
        { name: 'rate', type: 'double', min: 1e-5, max: 0.1, scale: 'log' },
        { name: 'width', type: 'integer', min: 16, max: 64, scale: 'log' },
        { name: 'optimizer', type: 'categorical', values: ['adam', 'sgd', 'rmsprop'] },
        { name: 'momentum', type: 'double', min: 0, max: 0.99, active_when: { parameter: 'optimizer', in: ['sgd'] } },
        { name: 'augment', type: 'boolean' },
        { name: 'workers', type: 'discrete', values: [1, 2, 4, 8] },
      ],
    },
    algorithm: { name: 'bbkb' },
    seed: 6,
  });
  const loss = ({ rate, width, optimizer, momentum = 0, augment }) => 0.3 + 0.1 * (Math.log10(rate) + 3) ** 2 + 0.1 * (Math.log2(width) - 5) ** 2 + (optimizer === 'adam' ? 0 : 0.1) + 0.05 * (momentum - 0.9) ** 2 - (augment ? 0.05 : 0);
  await work(api, 'training', 80, ['gpu-0', 'gpu-1', 'gpu-2'], (trial) => ({ value: loss(trial.parameters) + 0.02 * next() }));
  await api.ask('training', 1, 'gpu-0');

  await api.create({
    id: 'curves',
    metric: { name: 'loss', goal: 'minimize' },
    domain: { type: 'space', parameters: [{ name: 'x', type: 'double', min: 0, max: 1 }] },
    algorithm: { name: 'uniform' },
    stopping: { rule: 'successive_halving', min_resource: 2, reduction: 3 },
  });
  for (let i = 0; i < 14; i++) {
    const [trial] = await api.ask('curves', 1, `w${i}`);
    const end = 0.2 + 0.1 * ((7 * i) % 10);
    const stopped = i % 4 === 3;
    for (let step = 0; step <= (stopped ? 4 : 20); step += 2) await api.post(`/v1/studies/curves/trials/${trial.id}/measurements`, { step, value: end + Math.exp(-step / 5) });
    await api.tell('curves', [{ trial: trial.id, ...(stopped ? { state: 'stopped' } : { value: end }) }]);
  }

  await api.create({ id: 'imported', metric: { name: 'yield', goal: 'maximize', unit: '%' }, domain: { type: 'space', parameters: [{ name: 'heat', type: 'double', min: 0, max: 100, unit: '°C' }] } });
  await api.post('/v1/studies/imported/observations', { observations: Array.from({ length: 12 }, (_, i) => ({ parameters: { heat: 8 * i }, value: 40 + ((7 * i) % 12), std_error: 0.5 })) });
}
