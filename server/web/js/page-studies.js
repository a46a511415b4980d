// All studies, each with state, progress, best value, speed and a small chart. Read again every few seconds.
import { getAgain, list } from './api.js';
import { h, replace, setText } from './dom.js';
import { refresher } from './feed.js';
import { ago, clock, count, fullTime, number, percent, titleOf } from './format.js';
import { may } from './role.js';
import { address, here, setQuery } from './router.js';
import { drawnAs, saveButtons } from './save-menu.js';
import { readSeries, speed } from './series.js';
import { failing, needsAttention, troubles } from './health.js';
import { sparkline } from './sparkline.js';
import { actions, hasFront, importedAlone, objective, told } from './study-actions.js';
import { tokenButton } from './token.js';
import { badge, control, empty, later, loadingSign, reasonOf, select, SOON, toast, unseen } from './widgets.js';

const metricColumns = later(() => import('./list-metrics.js'), 'metricColumns');
const bulkActions = later(() => import('./bulk.js'), 'bulkActions');
const AT_ONCE = 100; // studies of one answer; an answer without changes is not sent again
const PAGE = 50; // rows
const SPARKLINE_DOTS = 4; // per pixel, of a saved small chart
const STATES = ['active', 'paused', 'awaiting_candidates', 'finished', 'error'];
const ATTENTION = 'attention'; // a filter, not a state

// What rows are sorted by: [words, of(study, row), whether the largest come first]. Studies without it come last.
const ORDERS = {
  recent: ['last changed', (s) => s.updated_at, true],
  name: ['name', (s) => (s.display_name || s.id).toLowerCase(), false],
  state: ['state', (s) => s.state, false],
  trials: ['most trials', told, true],
  best: ['best value', (s) => s.best?.value, true],
  speed: ['trials per minute', (s, row) => row?.rate || undefined, true],
};
const usual = (order) => (ORDERS[order] ?? [null, null, true])[2];

// A comparison by what `of` says; equal ones by id.
function comparison(of, descending) {
  const compare = (x, y) => (typeof x === 'string' ? x.localeCompare(y, undefined, { numeric: true }) : x - y);
  return (a, b) => {
    const [x, y] = [of(a), of(b)];
    if (x === undefined || y === undefined) return (x === undefined) - (y === undefined) || a.id.localeCompare(b.id);
    return (descending ? -1 : 1) * compare(x, y) || a.id.localeCompare(b.id);
  };
}

// Whether every word occurs in the id, the name or a label (as key:value).
function matches(study, words) {
  const labels = Object.entries(study.labels ?? {}).map(([key, value]) => `${key}:${value}`);
  const text = [study.id, study.display_name ?? '', ...labels].join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}

function progressCell(study) {
  const done = told(study);
  const imported = importedAlone(study);
  if (!study.horizon) return h('span', { class: 'figure' }, count(imported || done), h('small', {}, imported ? ' imported' : ' reported'));
  return h(
    'span',
    { class: 'progress' },
    h('progress', { max: study.horizon, value: done, 'aria-label': `progress of ${study.id}` }),
    h('small', {}, `${count(done)} of ${count(study.horizon)} (${percent(done / study.horizon)})${imported ? `, ${count(imported)} imported` : ''}`),
  );
}

function bestCell(study) {
  if (hasFront(study)) {
    const names = study.metrics.filter(({ role }) => role === 'objective').map(titleOf);
    return [h('span', { class: 'figure' }, study.observations ? 'a front' : '–'), h('small', {}, names.join(', '))];
  }
  const metric = objective(study);
  const best = h('span', { class: 'figure' }, study.best ? number(study.best.value) : '–');
  return [best, h('small', {}, `${titleOf(metric)}, ${metric.goal === 'minimize' ? 'min' : 'max'}`)];
}

// One row. It is changed in place, so that it keeps the focus.
class Row {
  constructor(done, ticked) {
    this.done = done;
    this.box = h('input', { type: 'checkbox', onchange: () => ticked(this.box.checked) });
    this.tick = h('td', { class: 'tick' }, this.box);
    this.name = h('th', { scope: 'row' });
    this.state = h('td');
    this.progress = h('td', { class: 'wide-cell' });
    this.best = h('td', { class: 'right' });
    this.speed = h('td', { class: 'right not-phone' });
    this.course = h('td', { class: 'not-phone' });
    this.updated = h('td', { class: 'not-phone muted' });
    this.metrics = []; // cells of the chosen metrics
    this.buttons = h('td', { class: 'row-actions' });
    this.element = h('tr', {}, this.tick, this.name, this.state, this.progress, this.best, this.speed, this.course, this.updated, this.buttons);
  }

  show(study) {
    this.box.setAttribute('aria-label', `Tick ${study.id}`);
    setText(this.updated, ago(Date.parse(study.updated_at)));
    this.updated.title = fullTime(study.updated_at);
    const words = troubles(study);
    const text = JSON.stringify([study, words]);
    if (text === this.text) return;
    this.text = text;
    const labels = Object.entries(study.labels ?? {});
    replace(
      this.name,
      h('a', { href: address('studies', study.id) }, study.display_name || study.id),
      study.display_name ? h('small', { class: 'id' }, study.id) : null,
      labels.map(([key, value]) => h('small', { class: 'label' }, `${key}: ${value}`)),
    );
    replace(
      this.state,
      badge(study.state, words.length > 0),
      words.map((word) => h('small', { class: 'attention' }, word)),
      study.trials_pending ? h('small', {}, `${count(study.trials_pending)} pending`) : null,
    );
    replace(this.progress, progressCell(study));
    if (study.trials_failed && !failing(study)) this.progress.append(h('small', {}, `${count(study.trials_failed)} failed (${percent(study.trials_failed / told(study))})`));
    replace(this.best, bestCell(study));
    if (this.shownState !== study.state) actions(study, this.done).then((buttons) => this.showActions(study.id, buttons));
    this.shownState = study.state;
  }

  // The first action is shown, the others are unfolded, and so are those that save the small chart.
  showActions(id, [first, ...others]) {
    const menu = h('details', { class: 'menu' });
    const save = saveButtons(() => `best so far of ${id}`, ...drawnAs(() => this.course.querySelector('svg.sparkline[role]'), SPARKLINE_DOTS), () => (menu.open = false), (kind) => `Chart as ${kind}`);
    replace(menu, h('summary', { class: 'button small', 'aria-label': `More actions on ${id}` }, '⋯'), h('div', { class: 'buttons' }, others, save));
    replace(this.buttons, h('div', { class: 'buttons' }, first, menu));
  }

  // Reads the series if new values have been reported.
  async readSeries(study, signal) {
    if (this.observations !== study.observations) {
      this.points = (await readSeries(study.id, 80, signal)).items;
      this.observations = study.observations;
      replace(this.course, sparkline(this.points));
    }
    this.rate = study.state === 'active' ? speed(this.points) : 0;
    setText(this.speed, this.rate > 0 ? number(this.rate, 3) : '–');
  }

  // The values of chosen metrics, in cells after the best.
  showMetrics(texts) {
    if (JSON.stringify(texts) === JSON.stringify(this.metrics.map((cell) => cell.textContent))) return;
    for (const cell of this.metrics) cell.remove();
    this.metrics = texts.map((text) => h('td', { class: 'right figure' }, text));
    this.best.after(...this.metrics);
  }
}

export async function studiesPage(main, { signal }) {
  const { query: asked } = here();
  const filter = { q: asked.get('q') ?? '', state: asked.get('state') ?? '', order: asked.get('order') ?? 'recent', turned: asked.get('turned') === '1', page: Math.max(0, Number(asked.get('page') ?? 1) - 1) };
  const rows = new Map(); // id -> Row
  const ticked = new Set(); // ids
  let studies = [];
  let seriesUnbuilt = false;
  let readAt = null; // when the list was read

  const search = h('input', { type: 'search', class: 'small', placeholder: 'name or label:value', value: filter.q });
  const body = h('tbody');
  const summary = h('p', { class: 'summary', 'aria-live': 'polite' });
  const pager = h('div', { class: 'pager' });
  const nothing = h('div');
  const create = h('a', { class: 'button primary', href: '#/new', hidden: true }, 'New study');
  may('editor').then((allowed) => {
    create.hidden = !allowed;
    if (!studies.length) draw();
  });
  const trouble = h('p', { class: 'notice wrong', role: 'alert', hidden: true });
  const head = h('tr');
  const tableElement = h(
    'div',
    { class: 'scroll panel flush', tabindex: 0, role: 'group', 'aria-label': 'Studies' },
    h(
      'table',
      { class: 'studies' },
      h('caption', { class: 'unseen' }, 'Studies'),
      h('thead', {}, head),
      body,
    ),
  );

  function changed(page = 0) {
    filter.page = page;
    setQuery({ q: filter.q, state: filter.state, order: filter.order === 'recent' ? '' : filter.order, turned: filter.turned ? '1' : '', metrics: metrics?.chosen().map(encodeURIComponent).join(',') ?? asked.get('metrics') ?? '', page: page ? page + 1 : '' });
    draw();
  }
  function sortBy(order, turned = false) {
    Object.assign(filter, { order, turned });
    orderChoice.querySelector('select').value = order;
    changed();
  }

  // The titles; a click on one sorts by it, another one the other way round.
  function drawHead() {
    const sorted = (text, order, kind = '') => {
      const now = filter.order === order;
      const descending = usual(order) !== filter.turned;
      const title = h('button', { type: 'button', class: 'link sort', onclick: () => sortBy(order, now && !filter.turned) }, `${text}${now ? (descending ? ' ▼' : ' ▲') : ''}`);
      return h('th', { scope: 'col', class: kind, 'aria-sort': now ? (descending ? 'descending' : 'ascending') : null }, title);
    };
    const focused = head.contains(document.activeElement) ? document.activeElement.textContent.replace(/ [▲▼]$/, '') : null;
    replace(
      head,
      h('th', { scope: 'col' }, unseen('Tick')),
      sorted('Study', 'name'),
      sorted('State', 'state'),
      sorted('Progress', 'trials', 'wide-cell'),
      sorted('Best', 'best', 'right'),
      (metrics?.chosen() ?? []).map((name) => sorted(name, `metric:${name}`, 'right')),
      sorted('Trials/min', 'speed', 'right not-phone'),
      h('th', { scope: 'col', class: 'not-phone' }, 'Best so far'),
      sorted('Changed', 'recent', 'not-phone'),
      h('th', { scope: 'col' }, unseen('Actions')),
    );
    if (focused) [...head.querySelectorAll('button')].find((b) => b.textContent.replace(/ [▲▼]$/, '') === focused)?.focus();
  }

  // The metrics that have a column of their own, once somebody wants one.
  let metrics = null;
  const metricsPlace = h('details', { class: 'columns', hidden: true }, h('summary', {}, 'Metrics'));
  async function showMetricColumns() {
    try {
      metrics ??= await metricColumns((asked.get('metrics') ?? '').split(',').filter(Boolean).map(decodeURIComponent), changed, signal);
      if (metrics.element.parentNode !== metricsPlace) metricsPlace.append(metrics.element);
      metrics.offer(studies);
    } catch (error) {
      toast(reasonOf(error, 'columns of metrics'), 'wrong');
    }
  }
  metricsPlace.addEventListener('toggle', () => metricsPlace.open && showMetricColumns());
  search.addEventListener('input', () => {
    filter.q = search.value;
    changed();
  });

  function pages(n) {
    const last = Math.max(0, Math.ceil(n / PAGE) - 1);
    filter.page = Math.min(filter.page, last);
    const step = (by, text) =>
      h('button', { type: 'button', class: 'small', disabled: filter.page + by < 0 || filter.page + by > last, onclick: () => changed(filter.page + by) }, text);
    replace(pager, last ? [step(-1, 'Previous'), h('span', {}, `page ${filter.page + 1} of ${last + 1}`), step(1, 'Next')] : []);
  }

  const bulkPlace = h('div');
  let bulk = null; // a promise, once a study has been ticked
  async function showBulk() {
    if (!bulk && !ticked.size) return;
    bulk ??= bulkActions(() => studies.filter((study) => ticked.has(study.id)), () => read());
    try {
      const { element, show } = await bulk;
      if (!element.isConnected) replace(bulkPlace, element);
      show();
    } catch (error) {
      bulk = null;
      toast(reasonOf(error, 'this'), 'wrong');
    }
  }

  function draw() {
    if (!readAt) return null; // nothing is known of the studies
    showBulk();
    const words = filter.q.toLowerCase().split(/\s+/).filter(Boolean);
    const found = studies.filter((s) => (!filter.state || (filter.state === ATTENTION ? needsAttention(s) : s.state === filter.state)) && matches(s, words));
    metricsPlace.hidden = !studies.some((s) => s.metrics?.length > 1);
    const [, of] = metrics?.order(filter.order) ?? ORDERS[filter.order] ?? ORDERS.recent;
    found.sort(comparison((s) => of(s, rows.get(s.id)), usual(filter.order) !== filter.turned));
    drawHead();
    pages(found.length);
    const visible = found.slice(filter.page * PAGE, (filter.page + 1) * PAGE);
    for (const study of visible) {
      if (!rows.has(study.id))
        rows.set(study.id, new Row(read, (on) => {
          if (on) ticked.add(study.id);
          else ticked.delete(study.id);
          showBulk();
        }));
      rows.get(study.id).show(study);
      rows.get(study.id).showMetrics(metrics?.texts(study) ?? []);
    }
    const elements = visible.map((study) => rows.get(study.id).element);
    if (elements.length !== body.children.length || elements.some((e, i) => body.children[i] !== e)) replace(body, elements);
    tableElement.hidden = !visible.length;
    const active = studies.filter((s) => s.state === 'active').length;
    const alarms = studies.filter(needsAttention).length;
    const pending = studies.reduce((sum, s) => sum + s.trials_pending, 0);
    const all = `${count(studies.length)} ${studies.length === 1 ? 'study' : 'studies'}, ${count(active)} active, ${count(pending)} trials pending${alarms ? `, ${count(alarms)} need${alarms === 1 ? 's' : ''} attention` : ''}`;
    setText(summary, found.length === studies.length ? all : `${count(found.length)} of ${all}`);
    if (visible.length) replace(nothing);
    else if (studies.length) replace(nothing, empty('No studies match.'));
    else replace(nothing, empty('There are no studies yet.', create.hidden ? null : [' ', h('a', { href: '#/new' }, 'Create the first one'), '.']));
    if (metrics?.chosen().length) metrics.read(found).then((any) => any && !signal.aborted && draw());
    return readCourses(visible);
  }

  async function readCourses(visible) {
    const queue = [...visible];
    const worker = async () => {
      for (let study = queue.shift(); study && !seriesUnbuilt && !signal.aborted; study = queue.shift())
        try {
          await rows.get(study.id)?.readSeries(study, signal);
        } catch (error) {
          seriesUnbuilt ||= Boolean(error.isUnbuilt); // without series, the columns stay empty
        }
    };
    await Promise.all([worker(), worker(), worker()]);
  }

  const waiting = setTimeout(() => replace(nothing, loadingSign()), SOON);
  signal.addEventListener('abort', () => clearTimeout(waiting));
  const read = refresher(async () => {
    try {
      const damaged = [];
      studies = await list('v1/studies', { limit: AT_ONCE }, signal, Infinity, damaged, getAgain).finally(() => clearTimeout(waiting));
      if (signal.aborted) return true;
      readAt = Date.now();
      if (metricsPlace.open || (asked.get('metrics') && !metrics)) await showMetricColumns();
      trouble.hidden = !damaged.length;
      setText(trouble, `These studies are damaged in the database: ${damaged.join(', ')}. Run banditd check for details.`);
      await draw();
    } catch (error) {
      if (signal.aborted) return true;
      trouble.hidden = false;
      replace(trouble, reasonOf(error, 'a list of studies'), readAt ? ` Shown: the state of ${clock(readAt)}. ` : ' ', error.status === 401 ? tokenButton({ class: 'small' }) : error.isTemporary ? 'Trying again…' : '');
      if (!readAt) replace(nothing);
      return !error.isTemporary;
    }
    return true;
  }, signal, 1000);

  const orderChoice = control('Order', select(Object.entries(ORDERS).map(([key, [text]]) => [key, text]), filter.order, (order) => sortBy(order)));
  replace(
    main,
    h(
      'div',
      { class: 'page-head' },
      h('h1', {}, 'Studies'),
      create,
    ),
    h(
      'div',
      { class: 'toolbar' },
      control('Filter', search),
      control('State', select([['', 'any'], [ATTENTION, 'needs attention'], ...STATES.map((s) => [s, s.replace('_', ' ')])], filter.state, (state) => {
        filter.state = state;
        changed();
      })),
      orderChoice,
      summary,
    ),
    trouble,
    nothing,
    metricsPlace,
    bulkPlace,
    tableElement,
    pager,
  );
  tableElement.hidden = true;
  read();
  const timer = setInterval(() => read(), 3000);
  signal.addEventListener('abort', () => clearInterval(timer));
}
