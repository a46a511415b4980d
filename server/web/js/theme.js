// Light or dark: the system's, unless the switch says otherwise. Colours are custom properties of style.css.
import { h } from './dom.js';

const KEY = 'banditd-theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set();

export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : system.matches;
}

// Calls `listener` after each change, until the signal is aborted.
export function onThemeChange(listener, signal) {
  listeners.add(listener);
  signal?.addEventListener('abort', () => listeners.delete(listener));
}

// A custom property as a colour that a canvas takes, with light-dark() and var() resolved.
const probe = document.createElement('span');
probe.hidden = true;
export function colour(name) {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

// The same, let through: `opacity` from 0 to 1.
export function faded(name, opacity) {
  const [r, g, b] = colour(name).match(/[\d.]+/g);
  return `rgba(${r}, ${g}, ${b}, ${opacity})`;
}

function changed() {
  for (const listener of listeners) listener();
}

export function themeSwitch() {
  const select = h(
    'select',
    { class: 'small', 'aria-label': 'Colours' },
    h('option', { value: '' }, 'System'),
    h('option', { value: 'light' }, 'Light'),
    h('option', { value: 'dark' }, 'Dark'),
  );
  select.value = document.documentElement.dataset.theme ?? '';
  select.addEventListener('change', () => {
    if (select.value) document.documentElement.dataset.theme = select.value;
    else delete document.documentElement.dataset.theme;
    try {
      localStorage.setItem(KEY, select.value);
    } catch {
      // Not kept for the next visit.
    }
    changed();
  });
  system.addEventListener('change', changed);
  return select;
}
