// Charts with uPlot: theme, size, logarithmic axes, a line of text with the values under the cursor, arrow keys that
// move the cursor, and a menu that saves the picture.
import { h, replace } from './dom.js';
import { number } from './format.js';
import { saveMenu } from './save-menu.js';
import { colour, faded, onThemeChange } from './theme.js';

const uPlot = globalThis.uPlot;
const FONT = '12px system-ui, sans-serif';

const PATHS = {
  line: undefined, // uPlot's own: straight lines
  steps: uPlot.paths.stepped({ align: 1 }),
  bars: uPlot.paths.bars({ size: [0.9, 40, 1] }),
  points: () => null,
};

function seriesOptions(s) {
  const points = s.kind === 'points';
  return {
    label: s.label,
    stroke: s.faint ? faded(s.colour, s.faint) : colour(s.colour),
    fill: s.kind === 'bars' ? faded(s.colour, 0.65) : undefined,
    width: points ? 1 : (s.width ?? (s.kind === 'bars' ? 0 : 1.75)),
    dash: s.dash,
    paths: PATHS[s.kind ?? 'line'],
    spanGaps: s.kind !== 'points',
    points: points
      ? { show: true, size: s.size ?? 4.5, width: 0, fill: s.faint ? faded(s.colour, s.faint) : colour(s.colour) }
      : { show: s.dots ?? false, size: 6, fill: colour(s.colour) },
  };
}

// Ticks at 1, 2 and 5 times each power of ten. Over many powers, at the powers only; over less than one, at even steps.
function logarithmicTicks(u, axis, low, high) {
  if (!(low > 0 && high > low && Number.isFinite(high))) return [];
  const powers = Math.log10(high / low);
  if (powers < 0.5) {
    const step = 10 ** Math.floor(Math.log10((high - low) / 2));
    return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, i) => (Math.ceil(low / step) + i) * step).filter((x) => x <= high);
  }
  const ticks = [];
  for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k++)
    for (const m of powers > 3 ? [1] : powers > 1.5 ? [1, 3] : [1, 2, 5]) ticks.push(Number(`${m}e${k}`));
  return ticks.filter((x) => x >= low && x <= high);
}

function axisOptions(axis, scale, side) {
  return {
    scale,
    side,
    label: axis.label,
    labelFont: FONT,
    labelSize: 20,
    font: FONT,
    size: side === 2 ? 28 : 58,
    gap: 4,
    space: side === 2 ? 60 : 34,
    stroke: colour('muted'),
    grid: { stroke: colour('grid'), width: 1 },
    ticks: { stroke: colour('grid'), width: 1, size: 4 },
    values: axis.values ?? ((u, ticks) => ticks.map((tick) => (tick === null ? '' : number(tick, 6)))),
    splits: axis.splits ?? (axis.log && axis.positive ? logarithmicTicks : axis.around ? symmetricTicks : undefined),
    filter: axis.log ? (u, ticks) => ticks : undefined,
    incrs: axis.whole ? [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 2e6, 5e6, 1e7] : undefined,
  };
}

function tight(u, low, high) {
  return low < high ? [low * 0.97, high * 1.03] : [low / 2, high * 2];
}

// The scale of an axis. A logarithmic scale with values at or below zero uses the inverse hyperbolic sine, which is
// linear around zero.
function scaleOptions(axis, columns) {
  const options = { time: Boolean(axis.time) };
  axis.positive = false;
  axis.around = false;
  if (axis.range) options.range = axis.range;
  if (!axis.log) return options;
  let [low, smallest, largest] = [Infinity, Infinity, 0];
  for (const column of columns)
    for (const value of column)
      if (value !== null && value !== undefined) {
        low = Math.min(low, value);
        const size = Math.abs(value);
        if (size > 0) smallest = Math.min(smallest, size);
        largest = Math.max(largest, size);
      }
  // Without a range, a logarithmic scale would extend to the next powers of ten.
  if (!Number.isFinite(low)) return options; // nothing to draw yet
  axis.positive = low > 0;
  if (low > 0) return { distr: 3, range: tight, ...options };
  axis.around = true;
  return { ...options, distr: 4, asinh: Math.max(smallest, largest / 1e3) || 1 };
}

// Ticks of a scale that is linear around zero: zero, and powers of ten on both sides.
function symmetricTicks(u, axis, low, high) {
  const linear = u.scales.y.asinh;
  const ticks = [0];
  for (let size = 10 ** Math.ceil(Math.log10(linear)); size <= Math.max(-low, high) && ticks.length < 40; size *= 10) ticks.push(-size, size);
  return ticks.filter((x) => x >= low && x <= high).sort((a, b) => a - b);
}

/* The range of an axis that a few outliers do not spoil: values far beyond the quartiles are outside. All values on the
 * good side are inside. -> {low, high, outside}, null if there are no such values
 *   good  'low' | 'high' | 'none'  */
export function robustRange(values, good) {
  const known = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (known.length < 12) return null;
  const at = (share) => known[Math.round(share * (known.length - 1))];
  const reach = 2 * (at(0.75) - at(0.25));
  if (!(reach > 0)) return null;
  const low = good === 'low' ? known[0] : Math.max(known[0], at(0.25) - reach);
  const high = good === 'high' ? known.at(-1) : Math.min(known.at(-1), at(0.75) + reach);
  const outside = known.filter((x) => x < low || x > high).length;
  if (!outside || outside > known.length / 4 || (known.at(-1) - known[0]) < 1.5 * (high - low)) return null;
  const margin = 0.04 * (high - low);
  return { low: low - margin, high: high + margin, outside };
}

/* chart(parent, options) -> {set(columns), change(options)}
 *   label     the text for screen readers
 *   x, y      axes: {label, log, values, range, whole, time}; with `time`, the values are in ms
 *   series    [{label, colour, kind: line | steps | bars | points, faint, width, dash, quiet, show(value)}]
 *             `quiet`: drawn, but not in the text above the chart
 *   bands     [{series: [upper, lower], colour, opacity}]
 *   open      function(x, y, index), called when the user clicks at a value or, without y, presses Enter
 *   hover     function(u, stage), called when the cursor has moved
 *   draw      function(u), called after drawing */
export function chart(parent, options, signal) {
  let config = options;
  let columns = null;
  let plot = null;
  const readout = h('p', { class: 'readout', 'aria-live': 'off' });
  const stage = h('div', {
    class: 'chart',
    tabindex: 0,
    role: 'group',
    'aria-roledescription': 'chart',
    'aria-label': config.label,
  });
  stage.style.setProperty('--chart-height', `${config.height ?? 240}px`);
  const save = saveMenu(() => config.label, () => plot?.ctx.canvas, async () => (await import('./chart-picture.js')).chartSvg(plot, config));
  save.querySelector('summary').setAttribute('aria-label', `Save the chart: ${config.label}`);
  replace(parent, h('div', { class: 'chart-head' }, readout, save), stage);

  function read(index) {
    if (!columns?.[0].length) return;
    const at = index ?? columns[0].length - 1;
    const parts = [h('span', { class: 'readout-x' }, `${config.x.label ?? 'x'} ${config.x.show?.(columns[0][at]) ?? number(columns[0][at])}`)];
    config.series.forEach((s, i) => {
      if (s.quiet) return;
      const value = columns[i + 1][at];
      parts.push(h('span', { class: 'readout-value' }, h('i', { class: `swatch ${s.colour} ${s.kind ?? 'line'}` }), `${s.label} `, h('b', {}, s.show?.(value) ?? number(value))));
    });
    replace(readout, parts);
  }

  function moved(u) {
    read(u.cursor.idx);
    config.hover?.(u, stage);
  }

  function build() {
    plot?.destroy();
    plot = null;
    if (!columns || !stage.clientWidth) return; // the observer below builds it when there is room
    const scales = {
      x: scaleOptions(config.x, [columns[0]]),
      y: scaleOptions(config.y, columns.slice(1)),
    };
    plot = new uPlot(
      {
        ms: 1, // times are in milliseconds
        width: stage.clientWidth,
        height: config.height ?? 240,
        padding: [8, 26, 0, 0],
        legend: { show: false },
        cursor: { points: { size: 7 }, drag: { x: true, y: false }, focus: { prox: 30 }, ...config.cursor },
        scales,
        axes: [axisOptions(config.x, 'x', 2), axisOptions(config.y, 'y', 3)],
        series: [{}, ...config.series.map(seriesOptions)],
        bands: config.bands?.map((b) => ({ series: b.series, fill: faded(b.colour, b.opacity ?? 0.18) })),
        hooks: { setCursor: [moved], draw: config.draw ? [config.draw] : [] },
      },
      columns,
      stage,
    );
    plot.root.setAttribute('aria-hidden', 'true');
    if (config.open) followClicks();
    read(null);
  }

  // A click that does not end a drag opens the value nearest to it.
  function followClicks() {
    let from = null;
    plot.over.style.cursor = 'pointer';
    plot.over.addEventListener('mousedown', (event) => (from = [event.clientX, event.clientY]));
    plot.over.addEventListener('click', (event) => {
      const still = from && Math.hypot(event.clientX - from[0], event.clientY - from[1]) < 4;
      if (still && plot.cursor.idx !== null && plot.cursor.idx !== undefined) config.open(columns[0][plot.cursor.idx], plot.posToVal(plot.cursor.top, 'y'), plot.cursor.idx);
    });
  }

  stage.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && config.open && columns?.[0].length) {
      const index = plot?.cursor.idx ?? columns[0].length - 1;
      config.open(columns[0][index], undefined, index);
    }
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -25, PageDown: 25, Home: -Infinity, End: Infinity };
    if (!plot || !columns[0].length || !(event.key in steps)) return;
    event.preventDefault();
    const now = plot.cursor.idx ?? columns[0].length - 1;
    const next = Math.min(columns[0].length - 1, Math.max(0, now + steps[event.key]));
    readout.setAttribute('aria-live', 'polite');
    plot.setCursor({ left: plot.valToPos(columns[0][next], 'x'), top: 20 });
  });
  stage.addEventListener('blur', () => readout.setAttribute('aria-live', 'off'));

  let width = 0;
  const observer = new ResizeObserver(() => {
    if (stage.clientWidth === width) return;
    width = stage.clientWidth;
    if (plot && width) plot.setSize({ width, height: config.height ?? 240 });
    else build();
  });
  observer.observe(stage);
  onThemeChange(build, signal);
  signal.addEventListener('abort', () => {
    observer.disconnect();
    plot?.destroy();
  });

  return {
    // columns: the x values, then one array per series
    set(next) {
      const same = columns && !config.x.log && !config.y.log;
      columns = next;
      if (plot && same) plot.setData(columns);
      else build();
      if (plot && (plot.cursor.idx ?? null) === null) read(null);
    },
    change(more) {
      config = { ...config, ...more };
      stage.setAttribute('aria-label', config.label);
      build();
    },
    redraw() {
      plot?.redraw(false);
    },
    describe(label) {
      if (stage.getAttribute('aria-label') !== label) stage.setAttribute('aria-label', label);
    },
  };
}
