// Numbers, times and durations as text, with a fixed number of digits, so that columns line up.

export function number(x, digits = 5) {
  if (x === null || x === undefined || Number.isNaN(x)) return '–';
  if (x === 0) return '0';
  if (!Number.isFinite(x)) return x > 0 ? '∞' : '−∞';
  const size = Math.abs(x);
  let text;
  if (Number.isInteger(x) && size < 1e10) return count(x).replace('-', '−');
  else if (size >= 1e7 || size < 1e-4) text = x.toExponential(digits - 2).replace(/\.?0+e/, 'e').replace('e+', 'e');
  else text = grouped(String(Number(x.toPrecision(size < 1 ? digits + ninesOf(size) : digits))));
  return text.replace(/-/g, '−');
}

// Shares such as 0.99995 and 0.99996 differ in the digits after the nines, so the nines after the first do not count.
const ninesOf = (share) => Math.min(6, Math.max(0, Math.floor(-Math.log10(1 - share) + 1e-9) - 1));

// Groups of three in the digits before the point, from five on.
const grouped = (text) => text.replace(/^-?\d{5,}/, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, '\u202f'));

// A text with its unit, and a name with its unit for the heads of tables and charts.
export const withUnit = (text, unit) => (unit ? `${text} ${unit}` : text);
export const titleOf = ({ name, unit }) => (unit ? `${name} (${unit})` : name);

export function count(n) {
  return n === null || n === undefined ? '–' : grouped(String(n));
}

// A formatter for a column. All values get the same number of decimals, so that the largest has `digits` digits.
export function columnFormat(values, digits = 5) {
  const sizes = values.filter((x) => Number.isFinite(x) && x !== 0).map(Math.abs);
  const decimals = digits - 1 - Math.floor(Math.log10(Math.max(...sizes)));
  if (!sizes.length || decimals < 0 || decimals > 8) return (x) => number(x, digits);
  const whole = values.every((x) => !Number.isFinite(x) || Number.isInteger(x));
  return (x) => (Number.isFinite(x) ? grouped(x.toFixed(whole ? 0 : decimals)).replace('-', '−') : '–');
}

export function plural(n, one, many = `${one}s`) {
  return `${count(n)} ${n === 1 ? one : many}`;
}

// With a space at which no line is broken.
export function percent(share) {
  return `${(100 * share).toFixed(share < 0.1 && share > 0 ? 1 : 0)}\u00a0%`;
}

// 0.0042 → "4.2 ms", 75 → "1:15", 4000 → "1 h 06 min"
export function duration(seconds) {
  if (seconds === null || seconds === undefined || Number.isNaN(seconds)) return '–';
  if (seconds < 0) return `−${duration(-seconds)}`;
  if (seconds === 0) return '0 s';
  if (seconds < 1e-3) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${Number((seconds * 1e3).toPrecision(3))} ms`;
  if (seconds < 60) return `${Number(seconds.toPrecision(3))} s`;
  const whole = Math.round(seconds);
  const two = (n) => String(n).padStart(2, '0');
  if (whole < 3600) return `${Math.floor(whole / 60)}:${two(whole % 60)} min`;
  if (whole < 86400) return `${Math.floor(whole / 3600)} h ${two(Math.floor((whole % 3600) / 60))} min`;
  return `${Math.floor(whole / 86400)} d ${Math.floor((whole % 86400) / 3600)} h`;
}

// A countdown: "9:07", "0:00"; hours as "2:09:07".
export function countdown(seconds) {
  const left = Math.max(0, Math.ceil(seconds));
  const two = (n) => String(n).padStart(2, '0');
  const [hours, minutes] = [Math.floor(left / 3600), Math.floor((left % 3600) / 60)];
  return hours ? `${hours}:${two(minutes)}:${two(left % 60)}` : `${minutes}:${two(left % 60)}`;
}

export function ago(time, now = Date.now()) {
  const seconds = (now - time) / 1000;
  if (seconds < 5) return 'just now';
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

const clockFormat = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const fullFormat = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
export const clock = (time) => clockFormat.format(new Date(time));
export const fullTime = (time) => fullFormat.format(new Date(time));

// A point, a parameter's value or anything else of JSON in a table's cell.
export function value(x) {
  if (typeof x === 'number') return number(x);
  if (Array.isArray(x)) return x.map(value).join(', ');
  return typeof x === 'string' ? x : JSON.stringify(x);
}
