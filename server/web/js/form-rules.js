// When a study ends by itself (stop_when), and when a run is stopped before its end (stopping).
import { h } from './dom.js';
import { KINDS, put } from './form-fields.js';

const THEN = { name: 'then', label: 'Then', options: [['', 'default: finish it'], ['tell', 'only advise it']] };
const STOP_WHEN = {
  stagnation: {
    text: 'the last results have hardly improved it',
    fields: [
      { name: 'results', label: 'Results', kind: KINDS.number, placeholder: 'default: 50' },
      { name: 'gain', label: 'Gain', kind: KINDS.number, placeholder: 'default: 0.001', hint: 'in interquartile ranges of the values' },
      THEN,
    ],
  },
  target: { text: 'the recommended settings are good enough', fields: [{ name: 'value', label: 'Value', kind: KINDS.number }, THEN] },
  regret: {
    text: 'little is left to gain (only advises it)',
    fields: [
      { name: 'epsilon', label: 'Epsilon', kind: KINDS.number, hint: 'in units of the metric' },
      { name: 'probability', label: 'Probability', kind: KINDS.number, placeholder: 'default: 0.95' },
    ],
  },
  cost: { text: 'the results have cost a total', fields: [{ name: 'total', label: 'Total', kind: KINDS.number }] },
};
const SAFE = {
  name: 'safe',
  label: 'Spare trials like the best one',
  kind: KINDS.json,
  options: [['', 'no'], ['true', 'yes']],
  hint: 'none is stopped at a step at which the best complete trial would have been',
};
const STOPPED = {
  name: 'stopped',
  label: 'The model learns from stopped trials',
  options: [['', 'default'], ['estimate', 'an estimate of their value'], ['nothing', 'nothing']],
  hint: 'an estimate requires one objective without bounds',
};
const STOPPING = {
  median: {
    text: 'worse than the median of the others',
    fields: [
      { name: 'min_steps', label: 'Least steps', kind: KINDS.number, placeholder: 'default: 5' },
      { name: 'min_trials', label: 'Least other trials', kind: KINDS.number, placeholder: 'default: 5' },
      SAFE,
      STOPPED,
    ],
  },
  successive_halving: {
    text: 'not among the best at a rung (successive halving)',
    fields: [
      { name: 'min_resource', label: 'First rung, step', kind: KINDS.number, placeholder: 'default: 1' },
      { name: 'reduction', label: 'Reduction', kind: KINDS.number, placeholder: 'default: 3' },
      SAFE,
      STOPPED,
    ],
  },
};
const choices = (rules) => Object.entries(rules).map(([name, { text }]) => [name, text]);

function ending(form, rule, i) {
  const pointer = `/stop_when/${i}`;
  const { stop_when: rules } = form.definition;
  const another = () => {
    rules[i] = { rule: rules[i].rule };
    form.draw();
  };
  const remove = () => {
    rules.splice(i, 1);
    if (!rules.length) delete form.definition.stop_when;
    form.draw();
  };
  return h(
    'fieldset',
    { class: 'parameter' },
    h('legend', { class: 'unseen' }, `Rule ${i + 1}`),
    form.field({ pointer: `${pointer}/rule`, label: 'Finish the study when', options: choices(STOP_WHEN), class: 'grow' }, another),
    (STOP_WHEN[rule.rule]?.fields ?? []).map((spec) => form.field({ ...spec, pointer: `${pointer}/${spec.name}` })),
    h('button', { type: 'button', class: 'small quiet-danger', 'aria-label': `Remove rule ${i + 1}`, onclick: remove }, 'Remove'),
  );
}

export function rulesPart(form) {
  const { definition } = form;
  const add = () => {
    (definition.stop_when ??= []).push({ rule: 'stagnation' });
    form.draw(`/stop_when/${definition.stop_when.length - 1}/rule`);
  };
  const restop = () => {
    const rule = definition.stopping?.rule;
    put(definition, '/stopping', rule ? { rule } : undefined);
    form.draw();
  };
  return [
    form.messages('/stop_when'),
    (definition.stop_when ?? []).map((rule, i) => ending(form, rule, i)),
    h('button', { type: 'button', class: 'small', onclick: add }, 'Add a rule that ends the study'),
    h(
      'div',
      { class: 'row rules' },
      form.field({ pointer: '/stopping/rule', label: 'Stop a run early if it is', options: [['', 'never'], ...choices(STOPPING)], hint: 'By its intermediate measurements', class: 'grow' }, restop),
      (STOPPING[definition.stopping?.rule]?.fields ?? []).map((spec) => form.field({ ...spec, pointer: `/stopping/${spec.name}` })),
    ),
  ];
}
