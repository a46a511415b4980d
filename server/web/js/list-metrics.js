// Columns of the list of studies with the values of other metrics, those of each study's best trial.
import { get, studyPath } from './api.js';
import { h, replace } from './dom.js';
import { number, withUnit } from './format.js';
import { objective, otherMetrics } from './study-actions.js';
import { toggle } from './widgets.js';

const AT_ONCE = 3; // reads

/* -> {element, chosen(), offer(studies), read(studies), texts(study), order(name)}
 *   names      the metrics that are chosen already
 *   changed()  called when others are */
export async function metricColumns(names, changed, signal) {
  let chosen = [...names];
  let known = '';
  const values = new Map(); // study -> {trial, values}
  const element = h('div', { class: 'column-boxes' });

  const isRead = (study) => !study.best?.trial || !(study.metrics?.length > 1) || values.get(study.id)?.trial === study.best.trial;
  const valueOf = (study, name) => {
    if (study.best && objective(study).name === name) return study.best.value;
    return values.get(study.id)?.trial === study.best?.trial ? values.get(study.id)?.values?.[name] : undefined;
  };

  const unitOf = (study, name) => [objective(study), ...otherMetrics(study)].find((metric) => metric.name === name)?.unit;
  return {
    element,
    chosen: () => chosen,
    // A box for each metric of the studies.
    offer(studies) {
      const all = [...new Set([...chosen, ...studies.flatMap((study) => (study.metrics ?? []).map(({ name }) => name))])].sort();
      if (all.join('\n') === known) return;
      known = all.join('\n');
      replace(element, all.map((name) => toggle(name, chosen.includes(name), (on) => {
        chosen = all.filter((other) => (other === name ? on : chosen.includes(other)));
        changed();
      })));
    },
    // Reads the best trials that are not known yet. -> whether there were any
    async read(studies) {
      const queue = studies.filter((study) => !isRead(study));
      const any = queue.length > 0;
      const worker = async () => {
        for (let study = queue.shift(); study && !signal.aborted; study = queue.shift()) {
          const { id, best: { trial } } = study;
          try {
            values.set(id, { trial, values: (await get(studyPath(id, `/trials/${trial}`), signal)).values });
          } catch {
            values.set(id, { trial }); // a study that has just been deleted
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      return any;
    },
    texts: (study) => chosen.map((name) => valueOf(study, name) === undefined ? '–' : withUnit(number(valueOf(study, name)), unitOf(study, name))),
    order(key) {
      const name = key.startsWith('metric:') ? key.slice('metric:'.length) : null;
      return name === null ? undefined : [name, (study) => valueOf(study, name)];
    },
  };
}
