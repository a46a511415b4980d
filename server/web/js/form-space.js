// The parameters of a space, one row per parameter.
import { h, replace } from './dom.js';
import { Field, KINDS } from './form-fields.js';

const TYPES = ['double', 'integer', 'discrete', 'categorical', 'boolean'].map((type) => [type, type]);

const SCALE = { parse: (text) => text, print: (value) => (value === 'linear' ? '' : value) }; // linear is the default

const LINES = { parse: (text) => text.split('\n').map((line) => line.trim()).filter(Boolean), print: (value) => value.join('\n') };
const SWITCH = { parse: (text) => text === 'true', print: (value) => (value ? 'true' : '') }; // false is the default

function fieldsOf(parameter) {
  const ranged = [
    { name: 'min', label: 'From', kind: KINDS.number },
    { name: 'max', label: 'To', kind: KINDS.number },
    { name: 'scale', label: 'Scale', kind: SCALE, options: [['', 'linear'], ['log', 'logarithmic']] },
  ];
  const step = { name: 'step', label: 'Step', kind: KINDS.number, placeholder: 'any' };
  const by = {
    double: [...ranged, step, { name: 'precision', label: 'Decimal places', kind: KINDS.number, hint: 'Logarithmic: significant digits' }],
    integer: [...ranged, step],
    discrete: [{ name: 'values', label: 'Numbers', kind: KINDS.numberList, placeholder: '1, 2, 4, 8', class: 'grow' }],
    categorical: [{ name: 'values', label: 'Values', kind: KINDS.list, placeholder: 'adam, sgd', hint: 'With a comma: "one, v/v", two', class: 'grow' },
      { name: 'ordered', label: 'Order', kind: SWITCH, options: [['', 'none'], ['true', 'as listed']] }],
    boolean: [],
  };
  return by[parameter.type] ?? [];
}

// -> {element, fields()}; the parameters are at definition.domain.parameters
export function spaceEditor(definition, change) {
  const rows = h('div', { class: 'parameters' });
  const add = h('button', { type: 'button', class: 'small', onclick: () => {
    definition.domain.parameters.push({ name: `p${definition.domain.parameters.length + 1}`, type: 'double', min: 0, max: 1 });
    draw();
    change();
  } }, 'Add a parameter');
  let fields = [];

  function draw() {
    fields = [];
    const field = (i, spec, then = change) => {
      const made = new Field(definition, { ...spec, pointer: `/domain/parameters/${i}/${spec.name}` }, then);
      fields.push(made);
      return made.element;
    };
    replace(
      rows,
      definition.domain.parameters.map((parameter, i) => {
        const retype = () => {
          const { name, type } = parameter;
          for (const key of Object.keys(parameter)) delete parameter[key];
          Object.assign(parameter, { name, type });
          draw();
          change();
        };
        return h(
          'fieldset',
          { class: 'parameter' },
          h('legend', { class: 'unseen' }, `Parameter ${i + 1}`),
          field(i, { name: 'name', label: 'Name' }),
          field(i, { name: 'type', label: 'Type', options: TYPES }, retype),
          fieldsOf(parameter).map((spec) => field(i, spec)),
          field(i, { name: 'active_when/parameter', label: 'Only if', placeholder: 'parameter' }),
          field(i, { name: 'active_when/in', label: 'is one of', kind: KINDS.list, placeholder: 'values' }),
          field(i, { name: 'active_when/min', label: 'or at least', kind: KINDS.number }),
          field(i, { name: 'active_when/max', label: 'at most', kind: KINDS.number }),
          field(i, { name: 'unit', label: 'Unit', placeholder: 'mm' }),
          field(i, { name: 'role', label: 'Chosen by', options: [['', 'the server'], ['context', 'who asks (context)']] }),
          h('button', { type: 'button', class: 'small quiet-danger', 'aria-label': `Remove parameter ${i + 1}`, onclick: () => {
            definition.domain.parameters.splice(i, 1);
            draw();
            change();
          } }, 'Remove'),
        );
      }),
    );
  }
  draw();
  const rules = new Field(definition, { pointer: '/domain/constraints', label: 'Constraints', kind: LINES, rows: 3, placeholder: 'a + b + c = 1', hint: 'One per line' }, change);
  return { element: h('div', {}, rows, add, rules.element), fields: () => [...fields, rules] };
}
