// A table as a CSV file (RFC 4180), made in the page.
const cell = (x) => {
  if (x === undefined || x === null) return '';
  const text = Array.isArray(x) ? JSON.stringify(x) : String(x);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export function csvText(titles, rows) {
  return [titles, ...rows].map((row) => `${row.map(cell).join(',')}\r\n`).join('');
}

export function saveBlob(name, blob) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

export function saveCsv(name, titles, rows) {
  saveBlob(name, new Blob([csvText(titles, rows)], { type: 'text/csv' }));
}
