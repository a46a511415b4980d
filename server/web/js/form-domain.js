// What is tried: named parameters, a list of candidates, or candidates with a kernel matrix; one of three cards.
import { h } from './dom.js';
import { KINDS } from './form-fields.js';
import { spacePart } from './form-space.js';

// [type, title, for whom it is]
export const DOMAINS = [
  ['space', 'Named parameters', 'You choose settings within ranges, such as a temperature, a learning rate or a solvent. Most studies are like this.'],
  ['candidates', 'A list of candidates', 'You have a fixed set of things to try, such as molecules, samples or recipes, and numbers that describe each of them.'],
  ['precomputed', 'A kernel matrix', 'For experts: you have a matrix that says how alike each two of your candidates are, in place of numbers that describe them.'],
];

// The number of features of a file's candidates; undefined if it cannot be found.
export async function dimensionOf(file) {
  const start = await file.slice(0, 65536).text();
  if (/\.npy$/i.test(file.name)) return Number(/'shape':\s*\(\d+,\s*(\d+)/.exec(start)?.[1]) || undefined;
  if (/\.json$/i.test(file.name)) return /\[\s*\[([^\]]*)\]/.exec(start)?.[1].split(',').length;
  return start.split('\n', 1)[0].split(',').length;
}

function upload(form, label) {
  return h('div', { class: 'field' }, h('label', { for: form.file.id }, label), form.file);
}

// A first line of words, as tables have it, names the features.
function takeTitles(form) {
  const { domain } = form.definition;
  if (!(domain.points?.length > 1) || !domain.points[0].every((cell) => typeof cell === 'string' && cell)) return;
  domain.names = domain.points.shift();
  form.reload('/domain/names');
}

function candidatesPart(form) {
  return [
    form.field({
      pointer: '/domain/points',
      label: 'Points, one per line',
      kind: KINDS.rows,
      rows: 5,
      placeholder: '0.1, 2\n0.4, 3',
      hint: 'Or leave this empty and choose a file (CSV, JSON, .npy). It is uploaded after the study is created.',
    }, () => takeTitles(form)),
    form.more(
      'keys',
      'Keys of the points',
      form.definition.domain.keys !== undefined,
      form.field({ pointer: '/domain/keys', label: 'Keys, one per line', kind: KINDS.linesOrNull, rows: 3, placeholder: 'CCO\nCCN', hint: 'What you call each point, in the order of the points. A blank line is a point without a key.' }),
    ),
    upload(form, 'File with the candidates'),
    h(
      'div',
      { class: 'row' },
      form.field({ pointer: '/domain/dimension', label: 'Features', kind: KINDS.number, hint: 'The number of features. Required without points.' }),
      form.field({ pointer: '/domain/names', label: 'Feature names', kind: KINDS.list, placeholder: 'degrees, minutes', class: 'grow' }),
      form.field({ pointer: '/domain/scaling', label: 'Scaling', options: [['', 'default: standardize'], ['unit', 'unit'], ['none', 'none']] }),
    ),
  ];
}

function contentOf(form) {
  const { type } = form.definition.domain;
  if (type === 'space') return spacePart(form);
  if (type === 'precomputed') return [form.field({ pointer: '/domain/size', label: 'Candidates', kind: KINDS.number }), upload(form, 'File with the kernel matrix')];
  return candidatesPart(form);
}

export function domainPart(form) {
  // What was filled in on the other cards waits there, because arrow keys pass them.
  const redomain = (type) => {
    const { definition, others } = form;
    others[definition.domain.type] = definition.domain;
    definition.domain = others[type] ?? { type };
    if (type === 'precomputed') {
      others.kernel = definition.algorithm?.kernel;
      delete definition.algorithm?.kernel;
    } else if (others.kernel) (definition.algorithm ??= {}).kernel ??= others.kernel;
    form.draw();
  };
  return [
    form.messages('/domain'),
    form.choice({ pointer: '/domain/type', label: 'Choose from', choices: DOMAINS }, redomain),
    contentOf(form),
    form.field({ pointer: '/history_from', label: 'Begin with the results of', placeholder: 'the id of another study', hint: 'For a new range, another kernel or another algorithm. Points that do not fit are listed.', class: 'narrow' }),
    form.field({ pointer: '/learn_from', label: 'Learn from', kind: KINDS.list, placeholder: 'ids of up to 8 studies', hint: 'Studies of similar functions: same settings, other material, machine or data. What they found guides the first trials.', class: 'narrow' }),
  ];
}
