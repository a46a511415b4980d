// Import results that were measured elsewhere from a spreadsheet's CSV file: the columns are chosen on the page, and cells
// that cannot be used are shown in their places.
import { post, studyPath } from './api.js';
import { axesOf } from './axes.js';
import { h, replace } from './dom.js';
import { readNumber } from './entry.js';
import { count, plural, titleOf } from './format.js';
import { objective, otherMetrics } from './study-actions.js';
import { readTable } from './spreadsheet.js';
import { actionButton, control, panel, reasonOf, select, table, toast } from './widgets.js';

const SHOWN = 8; // rows of the preview
const WRONG_SHOWN = 50; // rows with cells that cannot be used
const MOST = 10000; // rows of one request
const YES = ['true', 'yes', '1', 'wahr', 'ja'];
const NO = ['false', 'no', '0', 'falsch', 'nein'];

function booleanOf(text) {
  const word = text.toLowerCase();
  return YES.includes(word) ? true : NO.includes(word) ? false : null;
}

// Reads a cell: {value} or {fault}.
function reader(axis) {
  if (axis.choices?.includes(true) && axis.choices.includes(false))
    return (text) => ({ value: booleanOf(text), fault: booleanOf(text) === null && 'write true or false' });
  if (axis.words)
    return (text) => {
      const value = axis.choices.find((word) => word === text) ?? axis.choices.find((word) => word.toLowerCase() === text.toLowerCase());
      return { value, fault: value === undefined && `write one of ${axis.choices.slice(0, 8).join(', ')}${axis.choices.length > 8 ? ', …' : ''}` };
    };
  return (text) => ({ value: readNumber(text), fault: readNumber(text) === null && 'not a number' });
}

/* What a row must or may have: [{name, needed, instead, read(text), put(observation, value)}]; `instead` names the target
   that will do as well. */
function targetsOf(study) {
  const metric = objective(study);
  const several = otherMetrics(study).length > 0;
  const number = reader({});
  const point =
    study.domain.type === 'space'
      ? axesOf(study).map((axis) => ({ name: axis.name, unit: axis.unit, needed: !axis.condition, read: reader(axis), put: (o, x) => ((o.parameters ??= {})[axis.name] = x) }))
      : [
          { name: 'candidate', needed: true, instead: 'key', read: number, put: (o, x) => (o.candidate = x) },
          { name: 'key', needed: false, read: (text) => ({ value: text }), put: (o, x) => o.candidate === undefined && (o.key = x) },
        ];
  const put = (name) => (several ? (o, x) => ((o.values ??= {})[name] = x) : (o, x) => (o.value = x));
  const error = (name) => (o, x) => ((o.std_errors ??= {})[name] = x);
  return [
    ...point,
    { name: metric.name, unit: metric.unit, also: 'value', needed: true, read: number, put: put(metric.name) },
    ...otherMetrics(study).map(({ name, unit, role }) => ({ name, unit, needed: role !== 'recorded', read: number, put: put(name) })),
    { name: 'repeats', needed: false, read: number, put: (o, x) => (o.repeats = x) },
    ...(metric.name === 'cost' || otherMetrics(study).some(({ name }) => name === 'cost') ? [] : [{ name: 'cost', needed: false, read: number, put: (o, x) => (o.cost = x) }]),
    { name: 'std_error', needed: false, read: number, put: error(metric.name) },
    ...otherMetrics(study).filter(({ role }) => role !== 'recorded').map(({ name }) => ({ name: `std_errors.${name}`, needed: false, read: number, put: error(name) })),
  ];
}

// The place of the target that will do instead of this one; -1: none.
const other = (targets, target) => targets.findIndex(({ name }) => name === target.instead);

// The file's column for each target, by its title; -1: none.
function guess(targets, titles) {
  const plain = titles.map((title) => title.toLowerCase().replace(/\s*[([].*$/, '').trim());
  return targets.map(({ name, also }) => {
    const at = plain.indexOf(name.toLowerCase());
    return at >= 0 || !also ? at : plain.indexOf(also);
  });
}

// -> {observations: [{row, observation}], faults: [{row, target, text, fault}]}; rows count from 2, as in a spreadsheet
function convert(targets, places, rows) {
  const observations = [];
  const faults = [];
  rows.forEach((cells, i) => {
    const observation = {};
    let fine = true;
    const textOf = (t) => (t < 0 || places[t] < 0 ? '' : (cells[places[t]] ?? '').trim());
    targets.forEach((target, t) => {
      const text = textOf(t);
      const needed = target.needed && textOf(other(targets, target)) === '';
      const { value, fault } = text === '' ? { fault: needed && 'is empty' } : target.read(text);
      if (fault) faults.push({ row: i + 2, target: target.name, text, fault });
      else if (text !== '') target.put(observation, value);
      fine &&= !fault;
    });
    if (fine) observations.push({ row: i + 2, observation });
  });
  return { observations, faults };
}

// The panel of the import. done() is called after one.
export function importPanel(feed, done) {
  const { study } = feed;
  const targets = targetsOf(study);
  const view = panel('Import results', { wide: true });
  const file = h('input', { type: 'file', accept: '.csv,.txt,.tsv', 'aria-label': 'File with results' });
  const place = h('div', {});

  function show(name, { titles, rows }) {
    let places = guess(targets, titles);
    const found = h('div', {});
    const options = [['-1', 'not in the file'], ...titles.map((title, i) => [String(i), title || `column ${i + 1}`])];
    const choices = targets.map((target, t) =>
      control(`${titleOf(target)}${target.needed ? '' : ' (optional)'}`, select(options, String(places[t]), (chosen) => {
        places = places.map((at, i) => (i === t ? Number(chosen) : at));
        check();
      })),
    );

    function check() {
      const { observations, faults } = convert(targets, places, rows);
      const missing = targets.filter((target, t) => target.needed && places[t] < 0 && !(places[other(targets, target)] >= 0)).map((target) => target.name);
      const preview = table('Preview', targets.map((target, t) => ({ title: titleOf(target), cell: (cells) => cells[places[t]] ?? '–' })), rows.slice(0, SHOWN));
      const wrong = faults.length
        ? table('Cells that cannot be used', [
          { title: 'Row', class: 'right', cell: (f) => count(f.row) },
          { title: 'Column', cell: (f) => f.target },
          { title: 'Cell', cell: (f) => f.text || h('span', { class: 'muted' }, 'empty') },
          { title: 'Why', cell: (f) => f.fault },
        ], faults.slice(0, WRONG_SHOWN), 'cards')
        : null;
      const bad = rows.length - observations.length;
      const go = actionButton(bad ? `Import ${plural(observations.length, 'row')}, leave out ${count(bad)}` : `Import ${plural(observations.length, 'row')}`, { class: 'primary' }, () => send(observations));
      go.disabled = !observations.length || missing.length > 0;
      replace(
        found,
        h('h3', {}, `The first of ${plural(rows.length, 'row')}`),
        preview,
        missing.length ? h('p', { class: 'notice warning' }, `Choose a column for ${missing.join(', ')}.`) : wrong && [h('h3', {}, 'Cells that cannot be used'), wrong],
        h('div', { class: 'buttons' }, go),
      );
    }

    async function send(observations) {
      try {
        for (let i = 0; i < observations.length; i += MOST)
          await post(studyPath(study.id, '/observations'), { observations: observations.slice(i, i + MOST).map((o) => o.observation) });
      } catch (error) {
        const first = error.errors?.[0];
        const at = /^\/observations\/(\d+)(.*)$/.exec(first?.pointer ?? '');
        throw at ? new Error(`Row ${observations[Number(at[1])].row}${at[2]}: ${first.detail}. Nothing of it was imported.`) : new Error(reasonOf(error, 'imports'));
      }
      toast(`Imported ${plural(observations.length, 'result')}. The model uses them from the next batch on.`);
      replace(place);
      done();
    }

    replace(place, h('h3', {}, `Which column of ${name} is what?`), h('div', { class: 'toolbar' }, choices), found);
    check();
  }

  file.addEventListener('change', async () => {
    const [chosen] = file.files;
    file.value = '';
    if (!chosen) return;
    try {
      show(chosen.name, readTable(await chosen.text()));
    } catch (error) {
      replace(place, h('p', { class: 'notice wrong', role: 'alert' }, error.message));
    }
  });
  view.note('A CSV file as a spreadsheet saves it, with a line of titles. Decimal commas and semicolons are understood.');
  replace(view.body, file, place);
  return view.element;
}
