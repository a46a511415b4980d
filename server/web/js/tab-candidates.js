// The candidates with what the model knows of them, sorted by the server, a page at a time.
import { get, query, studyPath } from './api.js';
import { axesOf, coordinate } from './axes.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { columnFormat, count, value } from './format.js';
import { here, setQuery } from './router.js';
import { control, empty, guarded, panel, select, table } from './widgets.js';

const PAGE = 50;
const FEATURES = 8; // columns

const ORDERS = [
  ['mean', 'best mean'],
  ['ucb', 'best optimistic bound'],
  ['std', 'largest deviation'],
  ['pulls', 'most pulls'],
  ['candidate', 'number'],
];

export async function candidatesTab(element, feed, signal) {
  const axes = axesOf(feed.study).slice(0, FEATURES);
  const view = panel('Candidates', { wide: true });
  const pager = h('div', { class: 'pager' });
  const asked = here().query.get('sort');
  let sort = ORDERS.some(([name]) => name === asked) ? asked : 'mean';
  let tokens = [undefined]; // of the pages up to this one

  // A column of numbers: the same decimals in all rows.
  function numbers(title, items, of, digits) {
    const text = columnFormat(items.map(of), digits);
    return { title, class: 'right', cell: (c) => text(of(c)) };
  }
  function feature(axis, items) {
    const of = (c) => coordinate(axis, c);
    if (items.every((c) => typeof of(c) === 'number')) return numbers(axis.name, items, of);
    return { title: axis.name, class: 'right', cell: (c) => (of(c) === undefined ? '' : value(of(c))) };
  }
  const columns = (items) => [
    { title: 'Candidate', class: 'right', cell: (c) => (c.candidate === undefined ? '–' : `#${c.candidate}`) },
    numbers('Mean', items, (c) => c.posterior?.mean),
    numbers('Std', items, (c) => c.posterior?.std, 3),
    numbers('Optimistic bound', items, (c) => c.posterior?.ucb),
    { title: 'Pulls', class: 'right', cell: (c) => count(c.pulls) },
    numbers('Mean told', items, (c) => c.mean),
    ...axes.map((axis) => feature(axis, items)),
    { title: 'State', cell: (c) => (c.retired ? h('span', { class: 'muted' }, 'retired') : 'open') },
  ];

  const turn = (text, enabled, change) =>
    h('button', { type: 'button', class: 'small', disabled: !enabled, onclick: () => {
      change();
      read();
    } }, text);

  // Without a model there are pulls only.
  async function readPage() {
    const page = (order) => get(studyPath(feed.id, `/candidates${query({ sort: order, limit: PAGE, page_token: tokens.at(-1) })}`), signal);
    try {
      return await page(sort);
    } catch (error) {
      if (error.status !== 409 || sort === 'pulls') throw error;
      sort = 'pulls';
      order.value = sort;
      return page(sort);
    }
  }

  const read = refresher(
    () =>
      guarded(
        view,
        'a list of candidates',
        async () => {
          const { items, next_page_token: next } = await readPage();
          replace(view.body, items.length ? table('Candidates', columns(items), items) : empty('There are none.'));
          view.note(`As the model of the open batch knows them; ${count(feed.study.candidates)} candidates.`);
          replace(
            pager,
            turn('Back', tokens.length > 1, () => tokens.pop()),
            h('span', {}, `from place ${count((tokens.length - 1) * PAGE + 1)} on`),
            turn('More', next, () => tokens.push(next)),
          );
        },
        signal,
      ),
    signal,
    1500,
  );

  const order = select(ORDERS, sort, (name) => {
    sort = name;
    tokens = [undefined];
    setQuery({ sort });
    read();
  });
  replace(view.tools, control('sorted by', order));
  replace(element, h('div', { class: 'panels' }, view.element), pager);
  feed.on('model', () => tokens.length === 1 && read(), signal);
  read();
}
