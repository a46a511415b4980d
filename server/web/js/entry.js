// Numbers and results as people enter them.
import { h } from './dom.js';

// 1.5, 1,5, −3, 2e-4. A number with both a point and a comma could mean two things, and is refused.
export function readNumber(text) {
  const plain = text.trim().replace('−', '-');
  if (!/^[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?$/i.test(plain)) return null;
  const number = Number(plain.replace(',', '.'));
  return Number.isFinite(number) ? number : null;
}

const WAYS = 'Write a number such as 1.5 or 1,5.';

/* The values of a result: one input for each metric, with its unit.
 *   metrics   the objective first
 * -> {inputs, read(), fill(values), clear(), blank()}
 *   read()    {values: {name: number}} or {wrong: the first input that is not valid}; wrong inputs show why
 *   blank()   whether nothing has been entered */
export function valueInputs(metrics, label) {
  const inputs = metrics.map((metric) => {
    const words = `${metric.name}${metric.unit ? ` in ${metric.unit}` : ''}`;
    return h('input', { type: 'text', inputmode: 'decimal', autocomplete: 'off', placeholder: metric.unit, 'aria-label': `${words} of ${label}` });
  });
  const mark = (input, wrong) => {
    input.setCustomValidity(wrong ?? '');
    if (wrong) input.setAttribute('aria-invalid', 'true');
    else input.removeAttribute('aria-invalid');
  };
  for (const input of inputs) input.addEventListener('input', () => mark(input));
  return {
    inputs,
    blank: () => inputs.every((input) => input.value.trim() === ''),
    clear: () => inputs.forEach((input) => {
      input.value = '';
      mark(input);
    }),
    fill: (values) => inputs.forEach((input, i) => {
      const value = values[metrics[i].name];
      if (value !== undefined) input.value = String(value);
      mark(input);
    }),
    read() {
      const values = {};
      let wrong = null;
      inputs.forEach((input, i) => {
        const text = input.value.trim();
        const number = text === '' ? null : readNumber(text);
        const needed = metrics[i].role !== 'recorded';
        const fault = text === '' ? (needed ? `Enter the ${metrics[i].name}.` : null) : number === null ? WAYS : null;
        mark(input, fault);
        if (fault) wrong ??= input;
        else if (number !== null) values[metrics[i].name] = number;
      });
      return wrong ? { wrong } : { values };
    },
  };
}

// The members of a result or an amendment that carry the values.
export function told(metrics, values) {
  return metrics.length === 1 ? { value: values[metrics[0].name] } : { values };
}
