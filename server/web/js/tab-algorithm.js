// For those who know the algorithm: the model's figures, and how the batches were planned.
import { h, replace } from './dom.js';
import { batchesTab } from './tab-batches.js';
import { modelTab } from './tab-model.js';

export async function algorithmTab(element, feed, signal) {
  const [model, batches] = [h('div'), h('div', { class: 'below' })];
  replace(element, model, batches);
  await Promise.all([modelTab(model, feed, signal), batchesTab(batches, feed, signal)]);
}
