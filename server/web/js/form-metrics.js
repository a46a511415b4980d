// What is measured: the metrics of a study, one row per metric.
import { h } from './dom.js';
import { KINDS } from './form-fields.js';

const GOALS = [['maximize', 'maximize'], ['minimize', 'minimize']];
const ROLES = [['objective', 'objective'], ['constraint', 'constraint: must keep its bounds'], ['recorded', 'recorded only']];

const roleOf = (metric) => metric.role ?? 'objective';

// Members that do not go with the role would be refused.
function settle(metrics) {
  const objectives = metrics.filter((metric) => roleOf(metric) === 'objective').length;
  for (const metric of metrics) {
    const role = roleOf(metric);
    if (role === 'constraint') delete metric.goal;
    if (role === 'objective') metric.goal ??= 'maximize';
    if (role === 'recorded') for (const name of ['at_least', 'at_most']) delete metric[name];
    if (role !== 'objective' || objectives < 2) delete metric.threshold;
  }
}

function row(form, metric, i) {
  const { metrics } = form.definition;
  const several = metrics.length > 1;
  const role = roleOf(metric);
  const front = role === 'objective' && metrics.filter((other) => roleOf(other) === 'objective').length > 1;
  const field = (spec, change) => form.field({ ...spec, pointer: `/metrics/${i}/${spec.name}` }, change);
  const resettle = () => {
    settle(metrics);
    form.draw();
  };
  const bound = (name, label) => (role === 'recorded' ? null : field({ name, label, kind: KINDS.number, placeholder: 'no bound' }));
  if (several) metric.role ??= 'objective';
  const remove = () => {
    metrics.splice(i, 1);
    resettle();
  };
  return h(
    'fieldset',
    { class: 'metric-row' },
    h('legend', { class: 'unseen' }, `Metric ${i + 1}`),
    field({ name: 'name', label: several ? 'Metric' : 'Metric, its name', class: 'grow' }),
    several ? field({ name: 'role', label: 'Role', options: ROLES }, resettle) : null,
    role === 'constraint' ? null : field({ name: 'goal', label: 'Goal', options: role === 'recorded' ? [['', 'none'], ...GOALS] : GOALS }),
    field({ name: 'unit', label: 'Unit', placeholder: '%' }),
    bound('at_least', 'Allowed from'),
    bound('at_most', 'Allowed to'),
    front ? field({ name: 'threshold', label: 'Threshold', kind: KINDS.number, placeholder: 'inferred', hint: 'The worst value of interest: for all objectives, or for none' }) : null,
    several ? h('button', { type: 'button', class: 'small quiet-danger', 'aria-label': `Remove metric ${i + 1}`, onclick: remove }, 'Remove') : null,
  );
}

// The metrics are at definition.metrics.
export function metricsPart(form) {
  const { metrics } = form.definition;
  const add = () => {
    metrics.push({ name: `metric ${metrics.length + 1}`, role: 'recorded' });
    form.draw(`/metrics/${metrics.length - 1}/name`);
  };
  const one = metrics.filter((metric) => roleOf(metric) === 'objective').length === 1;
  return [
    form.messages('/metrics'),
    h('div', { class: 'parameters' }, metrics.map((metric, i) => row(form, metric, i))),
    h('button', { type: 'button', class: 'small', onclick: add }, 'Add a metric'),
    one ? form.field({ pointer: '/optimum', label: 'Known optimum', kind: KINDS.number, placeholder: 'unknown', hint: 'Used in charts of the regret, by nothing else.', class: 'narrow' }) : null,
  ];
}
