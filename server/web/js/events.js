// Server-sent events by fetch, because EventSource cannot send a token. After a break the stream continues from the last
// event (Last-Event-ID).
import { problemOf, send } from './api.js';

const SHORTEST_PAUSE = 500; // ms
const LONGEST_PAUSE = 15000;
const SILENCE = 15000; // ms. The server writes something every 5 s, so a longer silence means a dead connection

// Splits a stream of bytes into events {id, type, data}. heard() is called when anything arrives.
async function read(body, take, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  let event = { type: 'message', data: '' };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heard();
    text += value;
    const lines = text.split(/\r\n|\n|\r/);
    text = lines.pop();
    for (const line of lines) {
      const [, field, content] = /^([^:]*):? ?(.*)$/.exec(line);
      if (line === '') {
        if (event.data) take(event);
        event = { type: 'message', data: '', id: event.id };
      } else if (field === 'event') event.type = content;
      else if (field === 'data') event.data += (event.data && '\n') + content;
      else if (field === 'id') event.id = content;
    }
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function untilVisible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
}

// A signal that is aborted when the page is left or its tab is hidden. A browser opens few connections to one server, and
// a stream occupies one of them.
function whileVisible(signal) {
  const hidden = new AbortController();
  const check = () => document.hidden && hidden.abort();
  document.addEventListener('visibilitychange', check, { signal: AbortSignal.any([signal, hidden.signal]) });
  check();
  return AbortSignal.any([signal, hidden.signal]);
}

// A signal that is aborted after a silence; heard() starts the time again.
function untilSilent() {
  const silent = new AbortController();
  let timer;
  const end = () => clearTimeout(timer);
  const heard = () => {
    end();
    timer = setTimeout(() => silent.abort(), SILENCE);
  };
  heard();
  return { signal: silent.signal, heard, end };
}

// Until the signal is aborted, calls onEvent(type, data) for each event, and onState('live' | 'waiting' | 'unbuilt' |
// 'refused') when the state changes. After a break the state is 'live' again, and the server sends the missed events.
// onHeard() is called when anything arrives, also what keeps the connection alive.
export async function follow(path, { onEvent, onState, onHeard = () => {}, signal }) {
  let lastId;
  let pause = SHORTEST_PAUSE;
  while (!signal.aborted) {
    await untilVisible();
    const silence = untilSilent();
    const connected = AbortSignal.any([whileVisible(signal), silence.signal]);
    const heard = () => {
      silence.heard();
      onHeard();
    };
    try {
      const headers = { Accept: 'text/event-stream', ...(lastId !== undefined && { 'Last-Event-ID': lastId }) };
      const response = await send('GET', path, { headers, signal: connected });
      if (!response.ok) {
        const problem = await problemOf(response);
        if (problem.isUnbuilt) return onState('unbuilt');
        if ([401, 403, 404].includes(problem.status)) return onState('refused');
        throw problem;
      }
      heard();
      onState('live');
      pause = SHORTEST_PAUSE;
      await read(response.body, (event) => {
        lastId = event.id ?? lastId;
        onEvent(event.type, parsed(event.data));
      }, heard);
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error.status === 401) return onState('refused');
    } finally {
      silence.end();
    }
    onState('waiting');
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(LONGEST_PAUSE, pause * 2);
  }
  return undefined;
}
