// A picture of the page that is SVG, such as a timeline, as a file: drawn with the colours and fonts that it has now.
import { h } from './dom.js';
import { SvgContext } from './picture.js';

const NONE = ['none', 'rgba(0, 0, 0, 0)', 'transparent'];
const ALIGN = { start: 'left', middle: 'center', end: 'right' };

// Traces a path of the steps M, H and V, all that such pictures have.
function trace(context, steps) {
  let [x, y] = [0, 0];
  for (const [, step, a, b] of steps.matchAll(/([MHV])([-\d.]+)(?:,([-\d.]+))?/g)) {
    if (step !== 'V') x = Number(a);
    if (step === 'V') y = Number(a);
    if (step === 'M') {
      y = Number(b);
      context.moveTo(x, y);
    } else context.lineTo(x, y);
  }
}

const OUTLINES = {
  line(context, at) {
    context.moveTo(at('x1'), at('y1'));
    context.lineTo(at('x2'), at('y2'));
  },
  rect: (context, at) => context.rect(at('x'), at('y'), at('width'), at('height')),
  circle: (context, at) => context.arc(at('cx'), at('cy'), at('r'), 0, 2 * Math.PI),
  path: (context, at, element) => trace(context, element.getAttribute('d')),
};

function draw(context, picture) {
  for (const element of picture.querySelectorAll('line, rect, circle, path, text')) {
    const at = (name) => Number(element.getAttribute(name));
    const style = getComputedStyle(element);
    context.globalAlpha = Number(style.opacity);
    context.fillStyle = style.fill;
    if (element.tagName === 'text') {
      context.font = `${style.fontSize} ${style.fontFamily}`;
      context.textAlign = ALIGN[style.textAnchor];
      context.textBaseline = 'alphabetic';
      context.fillText(element.firstChild?.data ?? '', at('x'), at('y')); // without its title
      continue;
    }
    context.beginPath();
    OUTLINES[element.tagName](context, at, element);
    if (element.tagName !== 'line' && !NONE.includes(style.fill)) context.fill();
    if (NONE.includes(style.stroke)) continue;
    context.strokeStyle = style.stroke;
    context.lineWidth = parseFloat(style.strokeWidth);
    context.stroke();
  }
}

const sizeOf = (picture) => [Number(picture.getAttribute('width')), Number(picture.getAttribute('height'))];

// scale: dots per pixel of the page
export function canvasOf(picture, scale = devicePixelRatio || 1) {
  const [width, height] = sizeOf(picture);
  const canvas = h('canvas', { width: Math.ceil(scale * width), height: Math.ceil(scale * height) });
  const context = canvas.getContext('2d');
  context.scale(scale, scale);
  draw(context, picture);
  return canvas;
}

export function textOf(picture) {
  const context = new SvgContext(...sizeOf(picture));
  draw(context, picture);
  return context.text();
}
