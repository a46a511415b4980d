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

const fileOf = (title) => title.split(':')[0].toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '').slice(0, 60) || 'chart';

/* Buttons that save a picture.
 *   title()   what the file is named after
 *   canvas()  the picture, or a promise of it; nothing if there is none
 *   svg()     a promise of its text
 *   done()    called afterwards */
export function saveButtons(title, canvas, svg, done = () => {}, label = (kind) => kind) {
  const save = {
    PNG: (drawn) => solid(drawn).toBlob((blob) => saveBlob(`${fileOf(title())}.png`, blob), 'image/png'),
    SVG: async () => saveBlob(`${fileOf(title())}.svg`, new Blob([await svg()], { type: 'image/svg+xml' })),
  };
  return Object.entries(save).map(([kind, work]) => actionButton(label(kind), { class: 'small' }, async () => {
    const drawn = await canvas();
    if (!drawn) throw new Error('There is nothing to save yet.');
    await work(drawn);
    done();
  }));
}

export function saveMenu(title, canvas, svg) {
  const menu = h('details', { class: 'save' }, h('summary', {}, 'Save'), saveButtons(title, canvas, svg, () => (menu.open = false)));
  return menu;
}

// The same for a picture that is an SVG element, which `picture` returns.
const modules = () => import('./svg-picture.js');
export const drawnAs = (picture, scale) => [
  async () => picture() && (await modules()).canvasOf(picture(), scale),
  async () => (await modules()).textOf(picture()),
];
