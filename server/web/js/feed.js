// Keeps a page up to date. Events only say what may have changed; the page then reads it again. The reads are limited by
// the time that they take, so that a study with a thousand results per second costs the server and the browser little.
import { get, studyPath } from './api.js';
import { follow } from './events.js';

const POLL = 3000; // ms, if the server sends no events
const RETRY = 3000; // ms after a run that failed
const LONGEST = 10000; // ms between two runs, however long they take

// Returns a function that runs `work`: at once, or after the previous run and a pause. If `work` returns false, it has
// failed for a reason that may pass, and is run again without a request.
export function refresher(work, signal, least = 400) {
  let busy = false;
  let wanted = false;
  async function run() {
    if (signal.aborted) return;
    if (document.hidden) {
      wanted = true;
      busy = false;
      return;
    }
    busy = true;
    wanted = false;
    const begun = performance.now();
    const failed = (await work()) === false;
    wanted ||= failed;
    const pause = failed ? RETRY : Math.min(LONGEST, Math.max(least, 3 * (performance.now() - begun)));
    setTimeout(() => {
      busy = false;
      if (wanted) run();
    }, pause);
  }
  const request = () => {
    if (busy) wanted = true;
    else run();
  };
  document.addEventListener('visibilitychange', () => !document.hidden && wanted && request(), { signal });
  return request;
}

// The parts of a study that an event of each type may change.
const TOUCHED = {
  trial: ['study', 'trials', 'series'],
  batch: ['study', 'batches', 'model', 'trials'],
  state: ['study'],
};

// A study that is shown: its latest definition and counters, and listeners to changes.
export class Feed {
  constructor(id, signal) {
    this.id = id;
    this.signal = signal;
    this.study = null;
    this.state = 'waiting';
    this.listeners = new Map(); // topic -> Set of functions
    this.heardAt = null; // when the server was last heard, in ms
    this.readAgain = refresher(() => this.read().catch((error) => !error.isTemporary), signal);
  }

  on(topic, listener, signal = this.signal) {
    if (!this.listeners.has(topic)) this.listeners.set(topic, new Set());
    this.listeners.get(topic).add(listener);
    signal.addEventListener('abort', () => this.listeners.get(topic).delete(listener));
  }

  emit(topic) {
    for (const listener of this.listeners.get(topic) ?? []) listener();
  }

  async read() {
    this.study = await get(studyPath(this.id), this.signal);
    this.emit('shown');
    if (!this.study.trials_pending) this.emit('model'); // which now includes every result
  }

  touch(topics) {
    for (const topic of topics) {
      if (topic === 'study') this.readAgain();
      this.emit(topic);
    }
  }

  // Reads the study, then follows its events. `study` is set once the promise resolves.
  async start() {
    await this.read();
    follow(studyPath(this.id, '/events'), {
      signal: this.signal,
      onEvent: (type, data) => (data?.state === 'deleted' && type === 'state' ? this.emit('deleted') : this.touch(TOUCHED[type] ?? Object.values(TOUCHED).flat())),
      onState: (state) => this.turn(state),
      onHeard: () => (this.heardAt = Date.now()),
    });
  }

  turn(state) {
    if (this.state === 'waiting' && state === 'live') this.touch(Object.values(TOUCHED).flat());
    this.state = state;
    this.emit('connection');
    if (state !== 'unbuilt' || this.polling) return;
    this.polling = setInterval(() => this.touch(new Set(Object.values(TOUCHED).flat())), POLL);
    this.signal.addEventListener('abort', () => clearInterval(this.polling));
  }
}
