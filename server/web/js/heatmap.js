// A map of a function of two coordinates on a canvas, with the tried points. The arrow keys move a cursor.
import { FONT, fitted } from './choice-axis.js';
import { viridis, viridisText } from './colourmap.js';
import { h, replace } from './dom.js';
import { number, titleOf, value } from './format.js';
import { saveMenu } from './save-menu.js';
import { colour, onThemeChange } from './theme.js';
import { roundNumbers } from './ticks.js';

const MARGIN = { left: 80, right: 28, top: 8, bottom: 44 };
const TICKS = 5;

const placeText = (x) => (typeof x === 'number' ? number(x, 4) : value(x));

// The labels of an axis: [[place, text]], the place a fraction between two of its places. Choices are all labelled or, if
// there are many, some of them.
function ticksOf({ places, choices, log }) {
  const n = places.length;
  if (choices || n <= TICKS) {
    const step = Math.ceil(n / TICKS);
    return places.map((x, i) => [i, placeText(x)]).filter(([i]) => i % step === 0);
  }
  const placeOf = (x) => {
    const next = Math.max(1, places.findIndex((p) => p >= x));
    return next - 1 + (x - places[next - 1]) / (places[next] - places[next - 1]);
  };
  return roundNumbers(places[0], places[n - 1], TICKS, log).map((x) => [placeOf(x), placeText(x)]);
}

/* heatmap(parent, signal) -> {show(data)}
 *   data  {label, x, y, values, marks}
 *     x, y    {name, places, choices, log}: n and m places along the axes; whether they are choices or logarithmic
 *     values  m rows of n
 *     marks   [{i, j, best}], in places, fractions allowed */
export function heatmap(parent, signal) {
  const canvas = h('canvas', { class: 'heatmap', tabindex: 0, role: 'img', 'aria-label': 'Map' });
  const readout = h('p', { class: 'readout', 'aria-live': 'polite' });
  const save = saveMenu(() => data?.label ?? 'map', () => data && canvas, picture);
  replace(parent, h('div', { class: 'chart-head' }, readout, save), canvas);
  let data = null;
  let cursor = null; // [i, j]
  let range = [0, 1];

  const size = () => ({ width: canvas.clientWidth, height: canvas.clientHeight });

  function box() {
    const { width, height } = size();
    return { left: MARGIN.left, top: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
  }

  function drawCells(context, { left, top, width, height }) {
    const [n, m] = [data.x.places.length, data.y.places.length];
    const image = new ImageData(n, m);
    for (let j = 0; j < m; j++)
      for (let i = 0; i < n; i++) {
        const [r, g, b] = viridis((data.values[j][i] - range[0]) / (range[1] - range[0] || 1));
        image.data.set([r, g, b, 255], 4 * ((m - 1 - j) * n + i));
      }
    const cells = h('canvas', { width: n, height: m });
    cells.getContext('2d').putImageData(image, 0, 0);
    context.imageSmoothingEnabled = !data.x.choices && !data.y.choices;
    context.drawImage(cells, left, top, width, height);
  }

  function drawAxes(context, { left, top, width, height }) {
    const [n, m] = [data.x.places.length, data.y.places.length];
    context.fillStyle = colour('muted');
    context.font = FONT;
    context.textAlign = 'center';
    context.textBaseline = 'top';
    const [across, up] = [ticksOf(data.x), ticksOf(data.y)];
    const whole = []; // the texts that are shortened
    // Words are shortened, numbers are drawn narrower.
    const write = ({ choices }, text, room, x, y) => {
      const shown = choices?.some((choice) => typeof choice === 'string') ? fitted(context, text, room) : text;
      if (shown !== text) whole.push(text);
      context.fillText(shown, x, y, room);
    };
    const room = data.x.choices ? width / across.length - 8 : width / TICKS;
    for (const [i, text] of across) write(data.x, text, room, left + ((i + 0.5) / n) * width, top + height + 6);
    context.textAlign = 'right';
    context.textBaseline = 'middle';
    for (const [j, text] of up) write(data.y, text, MARGIN.left - 30, left - 6, top + height - ((j + 0.5) / m) * height);
    canvas.title = [...new Set(whole)].join(', ');
    context.fillStyle = colour('ink');
    context.textAlign = 'center';
    context.textBaseline = 'bottom';
    context.fillText(titleOf(data.x), left + width / 2, top + height + MARGIN.bottom - 4, width);
    context.save();
    context.translate(11, top + height / 2);
    context.rotate(-Math.PI / 2);
    context.textBaseline = 'middle';
    context.fillText(titleOf(data.y), 0, 0, height);
    context.restore();
  }

  function drawMarks(context, { left, top, width, height }) {
    const [n, m] = [data.x.places.length, data.y.places.length];
    for (const mark of data.marks) {
      const x = left + ((mark.i + 0.5) / n) * width;
      const y = top + height - ((mark.j + 0.5) / m) * height;
      context.beginPath();
      context.arc(x, y, mark.best ? 6.5 : 2.2, 0, 2 * Math.PI);
      context.fillStyle = mark.best ? 'rgba(0, 0, 0, 0)' : 'rgba(255, 255, 255, 0.85)';
      context.fill();
      context.lineWidth = mark.best ? 4.5 : 1;
      context.strokeStyle = 'rgba(0, 0, 0, 0.75)';
      context.stroke();
      if (!mark.best) continue;
      context.lineWidth = 2;
      context.strokeStyle = '#fff';
      context.stroke();
    }
  }

  function drawCursor(context, { left, top, width, height }) {
    if (!cursor) return;
    const [n, m] = [data.x.places.length, data.y.places.length];
    context.strokeStyle = '#fff';
    context.lineWidth = 1.5;
    context.strokeRect(left + (cursor[0] / n) * width, top + height - ((cursor[1] + 1) / m) * height, width / n, height / m);
  }

  function drawAll(context, inner) {
    drawCells(context, inner);
    drawAxes(context, inner);
    drawMarks(context, inner);
  }

  async function picture() {
    const { SvgContext } = await import('./picture.js');
    const { width, height } = size();
    const context = new SvgContext(width, height);
    drawAll(context, box());
    return context.text();
  }

  function draw() {
    const { width, height } = size();
    if (!data || !width) return;
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    const context = canvas.getContext('2d');
    context.scale(ratio, ratio);
    const inner = box();
    drawAll(context, inner);
    drawCursor(context, inner);
    read();
  }

  function read() {
    const scale = h('span', { class: 'scale' }, h('span', {}, number(range[0], 4)), h('span', { class: 'scale-bar', style: { background: `linear-gradient(90deg, ${[0, 0.25, 0.5, 0.75, 1].map((t) => viridisText(t)).join(', ')})` } }), h('span', {}, number(range[1], 4)));
    if (!cursor) return replace(readout, scale);
    const [i, j] = cursor;
    return replace(readout, scale, h('span', {}, `${data.x.name} ${placeText(data.x.places[i])}, ${data.y.name} ${placeText(data.y.places[j])}: `, h('b', {}, number(data.values[j][i]))));
  }

  function point(event) {
    if (!data) return;
    const { left, top, width, height } = box();
    const i = Math.floor(((event.offsetX - left) / width) * data.x.places.length);
    const j = Math.floor(((top + height - event.offsetY) / height) * data.y.places.length);
    cursor = i >= 0 && j >= 0 && i < data.x.places.length && j < data.y.places.length ? [i, j] : null;
    draw();
  }
  canvas.addEventListener('pointermove', point);
  canvas.addEventListener('pointerdown', point);
  canvas.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!step || !data) return;
    event.preventDefault();
    const limits = [data.x.places.length - 1, data.y.places.length - 1];
    const from = cursor ?? limits.map((l) => Math.floor(l / 2));
    cursor = from.map((at, k) => Math.min(limits[k], Math.max(0, at + step[k])));
    draw();
  });
  const observer = new ResizeObserver(draw);
  observer.observe(canvas);
  onThemeChange(draw, signal);
  signal.addEventListener('abort', () => observer.disconnect());

  return {
    show(next) {
      data = next;
      cursor = null;
      const all = data.values.flat();
      range = [Math.min(...all), Math.max(...all)];
      canvas.setAttribute('aria-label', `${data.label}, from ${number(range[0])} to ${number(range[1])}. The arrow keys move a cursor.`);
      draw();
    },
  };
}
