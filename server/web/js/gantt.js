// A timeline: one row per worker, one bar per trial.
import { h, replace, svg } from './dom.js';
import { clock, duration, number } from './format.js';

const ROW = 24; // px
const BAR = 14;
const AXIS = 24;
const NAMES = 120;
export const ROWS = 60; // the most recent workers are drawn
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400, 172800, 604800]; // s

const exact = new Intl.DateTimeFormat('en-GB', { minute: '2-digit', second: '2-digit', fractionalSecondDigits: 2 });

const CLASS = { pending: 's-pending', completed: 's-completed', failed: 's-failed' };

// Overlapping spans of one worker are drawn in lanes below each other.
function lanes(spans) {
  const ends = [];
  return spans.map((s) => {
    let lane = ends.findIndex((end) => end <= s.from);
    if (lane < 0) lane = ends.length;
    ends[lane] = s.to;
    return [s, lane];
  });
}

function sentence({ trial, from, to, state }) {
  const parts = [`trial ${trial.id}`, state, `attempt ${trial.attempt}`, duration((to - from) / 1000)];
  if (trial.value !== undefined) parts.push(`value ${number(trial.value)}`);
  if (trial.reason) parts.push(trial.reason);
  return `${parts.join(', ')} (from ${clock(from)})`;
}

// -> {picture(), show(spans, begin, end)}; spans as in tab-workers.js, times in ms
export function timeline(parent, signal) {
  const stage = h('div', { class: 'scroll gantt', tabindex: 0, role: 'group', 'aria-label': 'Timeline of workers' });
  replace(parent, stage);
  let last = null;

  function draw() {
    const width = stage.clientWidth;
    if (!last || !width) return;
    const [spans, begin, end] = last;
    const plot = Math.max(120, width - NAMES - 12);
    const range = Math.max(100, end - begin);
    const x = (time) => NAMES + (plot * Math.max(0, time - begin)) / range;
    const byWorker = Map.groupBy(spans, (s) => s.worker);
    const last_ = (name) => Math.max(...byWorker.get(name).map((s) => s.from));
    const names = [...byWorker.keys()].sort((a, b) => last_(b) - last_(a)).slice(0, ROWS).sort();
    const step = STEPS.find((s) => range / (1000 * s) <= plot / 90) ?? STEPS.at(-1);
    const height = AXIS + ROW * names.length;
    const parts = [];
    for (let t = Math.ceil(begin / (1000 * step)) * 1000 * step; t <= end; t += 1000 * step) {
      parts.push(svg('line', { class: 'grid', x1: x(t), x2: x(t), y1: AXIS - 4, y2: height }));
      parts.push(svg('text', { class: 'tick', x: x(t), y: 14, 'text-anchor': 'middle' }, step < 1 ? exact.format(t) : clock(t)));
    }
    names.forEach((name, row) => {
      const top = AXIS + row * ROW;
      const label = svg('text', { class: 'name', x: 0, y: top + ROW / 2 + 4 }, name.length > 16 ? `${name.slice(0, 15)}…` : name);
      label.append(svg('title', {}, name));
      parts.push(svg('line', { class: 'row', x1: 0, x2: width, y1: top + ROW, y2: top + ROW }), label);
      const placed = lanes(byWorker.get(name).sort((a, b) => a.from - b.from));
      const depth = Math.max(...placed.map(([, lane]) => lane)) + 1;
      const each = BAR / depth;
      for (const [s, lane] of placed) {
        const bar = svg('rect', {
          class: `bar ${CLASS[s.state] ?? 's-other'}`,
          x: x(s.from),
          y: top + (ROW - BAR) / 2 + lane * each,
          width: Math.max(1.5, x(s.to) - x(Math.max(s.from, begin)) - 0.75),
          height: Math.max(1, each - (depth > 1 ? 0.75 : 0)),
        });
        bar.append(svg('title', {}, sentence(s)));
        parts.push(bar);
      }
    });
    replace(stage, svg('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${names.length} of ${byWorker.size} workers, ${spans.length} trials; the table below has the same figures` }, parts));
  }

  const observer = new ResizeObserver(draw);
  observer.observe(stage);
  signal.addEventListener('abort', () => observer.disconnect());
  return {
    picture: () => stage.querySelector('svg'), // nothing if none is shown
    show(...next) {
      last = next;
      draw();
    },
  };
}
