// How to work with this study: commands to paste, upload of candidates, export, definition.
import { download, studyPath, upload } from './api.js';
import { axesOf, somewhere } from './axes.js';
import { h, replace } from './dom.js';
import { count } from './format.js';
import { forkButton } from './fork.js';
import { may } from './role.js';
import { address } from './router.js';
import { pythonValue } from './settings-text.js';
import { currentToken } from './token.js';
import { actionButton, control, facts, panel, reasonOf, toast } from './widgets.js';

// Members that the server adds to a definition. A new study of the same kind must not contain them.
const NOT_GIVEN = ['id', 'state', 'state_reason', 'advice', 'created_at', 'updated_at', 'candidates', 'observations', 'batch', 'best', 'cost', 'history'];

export function definitionOf(study) {
  return Object.fromEntries(Object.entries(study).filter(([name]) => !NOT_GIVEN.includes(name) && !name.startsWith('trials_')));
}

const base = () => new URL('.', location.href.split('#')[0]).href.replace(/\/$/, '');

// A text within quotes of the shell.
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// The values of all metrics, if there are several: null for one.
const exampleValues = ({ metrics }) => (metrics?.length > 1 ? Object.fromEntries(metrics.map(({ name }, i) => [name, (i + 1) / 2])) : null);

// A value in the middle, with few digits if these lie within the range.
function middleOf(axis) {
  const middle = somewhere(axis);
  const short = Number(Number(middle).toPrecision(3));
  return axis.choices || axis.whole || axis.step || !(short >= axis.min && short <= axis.max) ? middle : short;
}

// A value for each context, which every ask must bring: null without contexts.
function exampleContexts(study) {
  const contexts = axesOf(study).filter((axis) => axis.context);
  return contexts.length ? Object.fromEntries(contexts.map((axis) => [axis.name, middleOf(axis)])) : null;
}

function curlText(study) {
  const token = currentToken() ? ' \\\n     -H "Authorization: Bearer $BANDITD_TOKEN"' : '';
  const url = `${base()}/v1/studies/${study.id}`;
  const fixed = exampleContexts(study);
  const values = exampleValues(study);
  return `# get a trial to evaluate${fixed ? ', for these contexts' : ''}
curl -s ${url}/ask${token} \\
     --json ${quoted(`{"worker": "me", "wait_seconds": 30${fixed ? `, "fixed": ${JSON.stringify(fixed)}` : ''}}`)}

# report its ${values ? 'values' : 'value'}; the trial's number is in the response above
curl -s ${url}/tell${token} \\
     --json ${quoted(`{"results": [{"trial": 1, ${values ? `"values": ${JSON.stringify(values)}` : '"value": 0.5'}}]}`)}

# show the best so far
curl -s ${url}/best${token}
`;
}

// A word of a shell command, quoted if necessary.
const shellWord = (text) => (/^\{?[\w-]+\}?$/.test(text) ? text : quoted(text));

function pythonText(study) {
  const names = axesOf(study).map((axis) => axis.name.replace(/\s+/g, ' '));
  const known = study.domain.type === 'space' || study.domain.names;
  const point = study.domain.type === 'precomputed' ? 'trial.candidate' : known ? 'trial.parameters' : 'trial.point';
  const what = study.domain.type === 'precomputed' ? 'the candidate\'s number' : known ? `a dict: ${names.slice(0, 4).join(', ')}${names.length > 4 ? ', …' : ''}` : `${names.length} features`;
  const values = exampleValues(study);
  const fixed = exampleContexts(study);
  const loop = `context = ${fixed && pythonValue(fixed)}  # what holds now
while trials := study.ask(worker="me", wait_seconds=30, fixed=context):
    for trial in trials:
        study.tell(trial, evaluate(trial))`;
  return `# pip install ./clients/python, from the sources of banditd
import banditd

client = banditd.Client(${JSON.stringify(base())})${currentToken() ? '  # with BANDITD_TOKEN in the environment' : ''}
study = client.study(${JSON.stringify(study.id)})

def evaluate(trial):
${values ? `    # measure returns a dict such as ${pythonValue(values)}\n` : ''}    return measure(${point})  # ${what}

${fixed ? loop : 'study.optimize(evaluate, workers=1)'}
print(study.best()["observed"])
`;
}

function shellText(study) {
  const given = study.domain.names || study.domain.type === 'space';
  const names = given ? axesOf(study).map((axis) => axis.name).filter((name) => !/[{}]/.test(name)) : [];
  const words = names.length ? names.map((name) => shellWord(`{${name}}`)).join(' ') : '{candidate}';
  const values = exampleValues(study);
  const fixed = exampleContexts(study);
  const prints = values ? `a JSON object such as ${JSON.stringify(values)}` : 'the value';
  return `# ./measure prints ${prints} as its last line
BANDITD_URL=${base()} banditctl work ${fixed ? `--fixed ${quoted(JSON.stringify(fixed))} ` : ''}${study.id} -- ./measure ${words}
`;
}

function code(title, text) {
  const copy = actionButton('Copy', { class: 'small', 'aria-label': `Copy: ${title}` }, async () => {
    await navigator.clipboard.writeText(text);
    toast('Copied.');
  });
  return [h('div', { class: 'code-head' }, h('h3', {}, title), copy), h('pre', { tabindex: 0, role: 'group', 'aria-label': title }, h('code', {}, text))];
}

// What starts a worker, to paste.
export function startSnippets(study) {
  return [code('curl', curlText(study)), code('Python', pythonText(study)), code('Shell', shellText(study))];
}

const TYPES = { csv: 'text/csv', json: 'application/json', npy: 'application/octet-stream' };

export function typeOfFile(name) {
  return TYPES[name.split('.').at(-1).toLowerCase()] ?? 'text/csv';
}

export async function uploadCandidates(study, file) {
  const path = study.domain.type === 'precomputed' ? '/kernel' : '/candidates';
  return upload(studyPath(study.id, path), file, typeOfFile(file.name));
}

// Adds the candidates of a file to those that a study has.
export function addCandidates(study, file) {
  return upload(studyPath(study.id, '/candidates'), file, typeOfFile(file.name), 'POST');
}

function uploadPanel(feed) {
  const view = panel(feed.study.domain.type === 'precomputed' ? 'Kernel matrix' : 'Candidates');
  const file = h('input', { type: 'file', accept: '.csv,.json,.npy' });
  const send = actionButton('Upload', { class: 'primary' }, async () => {
    if (!file.files.length) throw new Error('Choose a file first.');
    const answer = await uploadCandidates(feed.study, file.files[0]);
    toast(`${count(answer.count)} candidates with ${count(answer.dimension)} features.`);
    await feed.read();
  });
  view.note('CSV with one candidate per line, JSON {"points": […]}, or NumPy\'s .npy. Until the first ask, another upload replaces the candidates.');
  replace(view.body, h('div', { class: 'upload' }, control('file', file), send));
  return view.element;
}

export async function connectTab(element, feed, signal) {
  const { study } = feed;
  const paste = panel('Ask and tell', { wide: true });
  replace(paste.body, startSnippets(study));

  const exports_ = panel('Export');
  const file = (format, text) =>
    actionButton(text, {}, async () => {
      try {
        await download(studyPath(study.id, `/export?format=${format}`), `${study.id}.${format}`);
      } catch (error) {
        toast(reasonOf(error, 'exports'), 'wrong');
      }
    });
  exports_.note('NDJSON holds the whole study, and another server can import it. CSV is a table of the trials.');
  replace(exports_.body, h('div', { class: 'buttons' }, file('ndjson', 'Download NDJSON'), file('csv', 'Download CSV')));

  const settings = panel('Settings');
  const definition = panel('Definition', { wide: true });
  const forks = await may('editor');
  const shown = definitionOf(study);
  replace(
    settings.body,
    facts([
      ['lease', `${study.lease_seconds} s`],
      ['maximum attempts', count(study.max_attempts)],
      ['feedback', study.feedback],
      ['seed', String(study.seed)],
    ]),
  );
  replace(
    definition.body,
    code('Definition as JSON', `${JSON.stringify(shown, null, 2)}\n`),
    h('p', {}, h('a', { href: `${address('new')}?from=${encodeURIComponent(study.id)}` }, 'Create a new study from this one'), forks ? [' or ', forkButton(study)] : null),
  );
  const needsCandidates = study.domain.type !== 'space' && study.state === 'awaiting_candidates';
  const place = h('div', { class: 'panels' }, needsCandidates ? uploadPanel(feed) : null, exports_.element, settings.element, paste.element, definition.element);
  replace(element, place);
  feed.on('shown', () => {
    if (needsCandidates && feed.study.state !== 'awaiting_candidates') place.firstChild.hidden = true;
  }, signal);
}
