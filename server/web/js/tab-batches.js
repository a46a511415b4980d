// The planned batches: size, dictionary, width of the confidence bound and seconds to plan.
import { list, studyPath } from './api.js';
import { chart } from './chart.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { columnFormat, count, duration, fullTime } from './format.js';
import { guarded, legend, NothingToShow, panel, table, toggle } from './widgets.js';

const MOST = 3000; // batches drawn
const ROWS = 30;

function columns(batches) {
  const ratio = columnFormat(batches.map((b) => b.ratio), 4);
  const beta = columnFormat(batches.map((b) => b.beta), 4);
  return [
    { title: 'Batch', class: 'right', cell: (b) => count(b.batch) },
    { title: 'Size', class: 'right', cell: (b) => count(b.size) },
    { title: 'Ended by', cell: (b) => b.stop_rule.replace(/_/g, ' ') },
    { title: 'Ratio', class: 'right', cell: (b) => ratio(b.ratio) },
    { title: 'Dictionary', class: 'right', cell: (b) => count(b.dictionary_size) },
    { title: 'β', class: 'right', cell: (b) => beta(b.beta) },
    { title: 'Values', class: 'right', cell: (b) => count(b.observations) },
    { title: 'Update', class: 'right', cell: (b) => duration(b.update_seconds) },
    { title: 'Select', class: 'right', cell: (b) => duration(b.select_seconds) },
    { title: 'Started', cell: (b) => fullTime(b.started_at) },
  ];
}

export async function batchesTab(element, feed, signal) {
  const batches = []; // in ascending order
  const x = { label: 'batch', whole: true, show: count };
  const trials = (log) => ({ label: 'trials', log, ...(log ? {} : { range: (u, low, high) => [0, 1.05 * (high || 1)] }) }); // bars stand on zero
  const sizes = panel('Batch size', {
    tools: [toggle('log', false, (on) => sizePlot.change({ y: trials(on) }))],
  });
  const dictionary = panel('Dictionary size');
  const width = panel('Width of the confidence bound, β');
  const seconds = panel('Seconds to plan', { tools: [legend([['line c-value', 'update'], ['line c-best', 'select']])] });
  const rows = panel('Last batches', { wide: true });
  replace(element, h('div', { class: 'panels' }, sizes.element, dictionary.element, width.element, seconds.element, rows.element));

  const sizePlot = chart(
    sizes.body,
    { label: 'Batch sizes', height: 200, x, y: trials(false), series: [{ label: 'size', colour: 'c-value', kind: 'bars', show: count }] },
    signal,
  );
  const dictionaryPlot = chart(
    dictionary.body,
    { label: 'Dictionary size by batch', height: 200, x, y: { label: 'members' }, series: [{ label: 'members', colour: 'c-best', kind: 'steps', show: count }] },
    signal,
  );
  const betaPlot = chart(
    width.body,
    { label: 'β by batch', height: 200, x, y: { label: 'β' }, series: [{ label: 'β', colour: 'c-third', kind: 'steps' }] },
    signal,
  );
  const secondsPlot = chart(
    seconds.body,
    {
      label: 'Seconds to update the model and to select trials, by batch',
      height: 200,
      x,
      y: { label: 'seconds', log: true },
      series: [
        { label: 'update', colour: 'c-value', show: duration },
        { label: 'select', colour: 'c-best', show: duration },
      ],
    },
    signal,
  );

  // The current batch may still grow, so it is read again with the new batches.
  async function readNew() {
    const known = batches.at(-1)?.batch;
    const after = known === undefined ? feed.study.batch - MOST : known - 1;
    const fresh = await list(studyPath(feed.id, '/batches'), { page_token: after >= 0 ? after : undefined }, signal);
    if (!fresh.length) return;
    while (batches.length && batches.at(-1).batch >= fresh[0].batch) batches.pop();
    batches.push(...fresh);
    batches.splice(0, batches.length - MOST);
  }

  const read = refresher(
    () =>
      guarded(
        [rows, sizes, dictionary, width, seconds],
        'a list of batches',
        async () => {
          await readNew();
          if (!batches.length) throw new NothingToShow('No batches have been planned yet.');
          const numbers = batches.map((b) => b.batch);
          const of = (name) => batches.map((b) => b[name]);
          const positive = (name) => batches.map((b) => (b[name] > 0 ? b[name] : null));
          sizePlot.set([numbers, of('size')]);
          dictionaryPlot.set([numbers, of('dictionary_size')]);
          betaPlot.set([numbers, of('beta')]);
          secondsPlot.set([numbers, positive('update_seconds'), positive('select_seconds')]);
          sizes.note(feed.study.batch > MOST ? `The last ${count(MOST)} of ${count(feed.study.batch)} batches.` : '');
          const last = batches.slice(-ROWS).reverse();
          replace(rows.body, table('Last batches', columns(last), last));
        },
        signal,
      ),
    signal,
  );
  feed.on('batches', read, signal);
  feed.on('trials', read, signal);
  read();
}
