// The candidates with the model's predictions, sorted by the server, one page at a time.
import { get, query, studyPath } from './api.js';
import { axesOf, coordinate } from './axes.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { columnFormat, count, percent, plural, titleOf, value } from './format.js';
import { here, setQuery } from './router.js';
import { may } from './role.js';
import { hasBounds, modelledMetrics, objective } from './study-actions.js';
import { addCandidates } from './tab-connect.js';
import { actionButton, control, empty, guarded, panel, select, table, toast } from './widgets.js';

const PAGE = 50;
const FEATURES = 8; // columns

const PREDICTED = [
  ['mean', 'best mean'],
  ['ucb', 'best optimistic bound'],
  ['std', 'largest standard deviation'],
];

// What the list may be sorted by; with several metrics by the predictions of each.
function ordersOf(study) {
  const metrics = modelledMetrics(study);
  const predicted = metrics.length === 1 ? PREDICTED : metrics.flatMap(({ name }) => PREDICTED.filter(([order]) => order !== 'ucb').map(([order, title]) => [`${order}.${name}`, `${title} of ${name}`]));
  const feasible = hasBounds(study) ? [['feasible_probability', 'most probably within all bounds']] : [];
  return [...predicted, ...feasible, ['pulls', 'most pulls'], ['candidate', 'number']];
}

// For who may change the study: a file with more candidates.
function morePanel(feed, done) {
  const view = panel('Add candidates');
  const file = h('input', { type: 'file', accept: '.csv,.json,.npy' });
  const send = actionButton('Add', {}, async () => {
    if (!file.files.length) throw new Error('Choose a file first.');
    const before = feed.study.candidates;
    await addCandidates(feed.study, file.files[0]);
    await feed.read();
    toast(`Added ${plural(feed.study.candidates - before, 'candidate')}.`);
    file.value = '';
    done();
  });
  view.note('They have the same features, and can be chosen from the next batch on. CSV with one candidate per line, JSON {"points": […]}, or NumPy\'s .npy.');
  replace(view.body, h('div', { class: 'upload' }, control('file', file), send));
  return view.element;
}

export async function candidatesTab(element, feed, signal) {
  const axes = axesOf(feed.study).slice(0, FEATURES);
  const view = panel('Candidates', { wide: true });
  const pager = h('div', { class: 'pager' });
  const asked = here().query.get('sort');
  const orders = ordersOf(feed.study);
  let sort = orders.some(([name]) => name === asked) ? asked : orders[0][0];
  let tokens = [undefined]; // the page tokens up to the current page

  const measured = (name) => titleOf({ name, unit: objective(feed.study).unit });
  // A column of numbers with the same number of decimals in all rows.
  function numbers(title, items, of, digits) {
    const text = columnFormat(items.map(of), digits);
    return { title, class: 'right', cell: (c) => text(of(c)) };
  }
  function feature(axis, items) {
    const of = (c) => coordinate(axis, c);
    if (items.every((c) => typeof of(c) === 'number')) return numbers(titleOf(axis), items, of);
    return { title: titleOf(axis), class: 'right', cell: (c) => (of(c) === undefined ? '' : value(of(c))) };
  }
  // With several metrics, two columns for each of them.
  function predicted(items) {
    const metrics = modelledMetrics(feed.study);
    if (metrics.length === 1) {
      return [
        numbers(measured('Mean'), items, (c) => c.posterior?.mean),
        numbers(measured('Std'), items, (c) => c.posterior?.std, 3),
        numbers(measured('Optimistic bound'), items, (c) => c.posterior?.ucb),
      ];
    }
    const of = (c, { name }) => c.posterior?.values[name];
    return metrics.flatMap((metric) => [numbers(titleOf(metric), items, (c) => of(c, metric)?.mean), numbers('Std', items, (c) => of(c, metric)?.std, 3)]);
  }
  const columns = (items) => [
    { title: 'Candidate', class: 'right', cell: (c) => (c.candidate === undefined ? '–' : `#${c.candidate}`) },
    ...(items.some((c) => c.key) ? [{ title: 'Key', cell: (c) => c.key ?? '' }] : []),
    ...predicted(items),
    ...(hasBounds(feed.study) ? [{ title: 'Keeps all bounds', class: 'right', cell: (c) => (c.posterior ? percent(c.posterior.feasible_probability) : '') }] : []),
    { title: 'Pulls', class: 'right', cell: (c) => count(c.pulls) },
    numbers(measured('Mean of reported values'), items, (c) => c.mean),
    ...axes.map((axis) => feature(axis, items)),
    { title: 'State', cell: (c) => (c.retired ? h('span', { class: 'muted' }, 'retired') : 'available') },
  ];

  const turn = (text, enabled, change) =>
    h('button', { type: 'button', class: 'small', disabled: !enabled, onclick: () => {
      change();
      read();
    } }, text);

  // An algorithm without a model has only pulls to sort by.
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
          replace(view.body, items.length ? table('Candidates', columns(items), items) : empty('There are no candidates yet.'));
          view.note(`${count(feed.study.candidates)} candidates, with the model's predictions.`);
          replace(
            pager,
            turn('Previous', tokens.length > 1, () => tokens.pop()),
            h('span', {}, items.length ? `${count((tokens.length - 1) * PAGE + 1)} to ${count((tokens.length - 1) * PAGE + items.length)} of ${count(feed.study.candidates)}` : ''),
            turn('Next', next, () => tokens.push(next)),
          );
        },
        signal,
      ),
    signal,
    1500,
  );

  const order = select(orders, sort, (name) => {
    sort = name;
    tokens = [undefined];
    setQuery({ sort });
    read();
  });
  replace(view.tools, control('sorted by', order));
  const grows = feed.study.domain.type === 'candidates' && feed.study.candidates > 0 && (await may('editor', feed.id));
  replace(element, h('div', { class: 'panels' }, view.element), pager, grows ? h('div', { class: 'panels' }, morePanel(feed, read)) : null);
  feed.on('model', () => tokens.length === 1 && read(), signal);
  read();
}
