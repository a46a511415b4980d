// Sets the stored theme before the first paint. It is not a module, because modules run later. See theme.js.
try {
  const chosen = localStorage.getItem('banditd-theme');
  if (chosen === 'light' || chosen === 'dark') document.documentElement.dataset.theme = chosen;
} catch {
  // Without storage, the system's theme applies.
}
