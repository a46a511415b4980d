// Server-sent events by fetch, because EventSource cannot send a token. After a break the stream continues from the last
// event (Last-Event-ID).
import { problemOf, send } from './api.js';

const SHORTEST_PAUSE = 500; // ms
const LONGEST_PAUSE = 15000;

// Splits a stream of bytes into events {id, type, data}.
async function read(body, take) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  let event = { type: 'message', data: '' };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
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

// Until the signal is aborted, calls onEvent(type, data) for each event, and onState('live' | 'waiting' | 'unbuilt' |
// 'refused') when the state changes. After a break the state is 'live' again, and the server sends the missed events.
export async function follow(path, { onEvent, onState, signal }) {
  let lastId;
  let pause = SHORTEST_PAUSE;
  while (!signal.aborted) {
    await untilVisible();
    const connected = whileVisible(signal);
    try {
      const headers = { Accept: 'text/event-stream', ...(lastId !== undefined && { 'Last-Event-ID': lastId }) };
      const response = await send('GET', path, { headers, signal: connected });
      if (!response.ok) {
        const problem = await problemOf(response);
        if (problem.isUnbuilt) return onState('unbuilt');
        if ([401, 403, 404].includes(problem.status)) return onState('refused');
        throw problem;
      }
      onState('live');
      pause = SHORTEST_PAUSE;
      await read(response.body, (event) => {
        lastId = event.id ?? lastId;
        onEvent(event.type, parsed(event.data));
      });
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error.status === 401) return onState('refused');
    }
    onState('waiting');
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(LONGEST_PAUSE, pause * 2);
  }
  return undefined;
}
