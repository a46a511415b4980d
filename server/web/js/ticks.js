// Round numbers for the ticks of pictures that are drawn without uPlot.

// About `n` round numbers from low to high; with `log`, powers of ten and, over few powers, multiples of them.
export function roundNumbers(low, high, n, log = false) {
  if (!(high > low)) return [low];
  if (log && low > 0) {
    const powers = Math.log10(high / low);
    const steps = powers > n ? [1] : powers > n / 2 ? [1, 3] : [1, 2, 5];
    const all = [];
    for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k++) for (const m of steps) all.push(Number(`${m}e${k}`));
    const inside = all.filter((x) => x >= low * (1 - 1e-9) && x <= high * (1 + 1e-9));
    if (inside.length > 1) return inside.filter((_, i) => i % Math.ceil(inside.length / (1.5 * n)) === 0);
  }
  const raw = (high - low) / n;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}
