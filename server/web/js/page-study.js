// One study: state, figures and actions at the top, and below them one of the tabs.
import { h, replace, setText } from './dom.js';
import { Feed, refresher } from './feed.js';
import { ago, clock, count, duration, fullTime, number, percent, withUnit } from './format.js';
import { troubles } from './health.js';
import { help } from './help.js';
import { address, go, here } from './router.js';
import { actions, hasFront, importedAlone, NONE_KEEPS_BOUNDS, objective, told } from './study-actions.js';
import { readSharedSeries, speed } from './series.js';
import { currentToken, tokenButton } from './token.js';
import { badge, empty, later, loadingSign, reasonOf, SOON } from './widgets.js';

const MOVED = { batches: 'algorithm', model: 'algorithm' }; // former addresses

// [address, title, module, function]: the function is called with (element, feed, signal) and fills the element.
const TABS = [
  ['', 'Overview', () => import('./tab-overview.js'), 'overviewTab'],
  ['trials', 'Trials', () => import('./tab-trials.js'), 'trialsTab'],
  ['bench', 'Bench', () => import('./tab-bench.js'), 'benchTab'],
  ['workers', 'Workers', () => import('./tab-workers.js'), 'workersTab'],
  ['insights', 'Insights', () => import('./tab-insights.js'), 'insightsTab'],
  ['posterior', 'Slices and maps', () => import('./tab-posterior.js'), 'posteriorTab'],
  ['parallel', 'Parallel', () => import('./tab-parallel.js'), 'parallelTab'],
  ['candidates', 'Candidates', () => import('./tab-candidates.js'), 'candidatesTab'],
  ['algorithm', 'Algorithm', () => import('./tab-algorithm.js'), 'algorithmTab'],
  ['connect', 'Connect', () => import('./tab-connect.js'), 'connectTab'],
];

const CONNECTION = {
  live: ['live', 'Live: changes are shown as they happen'],
  waiting: ['reconnecting', 'The connection was lost; trying to reconnect'],
  opening: ['connecting', 'Connecting'],
  unbuilt: ['polling', 'This server sends no events; the page is updated every 3 s'],
  refused: ['not live', 'The server refuses to send events; reload the page to see changes'],
};

function tile(label) {
  const value = h('dd', {}, '–');
  const note = h('dd', { class: 'tile-note' });
  return { element: h('div', { class: 'tile' }, h('dt', {}, label, help(label)), value, note), value, note };
}

// What the tile of the best value says if that is no trial's.
function withoutTrial(study) {
  if (study.best) return `imported value ${count(study.best.observation)}`;
  if (!study.observations) return 'no values yet';
  return hasFront(study) ? 'several objectives' : NONE_KEEPS_BOUNDS.toLowerCase();
}

function head(feed, signal) {
  const tiles = {
    best: tile('Best measured'),
    told: tile('Reported'),
    pending: tile('Pending'),
    speed: tile('Trials/min'),
    batch: tile('Batches'),
    changed: tile('Changed'),
  };
  const title = h('div', { class: 'study-title' });
  const buttons = h('div', { class: 'buttons' });
  const sign = h('span');
  const labels = h('div', { class: 'labels' });
  const note = h('p', { class: 'study-note', hidden: true });
  const connection = h('span', { class: 'connection' });
  const trouble = h('div');
  const stale = h('div');
  const alarm = h('div');
  let deleted = false;
  let shownState = null;
  let shownReason = null;

  function done(what) {
    if (what === 'deleted') go('#/');
    else feed.read();
  }

  function show() {
    const study = feed.study;
    const text = study.display_name || study.id;
    if (!title.firstChild) replace(title, h('h1'), h('p', { class: 'subtitle' }), labels, note);
    setText(title.firstChild, text);
    note.hidden = !study.metadata?.note;
    setText(note, study.metadata?.note ? String(study.metadata.note) : '');
    const chips = Object.entries(study.labels ?? {}).map(([key, value]) => `${key}: ${value}`);
    if (labels.textContent !== chips.join('')) replace(labels, chips.map((chip) => h('small', { class: 'label' }, chip)));
    setText(title.children[1], `${study.display_name ? `${study.id} · ` : ''}${aims(study)} · ${study.algorithm.name}`);
    setText(tiles.best.value, study.best ? withUnit(number(study.best.value), objective(study).unit) : hasFront(study) && study.observations ? 'a front' : '–');
    const trial = study.best?.trial;
    if (trial && tiles.best.note.dataset.trial !== String(trial)) replace(tiles.best.note, h('a', { href: address('studies', study.id, 'trials', trial) }, `trial ${count(trial)}`));
    else if (!trial) setText(tiles.best.note, withoutTrial(study));
    tiles.best.note.dataset.trial = String(trial);
    const n = told(study);
    setText(tiles.told.value, count(n));
    setText(tiles.told.note, [study.horizon ? `of ${count(study.horizon)}, ${percent(n / study.horizon)}` : '', failures(study), importedAlone(study) ? `${count(study.observations)} imported` : ''].filter(Boolean).join('; ') || 'no horizon');
    replace(alarm, alarms(study));
    showSpeed();
    setText(tiles.pending.value, count(study.trials_pending));
    setText(tiles.pending.note, study.trials_queued ? `${count(study.trials_queued)} queued` : 'none queued');
    setText(tiles.batch.value, count(study.batch));
    setText(tiles.batch.note, `${count(study.observations)} values`);
    setText(tiles.changed.value, ago(Date.parse(study.updated_at)));
    setText(tiles.changed.note, `created ${ago(Date.parse(study.created_at))}`);
    tiles.changed.element.title = fullTime(study.updated_at);
    if (shownState === null) readSpeed();
    const amber = troubles(study).length > 0;
    sign.replaceChildren(badge(study.state, amber));
    if (shownState !== study.state) {
      actions(study, done).then((allowed) => replace(buttons, allowed));
    }
    const why = JSON.stringify([study.state, study.state_reason]);
    if (shownReason !== why) replace(trouble, stateNotice(study));
    shownReason = why;
    shownState = study.state;
    showConnection();
  }

  // No time is left to tell while no results come.
  function showSpeed() {
    if (!points.length) return;
    const { study } = feed;
    const rate = study.state === 'active' ? speed(points) : 0;
    setText(tiles.speed.value, rate > 0 ? number(rate, 3) : '–');
    const left = study.horizon - told(study);
    const last = Math.max(...points.map((p) => Date.parse(p.told_at)));
    setText(tiles.speed.note, rate > 0 && left > 0 ? `about ${duration((60 * left) / rate)} left` : rate > 0 ? 'in the last 5 min' : `last result ${ago(last)}`);
  }

  let points = []; // the series
  const readSpeed = refresher(async () => {
    try {
      points = (await readSharedSeries(feed.id, signal)).items;
      showSpeed();
    } catch {
      // The figure stays empty.
    }
  }, signal, 2000);

  function showConnection() {
    const [word, sentence] = CONNECTION[feed.state === 'waiting' && !feed.heardAt ? 'opening' : feed.state];
    connection.className = `connection ${feed.state}`;
    setText(connection, deleted ? 'deleted' : word);
    connection.title = sentence;
    connection.hidden = feed.state === 'live' && feed.study?.state === 'finished'; // nothing will change
    for (const button of buttons.querySelectorAll('button')) button.disabled = feed.state === 'waiting' && Boolean(feed.heardAt);
    const lost = feed.heardAt && ['waiting', 'refused'].includes(feed.state) && !document.hidden && !deleted;
    replace(stale, lost ? h('p', { class: 'notice wrong', role: 'alert' }, `Last update ${clock(feed.heardAt)}. `, feed.state === 'waiting' ? 'Reconnecting…' : [currentToken() ? 'The token is no longer accepted. ' : 'The server requires a token. ', tokenButton({ class: 'small' })]) : null);
  }

  feed.on('shown', show);
  feed.on('deleted', () => {
    deleted = true;
    replace(buttons);
    replace(trouble, h('p', { class: 'notice wrong', role: 'alert' }, 'This study has been deleted. ', h('a', { href: '#/' }, 'All studies')));
    showConnection();
  });
  feed.on('series', readSpeed);
  feed.on('connection', showConnection);
  const timer = setInterval(() => feed.study && !deleted && show(), 5000);
  signal.addEventListener('abort', () => clearInterval(timer));
  showConnection();
  return h(
    'div',
    { class: 'study-head' },
    h('div', { class: 'page-head' }, title, h('div', { class: 'buttons' }, connection, sign, buttons)),
    stale,
    trouble,
    alarm,
    h('dl', { class: 'tiles' }, Object.values(tiles).map((t) => t.element)),
  );
}

// Why the study is in its state, and what it takes to go on; null if there is nothing to say.
function stateNotice(study) {
  if (study.state === 'awaiting_candidates')
    return h('p', { class: 'notice' }, 'This study needs its candidates: ', h('a', { href: address('studies', study.id, 'connect') }, 'upload them'), '.');
  if (!study.state_reason) return null;
  if (study.state === 'error') return h('p', { class: 'notice wrong', role: 'alert' }, study.state_reason);
  return h('p', { class: 'notice' }, `Finished by its rule ${study.state_reason}. While the rule holds, it ends a reopened study again: change it with Edit….`);
}

// What needs attention, amber.
function alarms(study) {
  const words = troubles(study);
  if (!words.length) return null;
  const sentence = `${words[0][0].toUpperCase()}${words.join('; ').slice(1)}. `;
  return h('p', { class: 'notice warning' }, h('strong', {}, 'Needs attention: '), sentence, study.trials_failed ? h('a', { href: `${address('studies', study.id, 'trials')}?state=failed` }, 'Failed trials') : null);
}

// What the study is for, in words.
function aims(study) {
  const objectives = (study.metrics ?? [objective(study)]).filter((metric) => (metric.role ?? 'objective') === 'objective');
  return objectives.map(({ goal, name }) => `${goal} ${name}`).join(', ');
}

function failures(study) {
  const parts = ['failed', 'infeasible', 'stopped'].filter((state) => study[`trials_${state}`]);
  return parts.map((state) => `${count(study[`trials_${state}`])} ${state}${state === 'failed' ? ` (${percent(study.trials_failed / told(study))})` : ''}`).join(', ');
}

function indexOf(parts) {
  return TABS.findIndex(([slug]) => slug === (MOVED[parts[2]] ?? parts[2] ?? ''));
}

function tabAt(parts) {
  if (parts[2] === 'trials' && parts[3]) return later(() => import('./page-trial.js'), 'trialPage');
  const [, , load, name] = TABS[indexOf(parts)];
  return later(load, name);
}

export async function studyPage(main, { parts, signal }) {
  const id = parts[1];
  const feed = new Feed(id, signal);
  const top = head(feed, signal);
  TABS[indexOf(parts)]?.[2]().catch(() => {}); // loaded while the study is read; a failure shows when it is opened
  await feed.start();
  const content = h('div', { class: 'tab-content' });
  const links = TABS.map(([slug, text]) => h('a', { href: slug ? address('studies', id, slug) : address('studies', id) }, text));
  replace(main, top, h('nav', { class: 'tabs', 'aria-label': 'Parts of the study' }, links), content);

  let leaving = new AbortController();
  signal.addEventListener('abort', () => leaving.abort());
  async function showTab() {
    const { parts: now } = here();
    if (now[0] !== 'studies' || now[1] !== id) return;
    const index = indexOf(now);
    leaving.abort();
    leaving = new AbortController();
    const { signal: tabSignal } = leaving;
    links.forEach((link, i) => (i === index ? link.setAttribute('aria-current', 'page') : link.removeAttribute('aria-current')));
    links[index]?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    if (index < 0) return replace(content, empty('This tab does not exist.'));
    document.title = `${TABS[index][1]} · ${id} · banditd`;
    const place = h('div'); // of its own: a tab that is loaded late must not draw over the next one
    replace(content, place);
    const waiting = setTimeout(() => place.firstChild || replace(place, loadingSign()), SOON);
    try {
      await tabAt(now)(place, feed, tabSignal, now[3]);
    } catch (error) {
      if (!tabSignal.aborted) replace(place, empty(reasonOf(error, 'this')));
    } finally {
      clearTimeout(waiting);
    }
    return undefined;
  }
  addEventListener('hashchange', showTab, { signal });
  await showTab();
}
