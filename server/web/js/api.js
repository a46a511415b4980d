// Calls of the HTTP API. Addresses are relative, so that the server can be served under a prefix.
import { saveBlob } from './csv.js';
import { askForToken, currentToken } from './token.js';

const PATIENCE = 30000; // ms until a call without a response counts as lost; a broken connection may never say so

// A response other than 2xx: problem+json (RFC 9457) or another body. Status 0: no response.
export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `the server answered ${status}`);
    this.status = status;
    this.errors = body.errors ?? [];
  }

  // The same call may succeed later.
  get isTemporary() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }

  // The server lacks the route; it is not the study that is missing.
  get isUnbuilt() {
    return this.status === 405 || this.status === 501 || (this.status === 404 && this.message.startsWith('there is nothing at'));
  }
}

function unreachable() {
  const detail = navigator.onLine ? 'The server cannot be reached. Check that it is running.' : 'This computer is offline.';
  return new Problem(0, { detail });
}

async function reach(path, options, signal) {
  try {
    return await fetch(path, options);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw unreachable();
  }
}

// The response. On status 401 it asks for a token and sends the request again.
//   patience  ms until the call counts as lost; without it, the call may take any time
export async function send(method, path, { body, headers, signal, patience } = {}) {
  for (;;) {
    const token = currentToken();
    const signals = [signal, patience && AbortSignal.timeout(patience)].filter(Boolean);
    const options = {
      method,
      body,
      signal: AbortSignal.any(signals),
      cache: 'no-store',
      credentials: 'omit',
      headers: { ...headers, ...(token && { Authorization: `Bearer ${token}` }) },
    };
    const response = await reach(path, options, signal);
    if (response.status !== 401) return response;
    if (currentToken() !== token) continue; // the user has entered another token during the request
    try {
      await askForToken(token);
    } catch {
      throw new Problem(401, { detail: 'The server requires a token.' });
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

async function bodyOf(response, signal) {
  try {
    return await response.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw unreachable();
  }
}

async function call(method, path, options) {
  const response = await send(method, path, { patience: PATIENCE, ...options });
  if (!response.ok) throw await problemOf(response);
  return response.status === 204 ? null : bodyOf(response, options.signal);
}

const json = (body) => ({ body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } });

export const get = (path, signal) => call('GET', path, { signal });

// What pages read again and again: the last answers, which the server sends again only if they have changed.
const answers = new Map(); // path -> {tag, body}
const KEPT = 100;

export async function getAgain(path, signal) {
  const { tag, body: known } = answers.get(path) ?? {};
  const response = await send('GET', path, { signal, patience: PATIENCE, headers: tag ? { 'If-None-Match': tag } : {} });
  if (response.status === 304) return known;
  if (!response.ok) throw await problemOf(response);
  const body = await bodyOf(response, signal);
  answers.delete(path);
  answers.set(path, { tag: response.headers.get('ETag'), body });
  if (answers.size > KEPT) answers.delete(answers.keys().next().value);
  return body;
}

export const post = (path, body, signal) => call('POST', path, { ...json(body), signal });
export const patch = (path, body) => call('PATCH', path, json(body));
export const remove = (path) => call('DELETE', path, {});
export const upload = (path, body, type, method = 'PUT') => call(method, path, { body, headers: { 'Content-Type': type }, patience: 0 });

export const studyPath = (id, rest = '') => `v1/studies/${encodeURIComponent(id)}${rest}`;

export function query(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== null && value !== '');
  return given.length ? `?${new URLSearchParams(given)}` : '';
}

// Reads a list page by page, from parameters.page_token on, and returns at most `most` items. Ids of damaged studies,
// which are not items, are added to `damaged`. `read` is get or getAgain.
export async function list(path, parameters, signal, most = Infinity, damaged = [], read = get) {
  const items = [];
  if (most < 1) return items;
  let { page_token } = parameters;
  do {
    const page = await read(path + query({ limit: Math.min(1000, most - items.length), ...parameters, page_token }), signal);
    items.push(...page.items);
    damaged.push(...(page.damaged ?? []));
    page_token = page.next_page_token;
  } while (page_token && items.length < most);
  return items;
}

// Downloads a response as a file. A link could not send the token.
export async function download(path, name) {
  const response = await send('GET', path);
  if (!response.ok) throw await problemOf(response);
  saveBlob(name, await response.blob());
}
