// Correct a reported result: its values, or that the trial failed after all. The earlier result stays in the history.
import { post, studyPath } from './api.js';
import { h, replace, uniqueId } from './dom.js';
import { titleOf } from './axes.js';
import { told, valueInputs } from './entry.js';
import { objective, otherMetrics } from './study-actions.js';
import { actionButton, reasonOf, toast } from './widgets.js';

function correct(study, trial, done) {
  const title = uniqueId('correct');
  const metrics = [objective(study), ...otherMetrics(study)];
  const entry = valueInputs(metrics, `trial ${trial.id}`);
  entry.fill({ ...trial.values, ...(trial.value !== undefined && { [metrics[0].name]: trial.value }) });
  const reason = h('input', { type: 'text', id: `${title}-reason`, autocomplete: 'off', maxlength: 500 });
  const wrong = h('p', { class: 'notice wrong', role: 'alert', hidden: true });
  const say = (words) => {
    wrong.hidden = false;
    replace(wrong, words);
  };
  const send = async (result) => {
    try {
      await post(studyPath(study.id, `/trials/${trial.id}/amend`), { ...result, ...(reason.value.trim() && { reason: reason.value.trim() }) });
      dialog.close();
      toast(`Corrected trial ${trial.id}.`);
      done();
    } catch (error) {
      say(reasonOf(error, 'corrections'));
    }
  };
  const save = actionButton('Save', { class: 'primary' }, async () => {
    const { values, wrong: input } = entry.read();
    if (input) {
      input.focus();
      say(input.validationMessage);
    } else await send(told(metrics, values));
  });
  const failed = actionButton('It failed', {}, () => send({ state: 'failed' }));
  const fields = metrics.map((metric, i) => {
    entry.inputs[i].id = `${title}-${i}`;
    return h('div', { class: 'field' }, h('label', { for: `${title}-${i}` }, titleOf(metric)), entry.inputs[i]);
  });
  const dialog = h(
    'dialog',
    { class: 'dialog', 'aria-labelledby': title },
    h('h2', { id: title }, `Correct trial ${trial.id}`),
    h('p', {}, 'The model uses the corrected result from the next batch on. The earlier one stays in the trial’s history.'),
    wrong,
    fields,
    h('div', { class: 'field' }, h('label', { for: reason.id }, 'Reason'), reason),
    h('div', { class: 'dialog-buttons' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'), failed, save),
  );
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

export function correctButton(study, trial, done) {
  return h('button', { type: 'button', class: 'small', onclick: () => correct(study, trial, done) }, 'Correct…');
}
