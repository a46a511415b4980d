// How a study is run: its aim, its algorithm, how trials are handed out, and when it ends.
import { h } from './dom.js';
import { KINDS } from './form-fields.js';
import { rulesPart } from './form-rules.js';

const BY_HAND = ['kernel', 'noise_std']; // options that have their own fields

// An option of an algorithm, as /v1/algorithms describes it.
function optionField(option) {
  const { range = {} } = option;
  const common = { pointer: `/algorithm/${option.name}`, label: option.name.replace(/_/g, ' '), hint: option.description };
  const standard = option.default === null || option.default === undefined ? 'default' : `default: ${KINDS.json.print(option.default)}`;
  if (option.type === 'boolean') return { ...common, kind: KINDS.json, options: [['', standard], ['true', 'true'], ['false', 'false']] };
  if (option.type === 'string' && range.values) return { ...common, options: [['', standard], ...range.values.map((x) => [x, x])] };
  return { ...common, kind: KINDS.json, placeholder: standard };
}

function kernelPart(form) {
  const { definition } = form;
  const kernel = definition.algorithm.kernel?.type ?? 'matern';
  const rekernel = () => {
    const given = definition.algorithm?.kernel;
    if (given && given.type !== 'matern') delete given.nu;
    if (given?.type === 'linear') delete given.lengthscale;
    form.draw();
  };
  return h(
    'div',
    { class: 'row' },
    form.field({ pointer: '/algorithm/kernel/type', label: 'Kernel', options: [['', 'default: Matérn'], ['matern', 'Matérn'], ['gaussian', 'Gaussian'], ['linear', 'linear']] }, rekernel),
    kernel === 'matern' ? form.field({ pointer: '/algorithm/kernel/nu', label: 'ν', kind: KINDS.number, options: [['', 'default: 2.5'], ['0.5', '0.5'], ['1.5', '1.5'], ['2.5', '2.5']] }) : null,
    kernel === 'linear' ? null : form.field({ pointer: '/algorithm/kernel/lengthscale', label: 'Lengthscale', kind: KINDS.numbers, placeholder: 'auto: learned', hint: 'Or give one number for all features, or one per feature: 1, 2, 0.5', class: 'grow' }),
  );
}

function algorithmPart(form) {
  const { definition, algorithms } = form;
  definition.algorithm ??= {};
  const chosen = algorithms.find((a) => a.name === definition.algorithm.name);
  const modelled = chosen?.parameters.some((p) => p.name === 'kernel') ?? true;
  const options = chosen?.parameters.filter((p) => !BY_HAND.includes(p.name)) ?? [];
  // Options that the new algorithm does not have are dropped, because the server would refuse them.
  const realgorithm = () => {
    definition.algorithm ??= {};
    const known = algorithms.find((a) => a.name === definition.algorithm.name)?.parameters.map((p) => p.name) ?? BY_HAND;
    for (const name of Object.keys(definition.algorithm)) if (name !== 'name' && !known.includes(name)) delete definition.algorithm[name];
    form.draw();
  };
  return [
    form.field({ pointer: '/algorithm/name', label: 'Algorithm', options: [['', 'chosen by the aim'], ...algorithms.map((a) => [a.name, a.name])], hint: chosen?.description, class: 'grow' }, realgorithm),
    modelled && definition.domain.type !== 'precomputed' ? kernelPart(form) : null,
    modelled ? form.field({ pointer: '/algorithm/noise_std', label: 'Noise, standard deviation', kind: KINDS.number, placeholder: 'auto: learned', hint: 'The spread of repeated measurements of one point, in units of the metric.' }) : null,
    chosen ? form.more('options', `Further options of ${chosen.name}`, false, h('div', { class: 'grid-fields' }, options.map((o) => form.field(optionField(o))))) : null,
  ];
}

export function runningPart(form) {
  const { definition } = form;
  return [
    h(
      'div',
      { class: 'grid-fields' },
      form.field({ pointer: '/aim', label: 'Aim', options: [['', 'default'], ['best', 'best: find the best settings soon'], ['regret', 'regret: every trial counts']], hint: 'What the study is for. It chooses the algorithm, unless you do.' }),
      form.field({ pointer: '/horizon', label: 'Trials at most (horizon)', kind: KINDS.number, placeholder: 'no limit' }),
      form.field({ pointer: '/repeats', label: 'Try the same settings twice', options: [['', 'default: if it helps'], ['auto', 'if it helps'], ['never', 'never']] }),
    ),
    rulesPart(form),
    form.more('algorithm', 'Algorithm', Object.keys(definition.algorithm ?? {}).length > 0, form.messages('/algorithm'), algorithmPart(form)),
    form.more(
      'handing out',
      'Handing out trials',
      ['feedback', 'lease_seconds', 'max_attempts', 'min_in_flight', 'seed'].some((name) => definition[name] !== undefined),
      h(
        'div',
        { class: 'grid-fields' },
        form.field({ pointer: '/lease_seconds', label: 'Reserved for a worker, seconds', kind: KINDS.number, placeholder: 'default: 600', hint: 'Then somebody else gets the trial' }),
        form.field({ pointer: '/max_attempts', label: 'Maximum attempts', kind: KINDS.number, placeholder: 'default: 3' }),
        form.field({ pointer: '/min_in_flight', label: 'Minimum in flight', kind: KINDS.number, placeholder: 'default: as many as asked for' }),
        form.field({ pointer: '/feedback', label: 'Feedback', options: [['', 'default: async'], ['async', 'async: nobody waits'], ['batch', 'batch: all results of a batch first']] }),
        form.field({ pointer: '/seed', label: 'Seed', kind: KINDS.number, placeholder: 'random' }),
      ),
    ),
  ];
}
