// The theme, light or dark: the system's, unless the user chooses one. Colours are custom properties in style.css.
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

// A custom property as a colour for a canvas, with light-dark() and var() resolved.
const probe = document.createElement('span');
probe.hidden = true;
export function colour(name) {
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

// The colour with an opacity from 0 to 1.
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
      // Without storage, the choice is lost when the page is left.
    }
    changed();
  });
  system.addEventListener('change', changed);
  return select;
}
