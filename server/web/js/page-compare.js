// Some studies side by side: the best so far of each, and where their definitions differ. #/compare?studies=a,b
import { get, studyPath } from './api.js';
import { MOST_COMPARED } from './bulk.js';
import { byTime } from './by-time.js';
import { chart } from './chart.js';
import { h, replace } from './dom.js';
import { count, duration, number, titleOf, value, withUnit } from './format.js';
import { address, here, setQuery } from './router.js';
import { placeTitle, readSeries } from './series.js';
import { hasFront, objective, told } from './study-actions.js';
import { definitionOf } from './tab-connect.js';
import { control, empty, loadingSign, panel, select, table, toggle } from './widgets.js';

const POINTS = 500;
const COLOURS = ['c-value', 'c-best', 'c-third', 'c-optimum', 's-pending', 's-other'];
const DASHES = [undefined, [8, 4], [2, 3]];

// One column of x values for all lines; a line keeps its last value until its own end.
export function aligned(lines) {
  const xs = [...new Set(lines.flatMap((line) => line.map(([x]) => x)))].sort((a, b) => a - b);
  const columns = lines.map((line) => {
    let next = 0;
    let now = null;
    return xs.map((x) => {
      while (next < line.length && line[next][0] <= x) now = line[next++][1];
      return next === line.length && x > line.at(-1)?.[0] ? null : now;
    });
  });
  return [xs, ...columns];
}

// {pointer: text} of everything in a definition.
function flat(object, pointer = '') {
  if (object === null || typeof object !== 'object' || Array.isArray(object)) return { [pointer]: value(object) };
  return Object.assign({}, ...Object.entries(object).map(([name, x]) => flat(x, pointer ? `${pointer}.${name}` : name)));
}

// What the studies are called here, with the id if several have one name, as forks do.
function namesOf(studies) {
  const own = studies.map((study) => study.display_name || study.id);
  return own.map((name, i) => (own.indexOf(name) === own.lastIndexOf(name) ? name : `${name} (${studies[i].id})`));
}

function differences(studies) {
  const texts = studies.map((study) => flat(definitionOf(study)));
  const names = [...new Set(texts.flatMap(Object.keys))];
  return names.filter((name) => new Set(texts.map((text) => text[name])).size > 1).map((name) => ({ name, texts: texts.map((text) => text[name] ?? '–') }));
}

export async function comparePage(main, { signal }) {
  const asked = here().query;
  const ids = (asked.get('studies') ?? '').split(',').filter(Boolean).slice(0, MOST_COMPARED);
  let along = asked.get('along') === 'time' ? 'time' : 'trial';
  let log = asked.get('log') === '1';
  const lines = panel('Best so far', { wide: true });
  const figures = panel('Figures', { wide: true });
  const differ = panel('Where they differ', { wide: true });
  if (ids.length < 2) {
    replace(main, h('h1', {}, 'Compare studies'), empty('Choose two or more studies in the ', h('a', { href: '#/' }, 'list'), ', then Compare.'));
    return;
  }
  const title = h('div', { class: 'page-head' }, h('h1', {}, 'Compare studies'));
  replace(main, title, loadingSign());
  const studies = await Promise.all(ids.map((id) => get(studyPath(id), signal)));
  const series = await Promise.all(ids.map((id) => readSeries(id, POINTS, signal)));
  const names = namesOf(studies);
  const metrics = new Set(studies.map((study) => `${objective(study).goal} ${objective(study).name}`));
  if (metrics.size > 1) lines.note(`These studies have different metrics: ${[...metrics].join(', ')}.`);

  const ordered = studies.map((study, i) => byTime(study, hasFront(study) ? 'maximize' : objective(study).goal, series[i].items));
  const since = (study, time) => (time - Date.parse(study.created_at)) / 1000;
  const places = (i) => (along === 'time' ? ordered[i].map((p) => ({ ...p, at: since(studies[i], p.at) })) : series[i].items);
  const line = (i) => places(i).filter((p) => p.best !== null).map((p) => [p.at, p.best]);
  const isPoint = (i) => new Set(line(i).map(([x]) => x)).size < 2; // a line of one value would not be seen
  const options = () => ({
    label: `Best so far of ${names.join(', ')}`,
    height: 340,
    x: { label: along === 'time' ? 'seconds since creation' : [...new Set(series.map(({ items }) => placeTitle(items)))].join(' or '), show: along === 'time' ? duration : count },
    y: { label: metrics.size === 1 ? titleOf(objective(studies[0])) : 'best so far', log },
    series: studies.map((study, i) => ({ label: names[i], colour: COLOURS[i % COLOURS.length], dash: DASHES[Math.floor(i / COLOURS.length)], kind: 'steps', dots: isPoint(i) })),
  });
  replace(main, title, h('div', { class: 'panels' }, lines.element, figures.element, differ.element));
  const [after, from] = ['after', 'from'].map((name) => asked.get(name)); // where the second study left the first
  if ((after ?? from) !== null && studies.length === 2) lines.element.before((await import('./first-picks.js')).firstPicks(studies, names, { after: Number(after), from: Number(from) }, signal));
  const plot = chart(lines.body, options(), signal);
  const draw = () => {
    setQuery({ studies: ids.join(','), along: along === 'time' ? along : '', log: log ? '1' : '', after, from });
    plot.change(options());
    plot.set(aligned(studies.map((_, i) => line(i).sort((a, b) => a[0] - b[0]))));
  };
  replace(
    lines.tools,
    control('Along', select([['trial', 'trials'], ['time', 'time']], along, (chosen) => {
      along = chosen;
      draw();
    })),
    toggle('log', log, (on) => {
      log = on;
      draw();
    }),
  );
  const columns = [
    { title: 'Study', cell: (s) => h('a', { href: address('studies', s.id) }, names[studies.indexOf(s)]) },
    { title: 'State', cell: (s) => s.state },
    { title: 'Reported', class: 'right', cell: (s) => count(told(s)) },
    { title: 'Failed', class: 'right', cell: (s) => count(s.trials_failed) },
    { title: 'Best measured', class: 'right', cell: (s) => (s.best ? withUnit(number(s.best.value, 6), objective(s).unit) : '–') },
    { title: 'Algorithm', cell: (s) => s.algorithm.name },
  ];
  replace(figures.body, table('Figures', columns, studies, 'cards'));
  const rows = differences(studies);
  replace(
    differ.body,
    rows.length
      ? table('Where they differ', [{ title: 'Setting', cell: (row) => row.name }, ...names.map((name, i) => ({ title: name, class: 'reason', cell: (row) => row.texts[i] }))], rows)
      : empty('Their definitions are the same.'),
  );
  draw();
}
