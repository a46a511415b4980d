// Ranges of metrics and parameters that trials are filtered by. The address has them under the server's names:
// min:metric:NAME, max:parameter:NAME.
import { h, setText } from './dom.js';
import { plural } from './format.js';

// Decimal commas are understood. Text that is no number is sent unchanged, and the server says what is wrong.
const plain = (text) => (/^[-+\d.eE,]+$/.test(text) ? text.replace(',', '.').replace(/^\+/, '') : text);

function sides(column, asked, changed) {
  const ends = ['min', 'max'].map((side) => {
    const name = `${side}:${column.key}`;
    const label = `${column.title}, ${side === 'min' ? 'at least' : 'at most'}`;
    const input = column.choices
      ? h('select', { class: 'small', 'aria-label': label }, ['', ...column.choices].map((x) => h('option', { value: String(x), selected: asked.get(name) === String(x) }, String(x) || 'any')))
      : h('input', { type: 'text', class: 'small short', inputmode: 'decimal', 'aria-label': label, placeholder: 'any', value: asked.get(name) ?? '' });
    input.addEventListener('change', changed);
    return { name, input };
  });
  return { ends, row: h('div', { class: 'range' }, h('span', { class: 'range-name' }, column.title), ends[0].input, h('span', {}, 'to'), ends[1].input) };
}

/* columns: those of the table; the ones with a `key` of a metric or parameter get a range.
 * asked: the query of the address; changed() is called after the user has changed a range.
 * -> {element, query()}: what the address and the server get */
export function rangeFilter(columns, asked, changed) {
  const summary = h('summary');
  const rows = columns.filter(({ key }) => /^(metric|parameter):/.test(key)).map((column) => sides(column, asked, () => {
    say();
    changed();
  }));
  const ends = rows.flatMap((row) => row.ends);
  const query = () => Object.fromEntries(ends.map(({ name, input }) => [name, plain(input.value.trim())]).filter(([, value]) => value));
  const clear = h('button', { type: 'button', class: 'small', onclick: () => {
    for (const { input } of ends) input.value = '';
    say();
    changed();
  } }, 'Clear all ranges');

  function say() {
    const given = Object.keys(query()).length;
    setText(summary, given ? `Ranges: ${plural(given, 'bound')}` : 'Ranges');
    clear.disabled = !given;
  }
  say();
  const element = h('details', { class: 'columns', open: Object.keys(query()).length > 0 }, summary, h('div', { class: 'ranges' }, rows.map(({ row }) => row)), clear);
  return { element, query };
}
