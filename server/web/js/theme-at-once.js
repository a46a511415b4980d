// Before the first paint, hence not a module: the theme chosen earlier. See theme.js.
try {
  const chosen = localStorage.getItem('banditd-theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch {
  // No storage: the system's theme.
}
