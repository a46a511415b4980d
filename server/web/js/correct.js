// Correct a reported or an imported result: its values, or that it failed after all. The earlier result stays in the
// history.
import { get, post, studyPath } from './api.js';
import { h, replace, uniqueId } from './dom.js';
import { errorsOf, told, valueInputs } from './entry.js';
import { number, titleOf, withUnit } from './format.js';
import { objective, otherMetrics } from './study-actions.js';
import { actionButton, reasonOf, toast } from './widgets.js';

// What differs between a trial and an imported result.
function kindOf(study, { id, observation }) {
  const metrics = [objective(study), ...otherMetrics(study)];
  return observation === undefined
    ? { name: `trial ${id}`, path: `/trials/${id}`, metrics }
    : { name: `imported result ${observation}`, path: `/observations/${observation}`, metrics };
}

function correct(study, result, done) {
  const title = uniqueId('correct');
  const { name, path, metrics } = kindOf(study, result);
  const entry = valueInputs(metrics, name);
  entry.fill({ ...result.values, ...(result.value !== undefined && { [metrics[0].name]: result.value }) }, errorsOf(metrics, result));
  const reason = h('input', { type: 'text', id: `${title}-reason`, autocomplete: 'off', maxlength: 500 });
  const wrong = h('p', { class: 'notice wrong', role: 'alert', hidden: true });
  const say = (words) => {
    wrong.hidden = false;
    replace(wrong, words);
  };
  const send = async (instead) => {
    try {
      await post(studyPath(study.id, `${path}/amend`), { ...instead, ...(reason.value.trim() && { reason: reason.value.trim() }) });
      dialog.close();
      toast(`Corrected ${name}.`);
      done();
    } catch (error) {
      say(reasonOf(error, 'corrections'));
    }
  };
  const save = actionButton('Save', { class: 'primary' }, async () => {
    const { values, errors, wrong: input } = entry.read();
    if (input) {
      input.focus();
      say(input.validationMessage);
    } else await send(told(metrics, values, errors));
  });
  const failed = actionButton('It failed', {}, () => send({ state: 'failed' }));
  const fields = metrics.map((metric, i) => {
    entry.inputs[i].id = `${title}-${i}`;
    return h('div', { class: 'field' }, h('label', { for: `${title}-${i}` }, titleOf(metric)), entry.inputs[i]);
  });
  // What it was before, the newest first.
  const earlier = h('ul', { class: 'earlier' });
  get(studyPath(study.id, path)).then(
    ({ amendments = [] }) => replace(earlier, amendments.map(({ was, reason: why }) => h('li', {}, `Earlier: ${was.value === undefined ? was.state : withUnit(number(was.value, 8), metrics[0].unit)}${why ? ` (${why})` : ''}`)).reverse()),
    () => {}, // the dialog works without it
  );
  const dialog = h(
    'dialog',
    { class: 'dialog', 'aria-labelledby': title },
    h('h2', { id: title }, `Correct ${name}`),
    h('p', {}, 'The model uses the corrected result from the next batch on. The earlier one stays in the history.'),
    wrong,
    fields,
    earlier,
    h('div', { class: 'field' }, h('label', { for: reason.id }, 'Reason'), reason),
    h('div', { class: 'dialog-buttons' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'), failed, save),
  );
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

// result: a trial or an imported result
export function correctButton(study, result, done) {
  return h('button', { type: 'button', class: 'small', onclick: () => correct(study, result, done), 'aria-label': `Correct… ${kindOf(study, result).name}` }, 'Correct…');
}
