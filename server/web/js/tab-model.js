// The model: kernel, relevance of each feature, and the figures of the posterior.
import { get, studyPath } from './api.js';
import { axesOf } from './axes.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { count, number, plural, value, withUnit } from './format.js';
import { objective } from './study-actions.js';
import { empty, facts, guarded, panel } from './widgets.js';

const MEMBERS = 200;

const KERNELS = {
  gaussian: () => 'Gaussian, exp(−r²/2ℓ²)',
  matern: (k) => `Matérn, ν = ${k.nu}`,
  linear: () => 'linear, x·x′',
  precomputed: () => 'precomputed matrix',
};

const SHORT_CODE = 127; // features of a code …
const MOST_SHORT = SHORT_CODE * (SHORT_CODE + 2); // … for up to this many words; longer lists have LONG_CODE
const LONG_CODE = 511;

// The number of features that a parameter has in the model (bandit/space.h).
function featuresOf({ type, values, ordered, features, encoding }) {
  if (type !== 'categorical' || ordered) return 1;
  if (features) return features[0].length;
  if (encoding !== 'codes') return values.length;
  return values.length <= MOST_SHORT ? SHORT_CODE : LONG_CODE;
}

// How many different conditions parameters have: each is a feature, after those of the parameters.
function conditionsOf(parameters) {
  const texts = parameters.filter((p) => p.active_when).map(({ active_when: on }) => JSON.stringify([on.parameter, on.in ? [...on.in].sort() : [on.min, on.max]]));
  return new Set(texts).size;
}

// [{name, lengthscale}] of features, or of the parameters of a space. All features of a parameter have one lengthscale.
function scalesByName(study, lengthscales) {
  const { parameters } = study.domain;
  const axes = axesOf(study);
  const widths = parameters?.map(featuresOf) ?? axes.map(() => 1);
  const all = widths.reduce((sum, width) => sum + width, parameters ? conditionsOf(parameters) : 0);
  if (all !== lengthscales.length) return lengthscales.map((lengthscale, i) => ({ name: `feature ${i + 1}`, lengthscale }));
  let from = 0;
  return axes.map((axis, i) => {
    const row = { name: axis.name, lengthscale: lengthscales[from] };
    from += widths[i];
    return row;
  });
}

// The relevance of a feature is 1/lengthscale: with a short lengthscale the metric changes fast along the feature.
function relevance(scales) {
  const largest = Math.max(...scales.map((s) => 1 / s.lengthscale));
  const rows = scales.map(({ name, lengthscale }) => ({ name, lengthscale, share: 1 / lengthscale / largest }));
  rows.sort((a, b) => b.share - a.share);
  return h(
    'table',
    { class: 'relevance' },
    h('caption', { class: 'unseen' }, 'Relevance of the features'),
    h('thead', { class: 'unseen' }, h('tr', {}, ['Feature', 'Relevance', 'Lengthscale'].map((t) => h('th', { scope: 'col' }, t)))),
    h(
      'tbody',
      {},
      rows.map((row) =>
        h(
          'tr',
          {},
          h('th', { scope: 'row' }, row.name),
          h('td', { class: 'bar-cell' }, h('span', { class: 'bar', style: { width: `${(100 * row.share).toFixed(1)}%` } })),
          h('td', { class: 'right' }, `ℓ ${number(row.lengthscale, 4)}`),
        ),
      ),
    ),
  );
}

function memberText(dictionary) {
  const members = dictionary.candidates ?? dictionary.points ?? dictionary.parameters ?? [];
  const text = members.slice(0, MEMBERS).map((m) => (typeof m === 'number' ? `#${m}` : `(${typeof m === 'object' && !Array.isArray(m) ? Object.entries(m).map(([k, x]) => `${k} ${value(x)}`).join(', ') : value(m)})`));
  return members.length ? text.join(dictionary.candidates ? '  ' : '\n') + (members.length > MEMBERS ? ' …' : '') : 'none';
}

export async function modelTab(element, feed, signal) {
  const kernel = panel('Kernel');
  const figures = panel('Posterior');
  const options = panel('Algorithm');
  const members = panel('Dictionary');
  replace(element, h('div', { class: 'panels' }, kernel.element, figures.element, options.element, members.element));

  function show(model) {
    const k = model.kernel;
    const scales = model.lengthscales ?? [];
    const several = scales.length > 1;
    replace(
      kernel.body,
      facts([
        ['kernel', KERNELS[k.type]?.(k) ?? k.type],
        ...(scales.length === 1 ? [['lengthscale ℓ of all features', number(scales[0])]] : []),
        ...(k.lengthscale === undefined ? [] : [['lengthscale', k.lengthscale === 'auto' ? `learned from ${plural(model.fitted_on ?? 0, 'value')}` : 'as given']]),
      ]),
      several ? relevance(scalesByName(feed.study, scales)) : null,
    );
    kernel.note(several ? 'A long bar is a short lengthscale ℓ (in scaled features): the metric changes fastest along this feature.' : '');
    replace(
      figures.body,
      facts([
        ['at the start of batch', count(model.batch)],
        ['values in the model', count(model.observations)],
        ['width β', number(model.beta)],
        ['effective dimension', number(model.effective_dimension)],
        ['information gain', number(model.information_gain)],
        ['dictionary', `${count(model.dictionary.size)} members`],
        ['regularization λ', number(model.lambda)],
        ['noise std', withUnit(number(model.noise_std), objective(feed.study).unit)],
        ['signal std', number(model.signal_std)],
        ['values are shifted and scaled by', `${number(model.offset)}, ${number(model.scale)}`],
        ['outliers left out', count(model.set_aside)],
        ['norm bound', number(model.norm_bound)],
      ]),
    );
    const text = memberText(model.dictionary);
    if (members.body.textContent !== `Show them${text}`) replace(members.body, model.dictionary.size ? h('details', {}, h('summary', {}, 'Show them'), h('p', { class: 'members' }, text)) : empty('The dictionary has no members.'));
    members.note(`${count(model.dictionary.size)} members, as sampled${model.dictionary.size > MEMBERS ? `; the first ${MEMBERS} are shown` : ''}.`);
  }

  function showOptions() {
    const pairs = Object.entries(feed.study.algorithm).filter(([name]) => name !== 'kernel');
    replace(options.body, facts(pairs.map(([name, x]) => [name.replace(/_/g, ' '), value(x)])));
  }

  const read = refresher(
    () => guarded([figures, kernel, members], 'a model', async () => show(await get(studyPath(feed.id, '/model'), signal)), signal),
    signal,
    1000,
  );
  feed.on('model', read, signal);
  showOptions();
  read();
}
