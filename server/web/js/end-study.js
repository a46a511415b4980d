// Finish, reopen or delete a study, after the user has confirmed it.
import { remove, studyPath } from './api.js';
import { confirm } from './ask.js';
import { h } from './dom.js';
import { count } from './format.js';
import { change, trialsOf } from './study-actions.js';
import { toast } from './widgets.js';

export async function finish(study, done) {
  const sure = await confirm({
    title: `Finish ${study.id}?`,
    text: 'The server stops handing out trials. All data stays, and the study can be reopened.',
    action: 'Finish',
    danger: false,
  });
  if (sure) await change(study, 'finished', done);
}

// Asks only if a rule of the study has ended it.
export async function reopen(study, done) {
  const sure = !study.state_reason || !study.stop_when || (await confirm({
    title: `Reopen ${study.id}?`,
    text: `It was finished by its rule ${study.state_reason}. While the rule holds, it ends a reopened study again. Change the rule with Edit… before you reopen the study.`,
    action: 'Reopen',
    danger: false,
  }));
  if (sure) await change(study, 'active', done);
}

export async function drop(study, done) {
  const names = [study.display_name, study.id].filter(Boolean);
  const sure = await confirm({
    title: `Delete ${study.id}?`,
    text: [`Its ${count(trialsOf(study))} trials, its candidates and its model will be deleted. This cannot be undone. Enter `, names.map((name, i) => [i ? ' or ' : '', h('b', {}, name)]), ' to confirm.'],
    label: 'Name of the study',
    valid: (text) => names.includes(text),
    action: 'Delete',
  });
  if (!sure) return;
  await remove(studyPath(study.id));
  toast(`${study.id} was deleted.`);
  done('deleted');
}
