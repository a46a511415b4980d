// The metrics of a study, one row per metric. One is the objective; the others are recorded.
import { h, replace } from './dom.js';
import { Field } from './form-fields.js';

const GOALS = [['maximize', 'maximize'], ['minimize', 'minimize']];
const ROLES = [['objective', 'objective'], ['recorded', 'recorded']];

// -> {element, fields()}; the metrics are at definition.metrics. change() is called after the user has changed them.
export function metricsEditor(definition, change) {
  const rows = h('div', { class: 'parameters' });
  const add = h('button', { type: 'button', class: 'small', onclick: () => {
    const role = definition.metrics.some((metric) => (metric.role ?? 'objective') === 'objective') ? 'recorded' : 'objective';
    definition.metrics.push({ name: `metric ${definition.metrics.length + 1}`, goal: 'maximize', role });
    draw();
    change();
  } }, 'Add a metric');
  let fields = [];

  function row(metric, i) {
    const field = (spec) => {
      const made = new Field(definition, { ...spec, pointer: `/metrics/${i}/${spec.name}` }, change);
      fields.push(made);
      return made.element;
    };
    const remove = h('button', { type: 'button', class: 'small quiet-danger', 'aria-label': `Remove metric ${i + 1}`, onclick: () => {
      definition.metrics.splice(i, 1);
      draw();
      change();
    } }, 'Remove');
    const several = definition.metrics.length > 1;
    if (several) metric.role ??= 'objective';
    return h(
      'fieldset',
      { class: 'metric-row' },
      h('legend', { class: 'unseen' }, `Metric ${i + 1}`),
      field({ name: 'name', label: several ? 'Metric' : 'Name', class: 'grow' }),
      metric.goal === undefined ? null : field({ name: 'goal', label: 'Goal', options: GOALS }),
      field({ name: 'unit', label: 'Unit', placeholder: '%' }),
      several ? field({ name: 'role', label: 'Role', options: ROLES }) : null,
      several ? remove : null,
    );
  }

  function draw() {
    fields = [];
    replace(rows, definition.metrics.map(row));
  }
  draw();
  return { element: h('div', {}, rows, add), fields: () => fields };
}
