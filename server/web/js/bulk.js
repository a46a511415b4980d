// Actions on the studies that are ticked in the list: compare, pause, finish, label, delete.
import { patch, remove, studyPath } from './api.js';
import { ask, confirm } from './ask.js';
import { h, replace } from './dom.js';
import { plural } from './format.js';
import { may } from './role.js';
import { actionButton, reasonOf, toast } from './widgets.js';

export const MOST_COMPARED = 18; // studies; as many as can be told apart, by colour and dash

const studies = (n) => plural(n, 'study', 'studies');

// Does the work for each study, and says what could not be done.
async function each(chosen, words, work) {
  const refused = [];
  for (const study of chosen)
    try {
      await work(study);
    } catch (error) {
      refused.push(`${study.id}: ${reasonOf(error, 'this')}`);
    }
  const done = chosen.length - refused.length;
  if (done) toast(`${studies(done)} ${words}.`);
  if (refused.length) toast(`Not done: ${refused.slice(0, 5).join('; ')}${refused.length > 5 ? `, and ${refused.length - 5} more` : ''}`, 'wrong');
}

/* -> {element, show()}
 *   chosen()  the ticked studies
 *   done()    called after a change */
export function bulkActions(chosen, done) {
  const element = h('div', { class: 'toolbar bulk', hidden: true });
  const summary = h('span', { class: 'muted', 'aria-live': 'polite' });
  const button = (label, work, more) => actionButton(label, { class: 'small', ...more }, async () => {
    if (await work(chosen())) done();
  });
  const inState = (state) => async (list) => {
    await each(list, `now ${state}`, (study) => patch(studyPath(study.id), { state }));
    return true;
  };
  async function finish(list) {
    if (!(await confirm({ title: `Finish ${studies(list.length)}?`, text: 'The server stops handing out their trials. All data stays.', action: 'Finish', danger: false }))) return false;
    return inState('finished')(list);
  }
  async function label(list) {
    const text = await ask({ title: `Label ${studies(list.length)}`, text: 'An existing label with this key is replaced.', label: 'Label, as key:value', action: 'Label', valid: (x) => /^[^:]+:.+$/.test(x) });
    if (text === null) return false;
    const [key, ...rest] = text.split(':');
    await each(list, 'labelled', (study) => patch(studyPath(study.id), { labels: { ...study.labels, [key.trim()]: rest.join(':').trim() } }));
    return true;
  }
  async function drop(list) {
    const n = String(list.length);
    const sure = await confirm({ title: `Delete ${studies(list.length)}?`, text: `Their trials, candidates and models will be deleted. This cannot be undone. Enter ${n} to confirm.`, label: 'Number of studies', action: 'Delete', valid: (x) => x === n });
    if (!sure) return false;
    await each(list, 'deleted', (study) => remove(studyPath(study.id)));
    return true;
  }
  const compare = h('a', { class: 'button small primary' }, 'Compare');
  const changing = h('span', { class: 'buttons' });
  const buttons = () => [button('Pause', inState('paused')), button('Resume', inState('active')), button('Finish', finish), button('Label…', label), button('Delete…', drop, { class: 'small quiet-danger' })];
  may('editor').then((allowed) => replace(changing, allowed ? buttons() : []));
  replace(element, summary, compare, changing);
  return {
    element,
    show() {
      const list = chosen();
      element.hidden = list.length === 0;
      summary.textContent = `${studies(list.length)} ticked`;
      compare.hidden = list.length < 2 || list.length > MOST_COMPARED;
      compare.setAttribute('href', `#/compare?studies=${list.map((study) => encodeURIComponent(study.id)).join(',')}`);
    },
  };
}
