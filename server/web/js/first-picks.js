// What a study and its fork chose after the trial at which they part, side by side. #/compare?studies=a,b&after=TRIAL
import { list, post, studyPath } from './api.js';
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
const SETTINGS = 8; // in a column

// A fork with another definition has the earlier results as imported ones, and its own trials begin with number 1.
const startOf = (study, after) => (study.history_from ? 0 : after);

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

// names: of the two -> the panel's element
export function firstPicks(studies, names, after, signal) {
  const [study, fork] = studies;
  let first; // pick of the first study
  const view = panel('First picks', { wide: true });
  const read = refresher(() => guarded(view, 'a list of trials', async () => {
    const picks = await Promise.all(studies.map((study) => list(studyPath(study.id, '/trials'), { page_token: startOf(study, after) || undefined }, signal, PICKS)));
    [[first]] = picks;
    const rows = Array.from({ length: Math.max(...picks.map((own) => own.length)) }, (_, i) => i);
    const equal = rows.filter((i) => picks.every((own) => own[i] && same(own[i], picks[0][i]))).length;
    const columns = [{ title: 'Pick', class: 'right', cell: (i) => count(i + 1) }, ...studies.map((study, k) => ({ title: names[k], class: 'point', cell: (i) => pickCell(study, picks[k][i], picks[1 - k][i]) }))];
    view.note(`What each chose after ${after ? `trial ${count(after)}` : 'they parted'}.${equal ? ` ${count(equal)} of the picks ${equal === 1 ? 'is' : 'are'} the same.` : ''} The first of each knows the same results; the later ones also know what came in since.`);
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
