// The menu of a chart that saves it as a file: PNG from its canvas, SVG by drawing it again.
import { saveBlob } from './csv.js';
import { h } from './dom.js';
import { colour } from './theme.js';
import { actionButton } from './widgets.js';

// The canvas on the background of the page.
function solid(canvas) {
  const copy = h('canvas', { width: canvas.width, height: canvas.height });
  const context = copy.getContext('2d');
  context.fillStyle = colour('surface');
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(canvas, 0, 0);
  return copy;
}

// title(): what the file is named after; canvas(): the chart, or nothing if it shows nothing; svg(): a promise of its text
export function saveMenu(title, canvas, svg) {
  const name = () => (title().split(':')[0].toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').slice(0, 60) || 'chart');
  const save = {
    PNG: () => solid(canvas()).toBlob((blob) => saveBlob(`${name()}.png`, blob), 'image/png'),
    SVG: async () => saveBlob(`${name()}.svg`, new Blob([await svg()], { type: 'image/svg+xml' })),
  };
  const menu = h(
    'details',
    { class: 'save' },
    h('summary', {}, 'Save'),
    Object.entries(save).map(([kind, work]) => actionButton(kind, { class: 'small' }, async () => {
      if (!canvas()) throw new Error('There is nothing to save yet.');
      await work();
      menu.open = false;
    })),
  );
  return menu;
}
