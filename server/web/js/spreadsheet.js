// Tables as spreadsheets save them: between commas, semicolons or tabs; decimal commas where these are not between cells.

// Splits text in the CSV format (RFC 4180) into rows of cells.
function split(text, separator) {
  const rows = [[]];
  let cell = '';
  let quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted && c === '"' && text[i + 1] === '"') {
      cell += '"';
      i += 1;
    } else if (c === '"' && (quoted || cell === '')) quoted = !quoted;
    else if (!quoted && c === separator) {
      rows.at(-1).push(cell);
      cell = '';
    } else if (!quoted && (c === '\n' || c === '\r')) {
      if (c === '\r' && text[i + 1] === '\n') i += 1;
      rows.at(-1).push(cell);
      cell = '';
      rows.push([]);
    } else cell += c;
  }
  rows.at(-1).push(cell);
  return rows.filter((row) => row.some((x) => x.trim() !== ''));
}

// The separator that the first line has most often outside quotes.
function separatorOf(text) {
  const line = text.split(/\r?\n/, 1)[0].replace(/"[^"]*"/g, '');
  const counted = ['\t', ';', ','].map((c) => [c, line.split(c).length - 1]);
  return counted.reduce((best, next) => (next[1] > best[1] ? next : best))[0];
}

// -> {titles, rows, separator}; the first line has the titles
export function readTable(text) {
  const plain = text.replace(/^\uFEFF/, '');
  const separator = separatorOf(plain);
  const [titles, ...rows] = split(plain, separator);
  if (!titles || !rows.length) throw new Error('The file must have a line of titles and at least one row.');
  return { titles: titles.map((t) => t.trim()), rows, separator };
}
