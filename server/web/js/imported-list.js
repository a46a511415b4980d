// The results that were imported: a page of them, each with its settings, and a button to correct it.
import { get, query, studyPath } from './api.js';
import { axesOf, coordinate } from './axes.js';
import { correctButton } from './correct.js';
import { h, replace } from './dom.js';
import { errorsOf } from './entry.js';
import { refresher } from './feed.js';
import { ago, columnFormat, count, fullTime, number, titleOf, value } from './format.js';
import { candidateName } from './pending.js';
import { may } from './role.js';
import { objective, otherMetrics } from './study-actions.js';
import { badge, guarded, panel, table } from './widgets.js';

const PAGE = 50;
const PARAMETERS = 12;

// The column of a metric, with the standard errors that were given.
function measured(metrics, i, items) {
  const metric = metrics[i];
  const of = (item) => (i ? item.values?.[metric.name] : item.value);
  const digits = columnFormat(items.map(of));
  const text = (item) => {
    const error = errorsOf(metrics, item)[metric.name];
    return of(item) === undefined ? '–' : `${digits(of(item))}${error === undefined ? '' : ` ± ${number(error, 2)}`}`;
  };
  return { title: titleOf(metric), class: 'right', cell: text };
}

// -> the panel's element; it is hidden while nothing was imported
export function importedPanel(feed, signal) {
  const metrics = [objective(feed.study), ...otherMetrics(feed.study)];
  const axes = axesOf(feed.study).slice(0, PARAMETERS);
  const view = panel('Imported results', { wide: true, note: 'Results that were measured elsewhere. They are not trials.' });
  const pager = h('div', { class: 'pager' });
  const place = h('div');
  const tokens = [undefined];
  let editor = false;
  view.element.hidden = true;
  replace(view.body, place, pager);

  function columnsOf(items) {
    return [
      { title: 'Number', class: 'right', cell: (item) => count(item.observation) },
      { title: 'State', cell: (item) => badge(item.state) },
      ...metrics.map((_, i) => measured(metrics, i, items)),
      ...(feed.study.domain.type === 'space' ? [] : [{ title: 'Candidate', class: 'right', cell: (item) => candidateName(item) }]),
      ...axes.map((axis) => ({ title: titleOf(axis), class: 'right', cell: (item) => value(coordinate(axis, item) ?? '–') })),
      { title: 'Repeats', class: 'right', cell: (item) => count(item.repeats ?? 1) },
      { title: 'Imported', cell: (item) => h('span', { title: fullTime(item.imported_at) }, ago(Date.parse(item.imported_at))) },
      { title: 'Reason', class: 'reason', cell: (item) => item.reason ?? '' },
      ...(editor ? [{ title: 'Correct', cell: (item) => correctButton(feed.study, item, read) }] : []),
    ];
  }

  const turn = (text, enabled, change) => h('button', { type: 'button', class: 'small', disabled: !enabled, onclick: () => {
    change();
    read();
  } }, text);

  const read = refresher(
    () =>
      guarded(
        view,
        'a list of imported results',
        async () => {
          editor = await may('editor', feed.id);
          const page = await get(studyPath(feed.id, `/observations${query({ limit: PAGE, page_token: tokens.at(-1) })}`), signal);
          view.element.hidden = !page.items.length && tokens.length === 1;
          if (view.element.hidden) return;
          replace(place, table('Imported results', columnsOf(page.items), page.items, 'cards'));
          pager.hidden = tokens.length === 1 && !page.next_page_token;
          replace(
            pager,
            turn('Previous', tokens.length > 1, () => tokens.pop()),
            turn('Next', page.next_page_token, () => tokens.push(page.next_page_token)),
          );
        },
        signal,
      ),
    signal,
    3000,
  );
  feed.on('trials', () => !view.body.contains(document.activeElement) && read(), signal);
  read();
  return view.element;
}
