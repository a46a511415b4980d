// Parallel coordinates: one line per trial, through its parameters and its value. Ranges on the axes select lines. Drawn
// are the best trials and the newest ones.
import { axesOf, position } from './axes.js';
import { viridisText } from './colourmap.js';
import { h, replace } from './dom.js';
import { refresher } from './feed.js';
import { count, number, titleOf, value } from './format.js';
import { saveMenu } from './save-menu.js';
import { address, go } from './router.js';
import { objective, otherMetrics } from './study-actions.js';
import { colour, faded, isDark, onThemeChange } from './theme.js';
import { roundNumbers } from './ticks.js';
import { notableTrials } from './trials.js';
import { control, guarded, NothingToShow, panel, select, table } from './widgets.js';

const BEST = 500; // lines
const NEWEST = 500;
const LISTED = 8; // of the chosen trials, in the table
const HEIGHT = 400;
const TOP = 46;
const BOTTOM = 54;
const UNSET = 22; // px below the axes: where lines pass an axis whose parameter is not active
const SIDE = 48;
const TICKS = 4; // between the ends of an axis, about
const DIGIT = 7.5; // px, the width of a character of a tick
const REACH = 6; // px from a line within which the pointer is on it
const LEAST = 96; // px between axes; with many axes the picture scrolls

// An axis with the range of its parameter or, if it has none, that of the trials: share(x) from 0 at the bottom to 1.
function scaled(axis, numbers) {
  const known = numbers.filter(Number.isFinite);
  const min = axis.choices ? 0 : (axis.min ?? Math.min(...known));
  const max = axis.choices ? axis.choices.length - 1 : (axis.max ?? Math.max(...known));
  const log = axis.log && min > 0;
  const share = (x) => {
    if (!(max > min)) return 0.5;
    return log ? Math.log(x / min) / Math.log(max / min) : (x - min) / (max - min);
  };
  const text = (x) => (axis.choices ? value(axis.choices[x] ?? '') : number(x, 4));
  const isSet = (x) => Number.isFinite(x) && !(axis.choices && x < 0);
  return { name: axis.name, title: titleOf(axis), numbers, min, max, ticks: axis.choices ? [] : roundNumbers(min, max, TICKS, log).filter((x) => share(x) > 0.06 && share(x) < 0.94), share, text, isSet, gaps: !numbers.every(isSet), brush: null };
}

export async function parallelTab(element, feed, signal) {
  const metric = objective(feed.study);
  const view = panel('Parallel coordinates', { wide: true });
  replace(element, h('div', { class: 'panels' }, view.element));
  if (!axesOf(feed.study).length) {
    view.fail('This study has a kernel matrix; its candidates have no coordinates to show.');
    return;
  }
  const best = h('input', { type: 'range', min: 1, max: 100, value: 100, class: 'slider' });
  const clear = h('button', { type: 'button', class: 'small', onclick: () => {
    for (const axis of axes) axis.brush = null;
    best.value = 100;
    showBrush();
    draw();
  } }, 'All lines');
  const share = h('output', {}, '100 %');

  // Controls that set the ranges without a pointer.
  const which = select([], '', () => showBrush());
  const ends = ['from', 'to'].map((text, i) => h('input', { type: 'range', min: 0, max: 100, value: 100 * i, 'aria-label': `range ${text}, percent of the axis` }));
  for (const end of ends)
    end.addEventListener('input', () => {
      const shares = ends.map((e) => e.value / 100).sort((a, b) => a - b);
      axisChosen().brush = shares[0] > 0 || shares[1] < 1 ? shares : null;
      draw();
    });
  const axisChosen = () => axes.find((axis) => axis.name === which.value) ?? axes[0];
  function showBrush() {
    const [low, high] = axisChosen().brush ?? [0, 1];
    [ends[0].value, ends[1].value] = [100 * low, 100 * high];
  }
  replace(view.tools, h('span', { class: 'control wrap' }, control('range of', which), ends), control('best', best), share, clear, saveMenu(() => `parallel coordinates ${feed.id}`, () => axes.length && canvas, picture));
  const canvas = h('canvas', { class: 'parallel', 'aria-label': 'Parallel coordinates', role: 'img' });
  const readout = h('p', { class: 'readout', 'aria-live': 'polite' });
  const chosenBody = h('div', { class: 'chosen' });
  const key = h('p', { class: 'scale' }, h('span', {}, 'worst'), h('i', { class: 'scale-bar' }), h('span', {}, 'best'));
  replace(view.body, key, readout, h('div', { class: 'scroll', tabindex: 0, role: 'group', 'aria-label': 'Parallel coordinates' }, canvas), chosenBody);

  let trials = [];
  let axes = [];
  let hovered = null; // the index of the trial under the pointer
  let size = { width: 0, height: HEIGHT };
  const xOf = (i) => SIDE + (i * (size.width - 2 * SIDE)) / Math.max(1, axes.length - 1);
  const yAt = (axis, x) => (axis.isSet(x) ? yOf(axis.share(x)) : HEIGHT - BOTTOM + UNSET);
  const yOf = (s) => TOP + (1 - s) * (HEIGHT - TOP - BOTTOM);

  const better = (a, b) => (metric.goal === 'minimize' ? a.value - b.value : b.value - a.value);

  function chosen() {
    const kept = Math.max(1, Math.round((trials.length * best.value) / 100));
    const among = new Set(best.value < 100 ? [...trials.keys()].sort((a, b) => better(trials[a], trials[b])).slice(0, kept) : trials.keys());
    return trials.map((_, k) => among.has(k) && axes.every(({ brush, numbers, isSet, share: s }) => !brush || (isSet(numbers[k]) && s(numbers[k]) >= brush[0] && s(numbers[k]) <= brush[1])));
  }

  function drawKey() {
    const stops = [0.04, 0.27, 0.5, 0.73, 0.96].map((s) => viridisText(isDark() ? s : 1 - s));
    key.querySelector('.scale-bar').style.background = `linear-gradient(90deg, ${stops.join(', ')})`;
  }

  function drawLines(context, isChosen) {
    // By rank, the worst first. The best gets the end of the colour scale that contrasts with the background.
    const ranked = [...trials.keys()].sort((a, b) => better(trials[b], trials[a]));
    const good = new Map(ranked.map((k, rank) => [k, rank / Math.max(1, trials.length - 1)]));
    const unchosen = Math.min(0.08, 12 / trials.length); // a dense band would outweigh the chosen lines
    for (const k of ranked.sort((a, b) => isChosen[a] - isChosen[b])) {
      const share = 0.04 + 0.92 * (isDark() ? good.get(k) : 1 - good.get(k));
      context.strokeStyle = isChosen[k] ? viridisText(share, 0.35 + 0.5 * good.get(k)) : faded('muted', unchosen);
      context.lineWidth = isChosen[k] ? 1.2 : 1;
      context.beginPath();
      axes.forEach((axis, i) => context.lineTo(xOf(i), yAt(axis, axis.numbers[k])));
      context.stroke();
    }
  }

  function drawAxes(context) {
    context.font = '12px system-ui, sans-serif';
    axes.forEach((axis, i) => {
      const x = xOf(i);
      context.strokeStyle = colour('muted');
      context.lineWidth = 1;
      context.strokeRect(x, yOf(1), 0.01, yOf(0) - yOf(1));
      const edge = i === 0 ? 'left' : i === axes.length - 1 ? 'right' : 'center';
      const at = { left: 4, right: size.width - 4, center: x }[edge];
      context.textAlign = edge;
      context.fillStyle = colour('ink');
      context.textBaseline = 'top';
      const room = Math.max(60, (size.width - 2 * SIDE) / Math.max(1, axes.length - 1) - 10);
      context.fillText(axis.title, at, 6, room);
      context.fillStyle = colour('muted');
      context.fillText(axis.text(axis.max), at, 24, room);
      context.fillText(axis.text(axis.min), at, HEIGHT - BOTTOM + 4, room);
      context.textAlign = i === axes.length - 1 ? 'right' : 'left';
      context.textBaseline = 'middle';
      for (const tick of axis.ticks) {
        const [text, y] = [axis.text(tick), yOf(axis.share(tick))];
        const width = DIGIT * text.length;
        context.fillStyle = faded('surface', 0.75); // legible on lines
        context.fillRect(i === axes.length - 1 ? x - 3 - width : x + 3, y - 8, width, 16);
        context.fillStyle = colour('muted');
        context.fillText(text, x + (i === axes.length - 1 ? -5 : 5), y, room / 2);
      }
      context.textAlign = edge;
      context.textBaseline = 'top';
      if (axis.gaps) context.fillText('not set', at, HEIGHT - BOTTOM + UNSET + 5, room);
      if (!axis.brush) return;
      context.fillStyle = faded('accent', 0.25);
      context.strokeStyle = colour('accent');
      const [low, high] = axis.brush;
      context.fillRect(x - 8, yOf(high), 16, yOf(low) - yOf(high));
      context.strokeRect(x - 8, yOf(high), 16, yOf(low) - yOf(high));
    });
  }

  // The chosen line nearest to a point of the picture, null if none is near.
  function lineAt(x, y) {
    const i = axes.findIndex((_, k) => xOf(k) > x);
    if (i < 1) return null;
    const t = (x - xOf(i - 1)) / (xOf(i) - xOf(i - 1));
    const isChosen = chosen();
    let [found, least] = [null, REACH];
    trials.forEach((_, k) => {
      const [a, b] = [axes[i - 1], axes[i]].map((axis) => yAt(axis, axis.numbers[k]));
      const far = Math.abs(a + t * (b - a) - y);
      if (isChosen[k] && far < least) [found, least] = [k, far];
    });
    return found;
  }

  function drawHovered(context) {
    if (hovered === null) return;
    context.strokeStyle = colour('ink');
    context.lineWidth = 2.5;
    context.beginPath();
    axes.forEach((axis, i) => context.lineTo(xOf(i), yAt(axis, axis.numbers[hovered])));
    context.stroke();
    replace(readout, h('b', {}, `trial ${count(trials[hovered].id)}`), `: ${axes.map((axis) => `${axis.name} ${axis.isSet(axis.numbers[hovered]) ? axis.text(axis.numbers[hovered]) : '–'}`).join(', ')}`);
  }

  // Moves an axis; the order is kept when trials are read again.
  let order = []; // names
  function moveAxis(axis, to) {
    axes = axes.filter((other) => other !== axis);
    axes.splice(Math.max(0, Math.min(axes.length, to)), 0, axis);
    order = axes.map(({ name }) => name);
    draw();
  }
  const move = (text, by, label) => h('button', { type: 'button', class: 'small', 'aria-label': label, onclick: () => moveAxis(axisChosen(), axes.indexOf(axisChosen()) + by) }, text);
  view.tools.querySelector('.wrap').append(move('◀', -1, 'move this axis to the left'), move('▶', 1, 'move this axis to the right'));

  async function picture() {
    const { SvgContext } = await import('./picture.js');
    const context = new SvgContext(size.width, size.height);
    drawLines(context, chosen());
    drawAxes(context);
    return context.text();
  }

  function draw() {
    const room = view.body.clientWidth;
    if (!room || !axes.length) return;
    size = { width: Math.max(room - 2, 2 * SIDE + LEAST * (axes.length - 1)), height: HEIGHT };
    canvas.style.width = `${size.width}px`;
    canvas.style.height = `${HEIGHT}px`;
    const ratio = devicePixelRatio || 1;
    canvas.width = size.width * ratio;
    canvas.height = HEIGHT * ratio;
    const context = canvas.getContext('2d');
    context.scale(ratio, ratio);
    const isChosen = chosen();
    drawLines(context, isChosen);
    drawAxes(context);
    drawKey();
    share.textContent = `${best.value} %`;
    const kept = trials.filter((_, k) => isChosen[k]);
    listChosen(kept);
    const values = kept.map((t) => t.value);
    replace(readout, `${count(kept.length)} of ${count(trials.length)} trials`, kept.length ? `, ${metric.name} from ${number(Math.min(...values))} to ${number(Math.max(...values))}` : '');
    drawHovered(context);
    canvas.setAttribute('aria-label', `Parameters and values of ${trials.length} trials as lines through ${axes.map((a) => a.name).join(', ')}`);
  }

  // The best of the chosen trials.
  function listChosen(kept) {
    const brushed = kept.length < trials.length;
    const top = [...kept].sort(better).slice(0, LISTED);
    const of = (axis) => (t) => {
      const x = axis.numbers[trials.indexOf(t)];
      return axis.isSet(x) ? axis.text(x) : '–';
    };
    const columns = [{ title: 'Trial', class: 'right', cell: (t) => h('a', { href: address('studies', feed.id, 'trials', t.id) }, count(t.id)) }, ...axes.map((axis) => ({ title: axis.name, class: 'right', cell: of(axis) }))];
    replace(chosenBody, brushed && top.length ? [h('h3', {}, `The best ${top.length} of them`), table('The best of the chosen trials', columns, top)] : null);
  }

  // Dragging along an axis sets its range; a click on the axis removes it. Dragging its name moves it. A click on a line
  // opens its trial.
  let dragged = null;
  canvas.addEventListener('pointerdown', (event) => {
    const i = axes.findIndex((_, k) => Math.abs(event.offsetX - xOf(k)) < 16);
    const named = event.offsetY < TOP - 4 ? axes.reduce((best, axis, k) => (Math.abs(event.offsetX - xOf(k)) < Math.abs(event.offsetX - xOf(axes.indexOf(best))) ? axis : best), axes[0]) : null;
    if (!named && i < 0) {
      if (hovered !== null) go(address('studies', feed.id, 'trials', trials[hovered].id));
      return;
    }
    dragged = { axis: named ?? axes[i], named: Boolean(named), from: event.offsetY };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!dragged) {
      const now = lineAt(event.offsetX, event.offsetY);
      if (now === hovered) return;
      hovered = now;
      canvas.style.cursor = now === null ? '' : 'pointer';
      draw();
      return;
    }
    if (dragged.named) return;
    const shares = [dragged.from, event.offsetY].map((y) => 1 - (y - TOP) / (HEIGHT - TOP - BOTTOM)).sort((a, b) => a - b);
    dragged.axis.brush = shares[1] - shares[0] > 0.01 ? shares : null;
    draw();
  });
  canvas.addEventListener('pointerleave', () => {
    if (hovered === null) return;
    hovered = null;
    draw();
  });
  canvas.addEventListener('pointerup', (event) => {
    if (dragged?.named) moveAxis(dragged.axis, axes.reduce((best, _, k) => (Math.abs(event.offsetX - xOf(k)) < Math.abs(event.offsetX - xOf(best)) ? k : best), 0));
    if (dragged) which.value = dragged.axis.name;
    showBrush();
    dragged = null;
    draw();
  });
  best.addEventListener('input', draw);
  const observer = new ResizeObserver(draw);
  observer.observe(view.body);
  onThemeChange(draw, signal);
  signal.addEventListener('abort', () => observer.disconnect());

  const read = refresher(
    () =>
      guarded(
        view,
        'a list of trials',
        async () => {
          const brushes = new Map(axes.map((axis) => [axis.name, axis.brush]));
          trials = await notableTrials(feed.study, BEST, NEWEST, signal);
          hovered = null;
          if (!trials.length) {
            axes = [];
            throw new NothingToShow('No values have been reported yet.');
          }
          axes = axesOf(feed.study).map((axis) => scaled(axis, trials.map((t) => position(axis, t))));
          for (const { name, unit } of otherMetrics(feed.study)) axes.push(scaled({ name, unit, choices: null }, trials.map((t) => t.values?.[name])));
          axes.push(scaled({ ...metric, choices: null }, trials.map((t) => t.value)));
          if (order.length) axes.sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
          for (const axis of axes) axis.brush = brushes.get(axis.name) ?? null;
          if (which.options.length !== axes.length) replace(which, axes.map((axis) => h('option', { value: axis.name }, axis.name)));
          view.note(`${feed.study.trials_completed > trials.length ? `The best ${BEST} trials and the newest ${NEWEST}` : 'All trials with a value'}. Drag along an axis to select a range, and its name to move it. Click a line to open its trial.`);
          draw();
        },
        signal,
      ),
    signal,
    1500,
  );
  feed.on('series', read, signal);
  read();
}
