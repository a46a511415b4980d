// Addresses after the #, so that the server has only one page: #/, #/new, #/studies/ID/TAB?name=value
export function here() {
  const [path, search = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { parts: path.split('/').filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(search) };
}

export function address(...parts) {
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

// Changes the part after the ? without a new entry in the history and without leaving the page.
export function setQuery(parameters) {
  const { parts } = here();
  const given = Object.entries(parameters).filter(([, value]) => value);
  const search = given.length ? `?${new URLSearchParams(given)}` : '';
  history.replaceState(null, '', address(...parts) + search);
}

export function go(hash) {
  location.hash = hash;
}
