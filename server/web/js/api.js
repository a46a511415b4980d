// Calls of the HTTP API. Addresses are relative, so that the server may stand behind a prefix.
import { askForToken, currentToken } from './token.js';

// An answer other than 2xx: problem+json (RFC 9457), or what came in its place; status 0 when none came.
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `the server answered ${status}`);
    this.status = status;
    this.errors = body.errors ?? [];
  }

  // No such route in this server, rather than no such study.
  get isUnbuilt() {
    return this.status === 405 || this.status === 501 || (this.status === 404 && this.message.startsWith('there is nothing at'));
  }
}

async function reach(path, options) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (options.signal?.aborted) throw error;
    throw new Problem(0, { detail: 'The server cannot be reached.' });
  }
}

// The response whatever its status but 401, for which a token is asked for.
export async function send(method, path, { body, headers, signal } = {}) {
  for (;;) {
    const token = currentToken();
    const response = await reach(path, {
      method,
      body,
      signal,
      cache: 'no-store',
      credentials: 'omit',
      headers: { ...headers, ...(token && { Authorization: `Bearer ${token}` }) },
    });
    if (response.status !== 401) return response;
    if (currentToken() !== token) continue; // another one has been entered meanwhile
    try {
      await askForToken(token);
    } catch {
      throw new Problem(401, { detail: 'The server wants a token.' });
    }
  }
}

export async function problemOf(response) {
  try {
    return new Problem(response.status, await response.json());
  } catch {
    return new Problem(response.status, {});
  }
}

async function call(method, path, options) {
  const response = await send(method, path, options);
  if (!response.ok) throw await problemOf(response);
  return response.status === 204 ? null : response.json();
}

const json = (body) => ({ body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });

export const get = (path, signal) => call('GET', path, { signal });
export const post = (path, body, signal) => call('POST', path, { ...json(body), signal });
export const patch = (path, body) => call('PATCH', path, json(body));
export const remove = (path) => call('DELETE', path, {});
export const upload = (path, body, type) => call('PUT', path, { body, headers: { 'Content-Type': type } });

export const studyPath = (id, rest = '') => `v1/studies/${encodeURIComponent(id)}${rest}`;

export function query(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return given.length ? `?${new URLSearchParams(given)}` : '';
}

// The items of a list, page by page, from parameters.page_token on; at most `most` of them. What is damaged in the
// database, and so no item, is added to `damaged`, by its name.
export async function list(path, parameters, signal, most = Infinity, damaged = []) {
  const items = [];
  let { page_token } = parameters;
  do {
    const page = await get(path + query({ limit: Math.min(1000, most - items.length), ...parameters, page_token }), signal);
    items.push(...page.items);
    damaged.push(...(page.damaged ?? []));
    page_token = page.next_page_token;
  } while (page_token && items.length < most);
  return items;
}

// An answer as a file of the browser's. A link could not carry the token.
export async function download(path, name) {
  const response = await send('GET', path);
  if (!response.ok) throw await problemOf(response);
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}
