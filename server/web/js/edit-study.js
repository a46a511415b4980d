// Edit what may change in a study: its name, labels and note, its thresholds and bounds, its horizon and the rules that end it, how long trials are reserved, how often tried.
import { patch, studyPath } from './api.js';
import { h, replace, uniqueId } from './dom.js';
import { Field, KINDS } from './form-fields.js';
import { titleOf } from './format.js';
import { hasFront } from './study-actions.js';
import { actionButton, reasonOf, toast } from './widgets.js';

const ABOUT = [
  { pointer: '/display_name', label: 'Name' },
  { pointer: '/labels', label: 'Labels', kind: KINDS.labels, placeholder: 'team:bakery, oven:deck' },
  { pointer: '/note', label: 'Note', rows: 3 },
];
const COURSE = [
  { pointer: '/horizon', label: 'Horizon, trials', kind: KINDS.number, hint: 'The study finishes after so many trials. Empty: it does not.' },
  { pointer: '/stop_when', label: 'Rules that end it, as JSON', kind: KINDS.json, rows: 2, hint: 'For example [{"rule": "cost", "total": 500}]. Empty: there are none.' },
  { pointer: '/lease_seconds', label: 'Trials are reserved for, seconds', kind: KINDS.number },
  { pointer: '/max_attempts', label: 'Attempts per trial', kind: KINDS.number },
];

const GOALS = ['threshold', 'at_least', 'at_most'];

// Thresholds of several objectives, and the bounds that metrics have.
function goalFields(study) {
  const number = (i, name, label) => ({ pointer: `/metrics/${i}/${name}`, label: `${titleOf(study.metrics[i])}, ${label}`, kind: KINDS.number });
  return study.metrics.flatMap((metric, i) => [
    ...(metric.role === 'objective' && hasFront(study) ? [{ ...number(i, 'threshold', 'threshold'), placeholder: 'inferred' }] : []),
    ...(metric.at_least === undefined ? [] : [number(i, 'at_least', 'allowed from')]),
    ...(metric.at_most === undefined ? [] : [number(i, 'at_most', 'allowed to')]),
  ]);
}

// The metrics with other goals, each with these alone.
function changedMetrics(before, edited) {
  return edited.flatMap((metric, i) => {
    const names = GOALS.filter((name) => metric[name] !== before[i][name]);
    return names.length ? [{ name: metric.name, ...Object.fromEntries(names.map((name) => [name, metric[name] ?? null])) }] : [];
  });
}

// Where an error of a change is in the study: the change may list fewer metrics.
function placeIn(study, changes, pointer) {
  const [, listed, rest] = /^\/metrics\/(\d+)(\/.*)$/.exec(pointer) ?? [];
  return listed === undefined ? pointer : `/metrics/${study.metrics.findIndex(({ name }) => name === changes.metrics[listed].name)}${rest}`;
}

// The note is kept in the study's metadata, beside what others have put there. A study may have been created with one `metric`.
const shownOf = (study) => ({ ...study, note: study.metadata?.note, metrics: study.metrics ?? [study.metric] });

// The members that differ, as PATCH takes them: null removes one.
export function changesOf(study, edited) {
  const before = shownOf(study);
  const names = [...ABOUT, ...COURSE].map(({ pointer }) => pointer.slice(1)).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(edited[name]));
  const changes = Object.fromEntries(names.map((name) => [name, edited[name] ?? null]));
  if ('note' in changes) {
    const { note, ...others } = { ...study.metadata, note: changes.note };
    const metadata = note === null ? others : { ...others, note };
    delete changes.note;
    changes.metadata = Object.keys(metadata).length ? metadata : null;
  }
  const metrics = changedMetrics(before.metrics, edited.metrics);
  if (metrics.length) changes.metrics = metrics;
  return changes;
}

// study: as it is now
export function edit(study, done) {
  const title = uniqueId('edit');
  const shown = shownOf(study);
  const edited = structuredClone(shown);
  const fields = [...ABOUT, ...goalFields(shown), ...COURSE].map((spec) => new Field(edited, spec));
  const wrong = h('p', { class: 'notice wrong', role: 'alert', hidden: true });
  const save = actionButton('Save', { class: 'primary' }, async () => {
    const changes = changesOf(study, edited);
    try {
      if (Object.keys(changes).length) await patch(studyPath(study.id), changes);
    } catch (error) {
      for (const field of fields) field.fail(error.errors?.find((e) => `${placeIn(shown, changes, e.pointer)}/`.startsWith(`${field.pointer}/`))?.detail ?? null);
      wrong.hidden = false;
      replace(wrong, reasonOf(error, 'changes'));
      return;
    }
    dialog.close();
    toast(`Changed ${study.id}.`);
    done('changed');
  });
  const dialog = h(
    'dialog',
    { class: 'dialog', 'aria-labelledby': title },
    h('h2', { id: title }, `Edit ${study.id}`),
    wrong,
    fields.map((field) => field.element),
    h('div', { class: 'dialog-buttons' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'), save),
  );
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
