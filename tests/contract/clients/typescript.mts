// A client that is typed by openapi-typescript creates, asks, tells, lists and reads. Argument: the server's URL.
import createClient from 'openapi-fetch';
import type { components, paths } from './banditd.js';

declare const process: { argv: string[] };
const client = createClient<paths>({ baseUrl: process.argv[2] });

function must<T>({ data, error }: { data?: T; error?: components['schemas']['Problem'] }): T {
  if (error || data === undefined) throw new Error(error?.detail ?? 'no answer');
  return data;
}

function check(good: boolean, what: unknown): void {
  if (!good) throw new Error(JSON.stringify(what));
}

const study = 'typescript';
const params = { path: { study } };
const definition: components['schemas']['StudyDefinition'] = {
  id: study,
  metric: { name: 'loss', goal: 'minimize' },
  domain: { type: 'space', parameters: [{ name: 'rate', type: 'double', min: 1e-5, max: 1, scale: 'log' }] },
  algorithm: { name: 'bbkb', noise_std: 0.1 },
};
const made = must(await client.POST('/v1/studies', { body: definition }));
check(made.algorithm.name === 'bbkb' && made.algorithm.noise_std === 0.1, made.algorithm);
check(made.domain.type === 'space' && made.domain.parameters[0].type === 'double', made.domain);
const asked = must(await client.POST('/v1/studies/{study}/ask', { params, body: { count: 3 } }));
const results = asked.trials.map((trial) => ({ trial: trial.id, value: trial.id }));
check(must(await client.POST('/v1/studies/{study}/tell', { params, body: { results } })).accepted === 3, results);
check(must(await client.GET('/v1/studies/{study}/trials', { params: { ...params, query: { state: 'completed' } } })).items.length === 3, study);
check(must(await client.GET('/v1/studies')).items.some((each) => each.id === study), study);
check(must(await client.GET('/v1/studies/{study}/best', { params })).observed?.trial === 1, study);
