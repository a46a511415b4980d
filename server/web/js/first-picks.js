// What a study and its fork chose after they parted, side by side: after the report of a trial, or, of a fork of all that
// there was, after the trials up to a number. #/compare?studies=a,b&after=TRIAL or &from=NUMBER
import { get, list, post, studyPath } from './api.js';
import { axesOf, coordinate } from './axes.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { count, number, titleOf, value, withUnit } from './format.js';
import { candidateName } from './pending.js';
import { may } from './role.js';
import { address } from './router.js';
import { objective } from './study-actions.js';
import { actionButton, empty, guarded, panel, table, toast } from './widgets.js';

const PICKS = 5;
const PAGE = 100; // trials read at once
const SETTINGS = 8; // in a column

// Whether a trial was not handed out before a time. The list has its last attempt only, the trial itself has all.
async function isLater(study, trial, time, signal) {
  if (!trial.issued_at) return true;
  if (Date.parse(trial.issued_at) < time) return false;
  const { attempts } = await get(studyPath(study.id, `/trials/${trial.id}`), signal);
  return attempts.every(({ issued_at: at }) => Date.parse(at) >= time);
}

// The first trials that a study handed out after it had parted from the other one. Trials are reported in any order, so
// others with higher numbers than that of the report may have been in flight at that time, and the fork has copies of them.
//   start  {after, time}: the number of a trial, and when it was reported; null without a report
async function picksOf(study, { after, time }, signal) {
  // A fork with another definition has the earlier results as imported ones, and its own trials begin with number 1.
  if (study.history_from || !time) return list(studyPath(study.id, '/trials'), { page_token: (!study.history_from && after) || undefined }, signal, PICKS);
  const picks = [];
  let last = after;
  for (;;) {
    const page = await list(studyPath(study.id, '/trials'), { page_token: last || undefined }, signal, PAGE);
    for (const trial of page) {
      if (await isLater(study, trial, time, signal)) picks.push(trial);
      if (picks.length === PICKS) return picks;
    }
    if (page.length < PAGE) return picks;
    last = page.at(-1).id;
  }
}

const text = (x) => (x === undefined ? '–' : typeof x === 'number' ? number(x, 4) : value(x));

// The settings of a pick, those that differ from the other study's pick in bold.
function settings(study, pick, other) {
  const named = study.domain.type === 'space' ? [] : [['candidate', candidateName(pick), other && candidateName(other)]];
  const rows = [...named, ...axesOf(study).slice(0, SETTINGS).map((axis) => [titleOf(axis), text(coordinate(axis, pick)), other && text(coordinate(axis, other))])];
  return rows.map(([name, now, there], i) => [i ? ', ' : '', h('span', { class: 'muted' }, `${name} `), there === undefined || there === now ? now : h('b', {}, now)]);
}

function pickCell(study, pick, other) {
  if (!pick) return '–';
  return [h('a', { href: address('studies', study.id, 'trials', pick.id) }, `trial ${count(pick.id)}`), ': ', settings(study, pick, other), pick.value === undefined ? null : h('small', {}, ` gave ${withUnit(number(pick.value), objective(study).unit)}`)];
}

const same = (a, b) => JSON.stringify(a.parameters ?? a.candidate) === JSON.stringify(b.parameters ?? b.candidate);

// The values of what the server does not choose, as the other study's first pick has them, or its last trial.
async function contextOf(fork, study, pick, signal) {
  const names = (fork.domain.parameters ?? []).filter((p) => p.role === 'context').map((p) => p.name);
  if (!names.length) return {};
  const trial = pick ?? (await list(studyPath(study.id, '/trials'), { sort: 'id', order: 'desc' }, signal, 1))[0];
  return { fixed: Object.fromEntries(names.map((name) => [name, trial?.parameters[name]])) };
}

/* names: of the two; after: the trial whose report the fork still has, or `from`: the number of trials that it has
 * -> the panel's element */
export function firstPicks(studies, names, { after, from }, signal) {
  const [study, fork] = studies;
  let first; // pick of the first study
  let start = null; // where they part
  const view = panel('First picks', { wide: true });
  const read = refresher(() => guarded(view, 'a list of trials', async () => {
    start ??= after ? { after, time: Date.parse((await get(studyPath(study.id, `/trials/${after}`), signal)).told_at) } : { after: from, time: null };
    const picks = await Promise.all(studies.map((one) => picksOf(one, start, signal)));
    [[first]] = picks;
    const rows = Array.from({ length: Math.max(...picks.map((own) => own.length)) }, (_, i) => i);
    const equal = rows.filter((i) => picks.every((own) => own[i] && same(own[i], picks[0][i]))).length;
    const columns = [{ title: 'Pick', class: 'right', cell: (i) => count(i + 1) }, ...studies.map((study, k) => ({ title: names[k], class: 'point', cell: (i) => pickCell(study, picks[k][i], picks[1 - k][i]) }))];
    view.note(`What each chose after ${after ? `trial ${count(after)} was reported` : 'they parted'}.${equal ? ` ${count(equal)} of the picks ${equal === 1 ? 'is' : 'are'} the same.` : ''} The first of each knows the same results; the later ones also know what came in since.`);
    ask.hidden = picks[1].length >= PICKS || fork.state !== 'active' || !(await may('worker', fork.id));
    replace(view.body, rows.length ? table('First picks', columns, rows, 'cards') : empty('Neither has chosen anything since.'));
  }, signal), signal);
  // The picks are given back at once, so that the next worker gets them.
  const ask = actionButton(`Show what ${fork.id} would choose`, { class: 'small' }, async () => {
    const context = await contextOf(fork, study, first, signal);
    const { trials, reason } = await post(studyPath(fork.id, '/ask'), { worker: 'first picks', count: PICKS, wait_seconds: 20, ...context }, signal);
    if (trials.length) await post(studyPath(fork.id, '/tell'), { results: trials.map((trial) => ({ trial: trial.id, attempt: trial.attempt, state: 'released' })) }, signal);
    else toast(`It has nothing to hand out now${reason ? ` (${reason.replaceAll('_', ' ')})` : ''}.`, 'wrong');
    read();
  });
  ask.hidden = true;
  view.tools.append(ask);
  read();
  return view.element;
}
