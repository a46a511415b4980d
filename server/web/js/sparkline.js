// A small chart of the best value so far, for a cell of a table.
import { svg } from './dom.js';
import { number } from './format.js';

const [WIDTH, HEIGHT, MARGIN] = [120, 28, 3];

export function sparkline(points) {
  const told = points.filter((p) => Number.isFinite(p.best));
  if (told.length < 2) return svg('svg', { class: 'sparkline', width: WIDTH, height: HEIGHT, 'aria-hidden': 'true' });
  const values = told.map((p) => p.value).filter(Number.isFinite);
  const bests = told.map((p) => p.best);
  const low = Math.min(...values, ...bests);
  const high = Math.max(...values, ...bests);
  const first = told[0].at;
  const span = told.at(-1).at - first || 1;
  const x = (p) => (MARGIN + ((p.at - first) / span) * (WIDTH - 2 * MARGIN)).toFixed(1);
  const y = (v) => (HEIGHT - MARGIN - ((v - low) / (high - low || 1)) * (HEIGHT - 2 * MARGIN)).toFixed(1);
  let path = `M${x(told[0])},${y(told[0].best)}`;
  for (const p of told.slice(1)) path += `H${x(p)}V${y(p.best)}`;
  return svg(
    'svg',
    {
      class: 'sparkline',
      width: WIDTH,
      height: HEIGHT,
      viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
      role: 'img',
      'aria-label': `best value, from ${number(bests[0])} to ${number(bests.at(-1))}`,
    },
    told.map((p) => (Number.isFinite(p.value) ? svg('circle', { class: 'spark-value', cx: x(p), cy: y(p.value), r: 1.1 }) : null)),
    svg('path', { class: 'spark-best', d: path }),
  );
}
