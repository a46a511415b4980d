// Numbers and results as people enter them.
import { h } from './dom.js';

// 1.5, 1,5, −3, 2e-4. A number with both a point and a comma could mean two things, and is refused.
export function readNumber(text) {
  const plain = text.trim().replace('−', '-');
  if (!/^[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?$/i.test(plain)) return null;
  const number = Number(plain.replace(',', '.'));
  return Number.isFinite(number) ? number : null;
}

// A number, and its standard error after ± or +-. -> {number, error}; error is null without one
export function readMeasured(text) {
  const parts = text.split(/±|\+\/?-/);
  const [number, error] = parts.map(readNumber);
  if (parts.length === 1) return number === null ? null : { number, error: null };
  return parts.length > 2 || number === null || error === null || error <= 0 ? null : { number, error };
}

const WAYS = 'Write a number such as 1.5 or 1,5; 1.5 ± 0.2 with its standard error.';
const PLAIN = 'Write a number such as 1.5 or 1,5.';

/* The values of a result: one input for each metric, with its unit.
 *   metrics   the objective first
 * -> {inputs, read(), fill(values), clear(), blank()}
 *   read()    {values: {name: number}, errors: {name: standard error, where one was entered}} or {wrong: the first input that is not valid}; wrong inputs show why
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
    fill: (values, errors = {}) => inputs.forEach((input, i) => {
      const { name } = metrics[i];
      if (values[name] !== undefined) input.value = `${values[name]}${errors[name] === undefined ? '' : ` ± ${errors[name]}`}`;
      mark(input);
    }),
    read() {
      const values = {};
      const errors = {};
      let wrong = null;
      inputs.forEach((input, i) => {
        const text = input.value.trim();
        const modelled = metrics[i].role !== 'recorded';
        const measured = text === '' ? null : readMeasured(text);
        const { number, error } = measured && (modelled || measured.error === null) ? measured : { number: null, error: null };
        const fault = text === '' ? (modelled ? `Enter the ${metrics[i].name}.` : null) : number === null ? (modelled ? WAYS : PLAIN) : null;
        mark(input, fault);
        if (fault) wrong ??= input;
        else if (number !== null) values[metrics[i].name] = number;
        if (error !== null) errors[metrics[i].name] = error;
      });
      return wrong ? { wrong } : { values, errors };
    },
  };
}

// The members of a result or an amendment that carry the values and their standard errors.
export function told(metrics, values, errors = {}) {
  const first = metrics.length === 1 ? { value: values[metrics[0].name] } : { values };
  return Object.keys(errors).length ? { ...first, std_errors: errors } : first;
}

// The standard errors of a trial, by metric.
export function errorsOf(metrics, trial) {
  return { ...trial.std_errors, ...(trial.std_error !== undefined && { [metrics[0].name]: trial.std_error }) };
}
