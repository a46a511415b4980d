// The axis of a parameter with choices: their texts below it. Words are shortened so that they do not overlap.
import { value } from './format.js';

export const FONT = '12px system-ui, sans-serif';
const BESIDE = 84; // px of a chart's width that are not the plot's
const LEFT = 46; // px for a text at the left of a chart
const GAP = 8; // px between two texts

// The text, or as much of its beginning as there is room for, with an ellipsis.
export function fitted(context, text, room) {
  context.save();
  context.font = FONT;
  let shown = text;
  for (let n = text.length - 1; n > 0 && context.measureText(shown).width > room; n--) shown = `${text.slice(0, n).trimEnd()}…`;
  context.restore();
  return shown;
}

// Of the axis of a chart: its range, and texts at up to `most` places. The chart's title has the whole texts.
export function choiceAxis(choices, most) {
  const step = Math.ceil(choices.length / most);
  const texts = (u, splits, side) => {
    const room = side === 0 ? ((u.width - BESIDE) * step) / choices.length - GAP : LEFT;
    const whole = choices.map((x, i) => (i % step ? '' : value(x)));
    const shown = whole.map((text, i) => (typeof choices[i] === 'string' ? fitted(u.ctx, text, room) : text));
    u.root.title = shown.some((text, i) => text !== whole[i]) ? whole.filter(Boolean).join(', ') : '';
    return shown;
  };
  return { range: [-0.5, choices.length - 0.5], splits: () => choices.map((_, i) => i), values: texts };
}
