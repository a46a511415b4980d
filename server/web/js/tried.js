// The tried settings as dots beside an effect or a slice.
import { position } from './axes.js';
import { objective } from './study-actions.js';
import { colour } from './theme.js';

// -> [[place on the axis, value of the metric], …]
export function triedDots(study, axis, metric, trials) {
  const of = (t) => t.values?.[metric.name] ?? (metric.name === objective(study).name ? t.value : undefined);
  return trials.map((t) => [position(axis, t), of(t)]).filter(([x, y]) => Number.isFinite(x) && x !== -1 && Number.isFinite(y));
}

// The range of a band from `low` to `high` and of the dots that are not far from it, with a margin.
export function rangeWith(low, high, dots) {
  const near = dots.map(([, y]) => y).filter((y) => y > 2 * low - high && y < 2 * high - low);
  const [from, to] = [Math.min(low, ...near), Math.max(high, ...near)];
  const margin = 0.04 * (to - from) || 1;
  return [from - margin, to + margin];
}

// Those outside the axes are left out.
export function drawTried(u, dots) {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.fillStyle = colour('c-best');
  ctx.globalAlpha = 0.55;
  for (const [x, y] of dots) {
    const [left, top] = [u.valToPos(x, 'x', true), u.valToPos(y, 'y', true)];
    if (left < bbox.left || left > bbox.left + bbox.width || top < bbox.top || top > bbox.top + bbox.height) continue;
    ctx.beginPath();
    ctx.arc(left, top, 2 * devicePixelRatio, 0, 7);
    ctx.fill();
  }
  ctx.restore();
}
