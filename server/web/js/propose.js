// Queue a trial of one's own: a dialog with a field for each parameter, or for the candidate's number.
import { post, studyPath } from './api.js';
import { axesOf, isActive } from './axes.js';
import { h, replace, uniqueId } from './dom.js';
import { readNumber } from './entry.js';
import { count, titleOf } from './format.js';
import { actionButton, reasonOf, toast } from './widgets.js';

// A labelled input for one parameter. -> {element, axis, value()}; value() is undefined while nothing is entered.
export function parameterField(axis, changed) {
  const id = uniqueId('own');
  const chosen = axis.choices?.map((x, i) => h('option', { value: i }, String(x)));
  const range = axis.min === undefined ? '' : `${axis.min} to ${axis.max}`;
  const input = chosen
    ? h('select', { id, onchange: changed }, h('option', { value: '' }, 'choose…'), chosen)
    : h('input', { id, type: 'text', inputmode: 'decimal', autocomplete: 'off', placeholder: range, oninput: changed });
  return {
    axis,
    element: h('div', { class: 'field' }, h('label', { for: id }, titleOf(axis)), input),
    value() {
      if (input.value.trim() === '') return undefined;
      return chosen ? axis.choices[Number(input.value)] : (readNumber(input.value) ?? input.value);
    },
  };
}

// -> {elements, read()}; read() is the body of POST …/trials
function spaceFields(study) {
  const axes = axesOf(study);
  const values = () => Object.fromEntries(fields.map((f) => [f.axis.name, f.value()]).filter(([, x]) => x !== undefined));
  const fields = axes.map((axis) => parameterField(axis, () => show()));
  const active = (field, parameters) => isActive(field.axis, axes, { parameters });
  const show = () => {
    const parameters = values();
    for (const field of fields) field.element.hidden = !active(field, parameters);
  };
  show();
  return {
    elements: fields.map((f) => f.element),
    read() {
      const parameters = values();
      return { parameters: Object.fromEntries(fields.filter((f) => f.axis.name in parameters && active(f, parameters)).map((f) => [f.axis.name, parameters[f.axis.name]])) };
    },
  };
}

function candidateField() {
  const id = uniqueId('own');
  const input = h('input', { id, type: 'text', autocomplete: 'off' });
  return {
    elements: [h('div', { class: 'field' }, h('label', { for: id }, 'Number or key of the candidate'), input)],
    read: () => (readNumber(input.value) === null ? { key: input.value.trim() } : { candidate: readNumber(input.value) }),
  };
}

function propose(feed) {
  const title = uniqueId('propose');
  const { elements, read } = feed.study.domain.type === 'space' ? spaceFields(feed.study) : candidateField();
  const wrong = h('p', { class: 'notice wrong', role: 'alert', hidden: true });
  const queue = actionButton('Queue this trial', { class: 'primary' }, async () => {
    try {
      const trial = await post(studyPath(feed.id, '/trials'), read());
      dialog.close();
      toast(`Trial ${count(trial.id)} is queued. The next worker that asks gets it.`);
    } catch (error) {
      wrong.hidden = false;
      replace(wrong, reasonOf(error, 'trials of your own'));
    }
  });
  const dialog = h(
    'dialog',
    { class: 'dialog', 'aria-labelledby': title },
    h('h2', { id: title }, 'Try settings of your own'),
    wrong,
    elements,
    h('div', { class: 'dialog-buttons' }, h('button', { type: 'button', onclick: () => dialog.close() }, 'Cancel'), queue),
  );
  dialog.addEventListener('close', () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

export function proposeButton(feed) {
  return h('button', { type: 'button', onclick: () => propose(feed) }, 'Propose…');
}
