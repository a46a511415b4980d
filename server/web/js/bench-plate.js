// Several trials at once: a sheet to print, a CSV file to fill in, and the filled file back into the inputs.
import { saveCsv } from './csv.js';
import { readNumber } from './entry.js';
import { h } from './dom.js';
import { readTable } from './spreadsheet.js';
import { actionButton, toast } from './widgets.js';

// Puts the file's values into the inputs of the trials; nothing is sent. -> how many trials were found
export function fillIn(text, metrics, rows) {
  const { titles, rows: cells } = readTable(text);
  const at = (title) => titles.findIndex((t) => t.trim().toLowerCase() === title.toLowerCase());
  const trial = at('trial');
  if (trial < 0) throw new Error('The file has no column “trial”.');
  const byId = new Map(rows.map((row) => [row.trial.id, row]));
  const columns = metrics.map((metric) => ({ metric, place: at(metric.name) })).filter(({ place }) => place >= 0);
  if (!columns.length) throw new Error(`The file has no column “${metrics[0].name}”.`);
  const found = cells.map((line) => ({ line, row: byId.get(readNumber(line[trial] ?? '')) })).filter(({ row }) => row);
  for (const { line, row } of found) {
    row.entry.fill(Object.fromEntries(columns.filter(({ place }) => line[place]?.trim()).map(({ metric, place }) => [metric.name, line[place].trim()])));
    const note = line[at('note')]?.trim();
    if (note) row.note.value = note;
  }
  return found.length;
}

/* -> {element, show(n)}
 *   settings  [{title, of(trial)}]
 *   rows()    the trials with their inputs */
export function plateTools({ study, metrics, settings, rows }) {
  const file = h('input', { type: 'file', accept: '.csv,.txt', class: 'unseen', 'aria-label': 'File with results', tabindex: -1 });
  const print = h('button', { type: 'button', class: 'small', onclick: () => window.print() }, 'Print');
  const save = actionButton('CSV to fill in', { class: 'small' }, async () => {
    const titles = ['trial', ...settings.map((s) => s.title), ...metrics.map((m) => m.name), 'note'];
    saveCsv(`${study.id}-plate.csv`, titles, rows().map((row) => [row.trial.id, ...settings.map((s) => s.of(row.trial)), ...metrics.map(() => ''), '']));
  });
  const open = h('button', { type: 'button', class: 'small', onclick: () => file.click() }, 'Fill in from CSV');
  file.addEventListener('change', async () => {
    const [chosen] = file.files;
    file.value = '';
    if (!chosen) return;
    try {
      const n = fillIn(await chosen.text(), metrics, rows());
      toast(n ? `Filled in ${n} of ${rows().length} trials. Check them, then save.` : 'None of the file’s trials is yours.', n ? 'done' : 'wrong');
    } catch (error) {
      toast(error.message, 'wrong');
    }
  });
  const element = h('span', { class: 'buttons' }, print, save, open, file);
  return {
    element,
    show: (n) => {
      element.hidden = n === 0;
    },
  };
}
