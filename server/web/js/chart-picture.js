// A chart of uPlot as SVG: its axes, bands and series as they are shown now, and what is drawn on top.
import { SvgContext } from './picture.js';
import { colour, faded } from './theme.js';

const FONT = 12;

const ratio = () => devicePixelRatio || 1;

function drawAxis(context, u, axis, number) {
  const { bbox } = u;
  const across = number === 0;
  const places = u.axes[number]._splits ?? [];
  const texts = u.axes[number]._values ?? [];
  context.lineWidth = ratio();
  places.forEach((split, i) => {
    if (split === null) return;
    const at = u.valToPos(split, across ? 'x' : 'y', true);
    context.strokeStyle = colour('grid');
    context.beginPath();
    if (across) {
      context.moveTo(at, bbox.top);
      context.lineTo(at, bbox.top + bbox.height);
    } else {
      context.moveTo(bbox.left, at);
      context.lineTo(bbox.left + bbox.width, at);
    }
    context.stroke();
    context.fillStyle = colour('muted');
    context.textAlign = across ? 'center' : 'right';
    context.textBaseline = across ? 'top' : 'middle';
    if (texts[i]) context.fillText(texts[i], across ? at : bbox.left - 8 * ratio(), across ? bbox.top + bbox.height + 8 * ratio() : at);
  });
  if (!axis.label) return;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  if (across) return void context.fillText(axis.label, bbox.left + bbox.width / 2, context.height - 9 * ratio());
  context.save();
  context.translate(10 * ratio(), bbox.top + bbox.height / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(axis.label, 0, 0);
  context.restore();
}

// The places of the values of a series: [[x, y], …]; those that are not known are left out.
function placesOf(u, values) {
  const places = [];
  values.forEach((value, i) => {
    if (Number.isFinite(value)) places.push([u.valToPos(u.data[0][i], 'x', true), u.valToPos(value, 'y', true)]);
  });
  return places.filter(([x, y]) => Number.isFinite(x) && Number.isFinite(y));
}

function drawBars(context, u, places) {
  const gaps = places.slice(1).map(([x], i) => x - places[i][0]);
  const width = Math.min(40 * ratio(), 0.9 * Math.min(...gaps, u.bbox.width));
  const ground = u.valToPos(Math.max(0, u.scales.y.min), 'y', true);
  for (const [x, y] of places) context.fillRect(x, y, width, ground - y);
}

function drawSeries(context, u, s, i) {
  const places = placesOf(u, u.data[i + 1]);
  const kind = s.kind ?? 'line';
  context.strokeStyle = s.faint ? faded(s.colour, s.faint) : colour(s.colour);
  context.fillStyle = kind === 'bars' ? faded(s.colour, 0.65) : context.strokeStyle;
  context.lineWidth = (s.width ?? 1.75) * ratio();
  context.setLineDash((s.dash ?? []).map((x) => x * ratio()));
  if (kind === 'bars') return drawBars(context, u, places);
  context.beginPath();
  if (kind !== 'points') {
    places.forEach(([x, y], k) => {
      if (kind === 'steps' && k) context.lineTo(x, places[k - 1][1]);
      context.lineTo(x, y);
    });
    context.stroke();
  }
  if (kind !== 'points' && !s.dots) return undefined;
  context.beginPath();
  for (const [x, y] of places) context.arc(x, y, ((kind === 'points' ? (s.size ?? 4.5) : 6) / 2) * ratio());
  context.fill();
  return undefined;
}

function drawBand(context, u, band) {
  const [upper, lower] = band.series.map((i) => placesOf(u, u.data[i]));
  context.fillStyle = faded(band.colour, band.opacity ?? 0.18);
  context.beginPath();
  for (const [x, y] of [...upper, ...lower.reverse()]) context.lineTo(x, y);
  context.fill();
}

// u: the plot of uPlot; config: the options of chart()
export function chartSvg(u, config) {
  const { width, height } = u.ctx.canvas;
  const context = new SvgContext(width, height);
  context.font = `${FONT * ratio()}px system-ui, sans-serif`;
  drawAxis(context, u, config.x, 0);
  drawAxis(context, u, config.y, 1);
  context.save();
  context.beginPath();
  context.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  context.clip();
  for (const band of config.bands ?? []) drawBand(context, u, band);
  config.series.forEach((s, i) => drawSeries(context, u, s, i));
  context.restore();
  config.draw?.(Object.create(u, { ctx: { value: context } }));
  return context.text(ratio());
}
