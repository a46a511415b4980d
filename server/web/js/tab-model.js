// What the open batch was planned with: kernel, how much each feature matters, and the figures of the posterior.
import { get, studyPath } from './api.js';
import { axesOf } from './axes.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { count, number, value } from './format.js';
import { empty, facts, guarded, panel } from './widgets.js';

const MEMBERS = 200;

const KERNELS = {
  gaussian: () => 'Gaussian, exp(−r²/2ℓ²)',
  matern: (k) => `Matérn, ν = ${k.nu}`,
  linear: () => 'linear, x·x′',
  precomputed: () => 'given as a matrix',
};

// A short lengthscale: the metric changes fast along the feature, which therefore matters.
function relevance(lengthscales, names) {
  const largest = Math.max(...lengthscales.map((l) => 1 / l));
  const rows = lengthscales.map((l, i) => ({ name: names[i] ?? `coordinate ${i + 1}`, lengthscale: l, share: 1 / l / largest }));
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
    const scales = k.lengthscale;
    const names = axesOf(feed.study).map((axis) => axis.name);
    const several = Array.isArray(scales);
    replace(
      kernel.body,
      facts([
        ['kernel', KERNELS[k.type]?.(k) ?? k.type],
        ...(scales !== undefined && !several ? [['lengthscale ℓ, of every feature', number(scales)]] : []),
      ]),
      several ? relevance(scales, scales.length === names.length ? names : []) : null,
    );
    kernel.note(several ? 'A short lengthscale ℓ is a long bar: along this feature the metric changes fastest.' : '');
    replace(
      figures.body,
      facts([
        ['as of the start of batch', count(model.batch)],
        ['values in the model', count(model.observations)],
        ['width β', number(model.beta)],
        ['effective dimension', number(model.effective_dimension)],
        ['information gain', number(model.information_gain)],
        ['dictionary', `${count(model.dictionary.size)} members`],
        ['regularization λ', number(model.lambda)],
        ['noise, std', number(model.noise_std)],
        ['norm bound', number(model.norm_bound)],
      ]),
    );
    const text = memberText(model.dictionary);
    replace(members.body, model.dictionary.size ? h('p', { class: 'members' }, text) : empty('It has no members.'));
    members.note(`${count(model.dictionary.size)} members, as sampled${model.dictionary.size > MEMBERS ? `; the first ${MEMBERS} are shown` : ''}.`);
  }

  function showOptions() {
    const pairs = Object.entries(feed.study.algorithm).filter(([name]) => name !== 'kernel');
    replace(options.body, facts(pairs.map(([name, x]) => [name.replace(/_/g, ' '), value(x)])));
  }

  const read = refresher(
    () => guarded(figures, 'a model', async () => show(await get(studyPath(feed.id, '/model'), signal)), signal),
    signal,
    1000,
  );
  feed.on('model', read, signal);
  showOptions();
  read();
}
