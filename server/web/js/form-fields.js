// Fields of a form that are bound to a JSON document. Each field has a JSON pointer, reads its value from there and
// writes it back. The member of an empty field is left out.
import { h, replace, uniqueId } from './dom.js';
import { help } from './help.js';

function steps(pointer) {
  return pointer.split('/').slice(1).map((step) => step.replace(/~1/g, '/').replace(/~0/g, '~'));
}

export function at(document_, pointer) {
  return steps(pointer).reduce((place, step) => place?.[step], document_);
}

// Creates the objects on the path if they do not exist, and removes them when they become empty.
export function put(document_, pointer, value) {
  const path = steps(pointer);
  const last = path.pop();
  const places = [document_];
  for (const step of path) {
    const place = places.at(-1);
    if (value === undefined && place[step] === undefined) return;
    if (typeof place[step] !== 'object' || place[step] === null) place[step] = {}; // also in place of text that is no JSON yet
    places.push(place[step]);
  }
  if (value !== undefined) {
    places.at(-1)[last] = value;
    return;
  }
  delete places.at(-1)[last];
  for (let i = path.length; i > 0 && Object.keys(places[i]).length === 0; i--) delete places[i - 1][path[i - 1]];
}

// Converts text to values and back. Text that cannot be parsed is sent unchanged, and the server reports the error.
function cellsOf(line) {
  if (!/[;\t]/.test(line)) return line.split(/[,\s]+/);
  return line.split(/[;\t]/).map((cell) => cell.trim().replace(/^([+-]?\d*),(\d+(?:e[+-]?\d+)?)$/i, '$1.$2'));
}

export const KINDS = {
  text: { parse: (text) => text, print: String },
  number: { parse: (text) => (Number.isNaN(Number(text)) ? text : Number(text)), print: String },
  // 1.5, "auto", or a list: 1, 2, 0.5
  numbers: {
    parse: (text) => (text.includes(',') ? text.split(',').map((part) => KINDS.number.parse(part.trim())) : KINDS.number.parse(text)),
    print: (value) => (Array.isArray(value) ? value.join(', ') : String(value)),
  },
  // Texts between commas; one with a comma is in double quotes, and a quote in it is doubled.
  list: {
    parse: (text) =>
      [...text.matchAll(/\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|$)/g)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain.trim()).filter(Boolean),
    print: (value) => value.map((x) => (/[",]/.test(x) ? `"${String(x).replaceAll('"', '""')}"` : x)).join(', '),
  },
  numberList: {
    parse: (text) => text.split(',').map((part) => part.trim()).filter(Boolean).map((part) => KINDS.number.parse(part)),
    print: (value) => value.join(', '),
  },
  labels: {
    parse: (text) => Object.fromEntries(text.split(',').map((part) => part.trim()).filter(Boolean).map((part) => [part.split(':')[0].trim(), part.split(':').slice(1).join(':').trim()])),
    print: (value) => Object.entries(value).map(([key, x]) => `${key}:${x}`).join(', '),
  },
  // [[numbers]], one row per line; blank lines are left out. Between semicolons or tabs a number may have a decimal comma.
  rows: {
    parse: (text) => text.split('\n').map((line) => line.trim()).filter(Boolean).map((line) => cellsOf(line).map((cell) => (cell === '' ? cell : KINDS.number.parse(cell)))),
    print: (value) => value.map((row) => row.join(', ')).join('\n'),
  },
  lines: { parse: (text) => text.split('\n').map((line) => line.trim()).filter(Boolean), print: (value) => value.join('\n') },
  // One text per line; a blank line is null.
  linesOrNull: {
    parse: (text) => text.replace(/\n$/, '').split('\n').map((line) => line.trim() || null),
    print: (value) => value.map((x) => x ?? '').join('\n') + (value.at(-1) === null ? '\n' : ''),
    spaced: true,
  },
  // A word, a number or an object as JSON.
  json: {
    parse: (text) => {
      try {
        return JSON.parse(text);
      } catch {
        return text;
      }
    },
    print: (value) => (typeof value === 'string' ? value : JSON.stringify(value)),
  },
};

/* field({pointer, label, kind, options, hint, placeholder, list}) -> {element, pointer, load, fail}
 *   options  [[value, text], …] makes a select; the values are texts, parsed by `kind`
 *   list     suggestions
 * change() is called after the user has changed the field. */
export class Field {
  constructor(document_, spec, change = () => {}) {
    Object.assign(this, { document: document_, kind: KINDS.text, ...spec });
    const id = uniqueId('field');
    const described = { id, 'aria-describedby': `${id}-error${spec.hint ? ` ${id}-hint` : ''}` };
    if (spec.options) this.input = h('select', described, spec.options.map(([value, text]) => h('option', { value }, text)));
    else if (spec.rows) this.input = h('textarea', { ...described, rows: spec.rows, placeholder: spec.placeholder, spellcheck: 'false' });
    else this.input = h('input', { ...described, type: 'text', placeholder: spec.placeholder, autocomplete: 'off', spellcheck: 'false', inputmode: this.kind === KINDS.number ? 'decimal' : undefined });
    this.error = h('p', { class: 'field-error', id: `${id}-error` });
    this.element = h(
      'div',
      { class: `field ${spec.class ?? ''}`, 'data-pointer': spec.pointer },
      h('div', { class: 'label-line' }, h('label', { for: id }, spec.label), help(spec.label)),
      this.input,
      spec.hint ? h('p', { class: 'hint', id: `${id}-hint` }, spec.hint) : null,
      this.error,
    );
    this.input.addEventListener('input', () => {
      const text = this.input.value.trim();
      put(this.document, this.pointer, text === '' ? undefined : this.kind.parse(this.kind.spaced ? this.input.value : text));
      this.fail(null);
      change();
    });
    this.load();
  }

  load() {
    const value = at(this.document, this.pointer);
    const text = value === undefined || value === null ? '' : this.kind.print(value);
    // A choice that the form does not know is kept and shown.
    if (this.options && text && !this.options.some(([known]) => known === text)) this.input.append(h('option', { value: text }, text));
    this.input.value = text;
  }

  fail(text) {
    replace(this.error, text ?? '');
    if (text) this.input.setAttribute('aria-invalid', 'true');
    else this.input.removeAttribute('aria-invalid');
  }
}

/* A choice between a few cards: radio buttons, each with a title and a sentence.
 *   choices  [[value, title, sentence], …]
 * choose(value) is called when the user takes another one, and writes it. */
export class Choice {
  constructor(document_, { pointer, label, choices }, choose) {
    const id = uniqueId('choice');
    this.pointer = pointer;
    this.error = h('p', { class: 'field-error', id: `${id}-error` });
    const card = ([value, title, sentence], i) =>
      h(
        'label',
        { class: 'choice' },
        h('input', { type: 'radio', name: id, value, checked: value === at(document_, pointer), 'aria-labelledby': `${id}-${i}`, 'aria-describedby': `${id}-${i}-for`, onchange: () => choose(value) }),
        h('b', { id: `${id}-${i}` }, title),
        h('span', { class: 'hint', id: `${id}-${i}-for` }, sentence),
      );
    this.element = h('div', { class: 'row', role: 'radiogroup', 'aria-label': label, 'aria-describedby': this.error.id, 'data-pointer': pointer }, choices.map(card), this.error);
  }

  get input() {
    return this.element.querySelector(':checked');
  }

  fail(text) {
    replace(this.error, text ?? '');
  }
}

// Where messages about a part of the document are shown that belong to none of its fields.
export class Messages {
  constructor(pointer) {
    this.pointer = pointer;
    this.element = h('p', { class: 'field-error', role: 'alert' });
  }

  fail(text) {
    replace(this.element, text ?? '');
  }
}
