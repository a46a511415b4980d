// A client that is typed by openapi.yaml: compiles only while the calls and fields that it uses are there.
import type { components, operations, paths } from './banditd';

type Body<O extends keyof operations> = operations[O] extends { requestBody: { content: { 'application/json': infer B } } }
  ? B
  : operations[O] extends { requestBody?: { content: { 'application/json': infer B } } }
    ? B
    : never;
type Answer<O extends keyof operations> = operations[O] extends { responses: { 200: { content: { 'application/json': infer A } } } } ? A : never;

async function call<T>(url: string, body: unknown): Promise<T> {
  const response = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  if (!response.ok) {
    const problem = (await response.json()) as components['schemas']['Problem'];
    throw new Error(`${problem.status} ${problem.title}`);
  }
  return (await response.json()) as T;
}

export async function work(base: string, measure: (candidate: number) => number): Promise<number> {
  const study: Body<'createStudy'> = {
    id: 'typed',
    metric: { name: 'value', goal: 'maximize' },
    domain: { type: 'candidates', points: [[0], [1]] },
    algorithm: { name: 'bbkb', kernel: { type: 'gaussian', lengthscale: 0.5 }, noise_std: 0.1 },
  };
  await call<components['schemas']['Study']>(`${base}/v1/studies`, study);
  const asked = await call<Answer<'ask'>>(`${base}/v1/studies/typed/ask`, { count: 2 } satisfies Body<'ask'>);
  const results = asked.trials.map((trial) => ({ trial: trial.id, value: measure(trial.candidate ?? 0) }));
  const told = await call<Answer<'tell'>>(`${base}/v1/studies/typed/tell`, { results } satisfies Body<'tell'>);
  return told.accepted;
}

export const listed: keyof paths = '/v1/studies/{study}/trials';
