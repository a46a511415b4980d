// Settings as text to copy: JSON, Python, options of a shell command.
export function pythonValue(x) {
  if (x === null || typeof x === 'boolean') return { null: 'None', true: 'True', false: 'False' }[x];
  if (Array.isArray(x)) return `[${x.map(pythonValue).join(', ')}]`;
  return typeof x === 'object' ? `{${Object.entries(x).map(([name, y]) => `${JSON.stringify(name)}: ${pythonValue(y)}`).join(', ')}}` : JSON.stringify(x);
}

const shellWord = (text) => (/^[\w.,:/@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
const shellText = (x) => (typeof x === 'string' ? x : JSON.stringify(x));

const FORMATS = {
  JSON: (settings, identity) => JSON.stringify({ ...identity, ...settings }, null, 2),
  Python: (settings) => `parameters = {\n${Object.entries(settings).map(([name, x]) => `    ${JSON.stringify(name)}: ${pythonValue(x)},\n`).join('')}}`,
  shell: (settings) => Object.entries(settings).map(([name, x]) => shellWord(`--${name}=${shellText(x)}`)).join(' '),
};

// identity: of a candidate; it is copied with JSON only, because programs take the settings.
export const settingsText = (format, settings, identity) => FORMATS[format](settings, identity);
