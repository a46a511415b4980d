// Parts that pages are built from.
import { Problem } from './api.js';
import { h, replace, uniqueId } from './dom.js';
import { help } from './help.js';

const STATES = {
  active: 'active',
  paused: 'paused',
  finished: 'finished',
  error: 'error',
  awaiting_candidates: 'awaiting candidates',
};

// The state of a study or a trial: its name, and a mark that differs in shape and colour.
// `amber`: it needs attention.
export function badge(state, amber = false) {
  return h('span', { class: `badge ${state}${amber ? ' amber' : ''}` }, STATES[state] ?? state);
}

// A titled part of a page. -> {element, body, tools, note(text), fail(text | null, keep), wait(on)}
export function panel(title, { wide = false, note = '', tools = [] } = {}) {
  const id = uniqueId('panel');
  const text = h('p', { class: 'panel-note' }, note);
  const body = h('div', { class: 'panel-body' });
  const toolbar = h('div', { class: 'panel-tools' }, tools);
  const failure = h('p', { class: 'empty', hidden: true });
  const waiting = loadingSign();
  waiting.hidden = true;
  const element = h(
    'section',
    { class: `panel${wide ? ' wide' : ''}`, 'aria-labelledby': id },
    h('div', { class: 'panel-head' }, h('div', { class: 'panel-title' }, h('h2', { id }, title), help(title)), toolbar),
    text,
    waiting,
    failure,
    body,
  );
  text.hidden = !note;
  return {
    element,
    body,
    tools: toolbar,
    note(words) {
      text.hidden = !words;
      if (text.textContent !== words) replace(text, words ?? '');
    },
    // Shows the words in place of the body or, with `keep`, above it.
    fail(words, keep = false) {
      failure.hidden = !words;
      body.hidden = Boolean(words) && !keep;
      replace(failure, words ?? '');
    },
    wait(on) {
      waiting.hidden = !on;
    },
  };
}

// Stands where something will be, with its size.
export const loadingSign = () => h('p', { class: 'empty loading' }, 'Loading…');

export function empty(...words) {
  return h('p', { class: 'empty' }, ...words);
}

// Thrown if there is nothing to show, although nothing is wrong.
export class NothingToShow extends Error {}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

// The sentence of a refusal, without the first of its errors, which the server has added to it.
export function headOf(problem) {
  const [first] = problem.errors;
  const end = first ? problem.message.indexOf(first.pointer ? `: ${first.pointer}: ` : `: ${first.detail}`) : -1;
  return capital(end < 0 ? problem.message : problem.message.slice(0, end));
}

// What an error is about, in words: a JSON pointer such as /results/0/value is 'results 1 value'.
function subjectOf(pointer) {
  const steps = pointer.split('/').slice(1).map((step) => (/^\d+$/.test(step) ? String(Number(step) + 1) : step.replaceAll('~1', '/').replaceAll('~0', '~')));
  return (steps[0] === 'parameters' && steps.length > 1 ? steps.slice(1) : steps).join(' ');
}

// A message for the user about why something cannot be shown.
export function reasonOf(error, what) {
  if (!(error instanceof Problem)) return String(error.message ?? error);
  if (error.isUnbuilt) return `This server does not offer ${what}.`;
  const details = error.errors.map(({ pointer, detail }) => `${subjectOf(pointer)} ${detail}`.trim());
  return details.length ? `${headOf(error)}: ${details.join('; ')}` : headOf(error);
}

// A function of a module that is loaded when it is first called.
export function later(load, name) {
  return async (...given) => {
    let module;
    try {
      module = await load();
    } catch {
      throw new Problem(0, { detail: 'A part of the page could not be loaded. Reload it, and check that the server is running.' });
    }
    return module[name](...given);
  };
}

export const SOON = 300; // ms until a panel says that it is loading
const loaded = new WeakSet(); // the panels that have shown something

// Runs `work`. If it fails, the panel shows the error until a later run succeeds: above its body if that has been read
// before and the reason may pass, else in place of it. `panels`: the one panel, or a list of those that `work` fills.
// -> false if it failed for a reason that may pass
export async function guarded(panels, what, work, signal) {
  const all = [panels].flat();
  const timer = setTimeout(() => all.forEach((panel) => panel.wait(!loaded.has(panel))), SOON);
  try {
    await work();
    for (const panel of all) {
      loaded.add(panel);
      panel.fail(null);
    }
    return true;
  } catch (error) {
    if (signal.aborted) return true;
    const passing = error instanceof Problem && error.isTemporary;
    for (const panel of all) panel.fail(reasonOf(error, what), passing && loaded.has(panel));
    if (error instanceof Problem) return !passing;
    if (!(error instanceof NothingToShow)) throw error; // a bug: show it in the console
    return true;
  } finally {
    clearTimeout(timer);
    for (const panel of all) panel.wait(false);
  }
}

const shownAt = new WeakMap(); // toast -> ms
const JUST_NOW = 500; // ms: such a toast is about the action that led to the next page

export function toast(text, kind = 'done') {
  const element = h('p', { class: `toast ${kind}` }, text);
  shownAt.set(element, performance.now());
  document.getElementById('toasts').append(element);
  setTimeout(() => element.remove(), kind === 'wrong' ? 9000 : 4000);
}

// Takes the messages about the page that is left away.
export function clearToasts() {
  for (const element of [...document.getElementById('toasts').children]) if (performance.now() - shownAt.get(element) > JUST_NOW) element.remove();
}

// A button for an action on the server. It is disabled during the action, and a failure is shown.
export function actionButton(label, attributes, work) {
  const button = h('button', { type: 'button', ...attributes }, label);
  button.addEventListener('click', async () => {
    const hadFocus = document.activeElement === button;
    button.disabled = true;
    try {
      await work();
    } catch (error) {
      toast(reasonOf(error, 'this'), 'wrong');
    } finally {
      button.disabled = false;
      if (hadFocus && document.activeElement === document.body) button.focus();
    }
  });
  return button;
}

// A labelled control of a toolbar.
export function control(label, element) {
  element.id ||= uniqueId('control');
  return h('span', { class: 'control' }, h('label', { for: element.id }, label), element);
}

export function select(options, chosen, onchange) {
  const element = h(
    'select',
    { class: 'small' },
    options.map(([value, text]) => h('option', { value, selected: value === chosen }, text)),
  );
  element.addEventListener('change', () => onchange(element.value));
  return element;
}

export function toggle(label, checked, onchange) {
  const id = uniqueId('toggle');
  const input = h('input', { type: 'checkbox', id, checked });
  input.addEventListener('change', () => onchange(input.checked));
  return h('span', { class: 'control' }, input, h('label', { for: id }, label));
}

// A table; columns: [{title, name?, cell(row), class?, sorted?}]; `name` stands for a title that is not text. A wide table scrolls within its box, also by keyboard.
export function table(caption, columns, rows, kind = '') {
  return h(
    'div',
    { class: `scroll ${kind}`, tabindex: 0, role: 'group', 'aria-label': caption },
    h(
      'table',
      {},
      h('caption', { class: 'unseen' }, caption),
      h('thead', {}, h('tr', {}, columns.map((c) => h('th', { scope: 'col', class: c.class, 'aria-sort': c.sorted }, c.title, help(c.title))))),
      h(
        'tbody',
        {},
        rows.map((row) => h('tr', {}, columns.map((c) => h('td', { class: c.class, 'data-title': c.name ?? c.title }, c.cell(row))))),
      ),
    ),
  );
}

// Words for screen readers alone.
export const unseen = (text) => h('span', { class: 'unseen' }, text);

// [[term, description], …]
export function facts(pairs) {
  return h('dl', { class: 'facts' }, pairs.map(([term, text]) => h('div', {}, h('dt', {}, term, help(term)), h('dd', {}, text))));
}

export function legend(entries) {
  return h('ul', { class: 'legend' }, entries.map(([kind, text]) => h('li', { class: `key ${kind}` }, text)));
}
