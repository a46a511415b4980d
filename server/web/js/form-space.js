// The parameters of a space, one row per parameter, and its constraints.
import { h } from './dom.js';
import { KINDS } from './form-fields.js';

const TYPES = [['double', 'number'], ['integer', 'whole number'], ['discrete', 'one of some numbers'], ['categorical', 'one of some words'], ['boolean', 'yes or no']];

// A choice of which one is the default, and is left out.
const usual = (standard, kind = KINDS.text) => ({ parse: kind.parse, print: (value) => (value === standard ? '' : kind.print(value)) });

// What the model sees of words without an order.
const WORDS = [
  { name: 'features', label: 'Properties of each word', kind: KINDS.rows, rows: 3, placeholder: '46.07, 1\n60.1, 1', hint: 'A row of numbers for each word, in their order. The model then learns from similar words.', class: 'grow' },
  { name: 'feature_names', label: 'Names of the properties', kind: KINDS.list, placeholder: 'mass, donors' },
  { name: 'scaling', label: 'Scaling of the properties', options: [['', 'default: standardize'], ['standardize', 'standardize'], ['unit', 'unit'], ['none', 'none']] },
  { name: 'encoding', label: 'Encoding', options: [['', 'default: codes beyond 1000'], ['codes', 'codes']], hint: 'Codes: a few features stand for many words' },
];

// The fields of a type, and those that are rarely needed.
function fieldsOf(parameter) {
  const ranged = [
    { name: 'min', label: 'From', kind: KINDS.number },
    { name: 'max', label: 'To', kind: KINDS.number },
    { name: 'scale', label: 'Scale', kind: usual('linear'), options: [['', 'linear'], ['log', 'logarithmic']] },
  ];
  const step = { name: 'step', label: 'Step', kind: KINDS.number, placeholder: 'any' };
  const by = {
    double: [ranged, [step, { name: 'precision', label: 'Decimal places', kind: KINDS.number, hint: 'Logarithmic: significant digits' }]],
    integer: [ranged, [step]],
    discrete: [[{ name: 'values', label: 'Numbers', kind: KINDS.numberList, placeholder: '1, 2, 4, 8', class: 'grow' }], []],
    categorical: [
      [{ name: 'values', label: 'Values', kind: KINDS.list, placeholder: 'adam, sgd', hint: 'With a comma: "one, v/v", two', class: 'grow' }],
      [{ name: 'ordered', label: 'Order', kind: usual(false, KINDS.json), options: [['', 'none'], ['true', 'as listed']] }],
    ],
    boolean: [[], []],
  };
  return by[parameter.type] ?? [[], []];
}

function defaultField(parameter) {
  const common = { name: 'default', label: 'Default', hint: 'In points that are given without it' };
  if (parameter.type === 'boolean') return { ...common, kind: KINDS.json, options: [['', 'none'], ['true', 'true'], ['false', 'false']] };
  return { ...common, kind: parameter.type === 'categorical' ? KINDS.text : KINDS.number, placeholder: 'none' };
}

// The values of a condition are of the type of the parameter that it is about.
function conditionValues(definition, parameter) {
  const words = () => {
    const on = definition.domain.parameters.find((other) => other.name === parameter.active_when?.parameter);
    return !on || on.type === 'categorical';
  };
  return { parse: (text) => KINDS.list.parse(text).map((x) => (words() ? x : KINDS.json.parse(x))), print: KINDS.list.print };
}

const RARE = ['step', 'precision', 'ordered', ...WORDS.map(({ name }) => name), 'default', 'unit', 'role', 'active_when'];

function row(form, parameter, i) {
  const { parameters } = form.definition.domain;
  const field = (spec, change) => form.field({ ...spec, pointer: `/domain/parameters/${i}/${spec.name}` }, change);
  const [main, more] = fieldsOf(parameter);
  const retype = () => {
    const { name, type, unit } = parameter;
    for (const key of Object.keys(parameter)) delete parameter[key];
    Object.assign(parameter, { name, type, ...(unit && { unit }), ...((type === 'double' || type === 'integer') && { min: 0, max: 1 }) });
    form.draw();
  };
  // Words in an order have no properties.
  const reorder = () => {
    if (parameter.ordered) for (const { name } of WORDS) delete parameter[name];
    form.draw();
  };
  const remove = () => {
    parameters.splice(i, 1);
    form.draw();
  };
  return h(
    'fieldset',
    { class: 'parameter' },
    h('legend', { class: 'unseen' }, `Parameter ${i + 1}`),
    field({ name: 'name', label: 'Name' }),
    field({ name: 'type', label: 'Type', options: TYPES }, retype),
    main.map((spec) => field(spec)),
    h('button', { type: 'button', class: 'small quiet-danger', 'aria-label': `Remove parameter ${i + 1}`, onclick: remove }, 'Remove'),
    form.more(
      `parameter ${i}`,
      `More of parameter ${i + 1}`,
      RARE.some((name) => parameter[name] !== undefined && parameter[name] !== false),
      h(
        'div',
        { class: 'row' },
        field({ name: 'unit', label: 'Unit', placeholder: 'mm' }),
        more.map((spec) => field(spec, spec.name === 'ordered' ? reorder : undefined)),
        field(defaultField(parameter)),
        field({ name: 'role', label: 'Chosen by', options: [['', 'the server'], ['context', 'who asks (context)']] }),
        field({ name: 'active_when/parameter', label: 'Only if', placeholder: 'another parameter' }),
        field({ name: 'active_when/in', label: 'is one of', kind: conditionValues(form.definition, parameter), placeholder: 'values' }),
        field({ name: 'active_when/min', label: 'or at least', kind: KINDS.number }),
        field({ name: 'active_when/max', label: 'at most', kind: KINDS.number }),
      ),
      parameter.type === 'categorical' && parameter.ordered !== true ? h('div', { class: 'row' }, WORDS.map((spec) => field(spec))) : null,
    ),
  );
}

// The parameters are at definition.domain.parameters.
export function spacePart(form) {
  const { domain } = form.definition;
  domain.parameters ??= [{ name: 'x', type: 'double', min: 0, max: 1 }];
  const add = () => {
    domain.parameters.push({ name: `p${domain.parameters.length + 1}`, type: 'double', min: 0, max: 1 });
    form.draw(`/domain/parameters/${domain.parameters.length - 1}/name`);
  };
  return [
    form.messages('/domain/parameters'),
    h('div', { class: 'parameters' }, domain.parameters.map((parameter, i) => row(form, parameter, i))),
    h('button', { type: 'button', class: 'small', onclick: add }, 'Add a parameter'),
    form.field({ pointer: '/domain/constraints', label: 'Constraints', kind: KINDS.lines, rows: 3, placeholder: 'a + b + c = 1\nif gate then rate >= 0.01', hint: 'Rules that every suggestion keeps, one per line' }),
  ];
}
