// Edit what may change in a study: its name, labels and note, its horizon and the rules that end it, how long trials are reserved, how often tried.
import { patch, studyPath } from './api.js';
import { h, replace, uniqueId } from './dom.js';
import { Field, KINDS } from './form-fields.js';
import { actionButton, reasonOf, toast } from './widgets.js';

const FIELDS = [
  { pointer: '/display_name', label: 'Name' },
  { pointer: '/labels', label: 'Labels', kind: KINDS.labels, placeholder: 'team:bakery, oven:deck' },
  { pointer: '/note', label: 'Note', rows: 3 },
  { pointer: '/horizon', label: 'Horizon, trials', kind: KINDS.number, hint: 'The study finishes after so many trials. Empty: it does not.' },
  { pointer: '/stop_when', label: 'Rules that end it, as JSON', kind: KINDS.json, rows: 2, hint: 'For example [{"rule": "cost", "total": 500}]. Empty: there are none.' },
  { pointer: '/lease_seconds', label: 'Trials are reserved for, seconds', kind: KINDS.number },
  { pointer: '/max_attempts', label: 'Attempts per trial', kind: KINDS.number },
];

// The note is kept in the study's metadata, beside what others have put there.
const shownOf = (study) => ({ ...study, note: study.metadata?.note });

// The members that differ, as PATCH takes them: null removes one.
export function changesOf(study, edited) {
  const before = shownOf(study);
  const names = FIELDS.map(({ pointer }) => pointer.slice(1)).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(edited[name]));
  const changes = Object.fromEntries(names.map((name) => [name, edited[name] ?? null]));
  if ('note' in changes) {
    const { note, ...others } = { ...study.metadata, note: changes.note };
    const metadata = note === null ? others : { ...others, note };
    delete changes.note;
    changes.metadata = Object.keys(metadata).length ? metadata : null;
  }
  return changes;
}

// study: as it is now
export function edit(study, done) {
  const title = uniqueId('edit');
  const edited = structuredClone(shownOf(study));
  const fields = FIELDS.map((spec) => new Field(edited, spec));
  const wrong = h('p', { class: 'notice wrong', role: 'alert', hidden: true });
  const save = actionButton('Save', { class: 'primary' }, async () => {
    const changes = changesOf(study, edited);
    try {
      if (Object.keys(changes).length) await patch(studyPath(study.id), changes);
    } catch (error) {
      for (const field of fields) field.fail(error.errors?.find((e) => `${e.pointer}/`.startsWith(`${field.pointer}/`))?.detail ?? null);
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
