// A label at a chart's cursor with the settings of the trial there. The trial is read when the cursor rests.
import { get, studyPath } from './api.js';
import { h, replace } from './dom.js';
import { unitsOf } from './axes.js';
import { count, number, value, withUnit } from './format.js';
import { settingsOf } from './result.js';
import { reasonOf } from './widgets.js';

const REST = 120; // ms
const SETTINGS = 10; // shown; the trial's page has all
const KEPT = 200; // trials that are not read again
const labels = new WeakMap(); // the plot's place -> Label

class Label {
  constructor(stage, study, signal) {
    this.study = study;
    this.signal = signal;
    this.read = new Map(); // trial -> promise
    this.wanted = 0; // counts the moves, so that a late answer is not shown
    this.element = h('div', { class: 'hover-label', role: 'status', hidden: true });
    stage.append(this.element);
    stage.addEventListener('keydown', (event) => event.key === 'Escape' && this.hide(), { signal });
    stage.addEventListener('blur', () => this.hide(), { signal });
  }

  hide() {
    this.wanted += 1;
    this.element.hidden = true;
  }

  trial(id) {
    if (!this.read.has(id)) {
      if (this.read.size >= KEPT) this.read.clear();
      this.read.set(id, get(studyPath(this.study.id, `/trials/${id}`), this.signal));
    }
    return this.read.get(id);
  }

  async show(u, stage, point, metric) {
    this.hide();
    if (!point) return;
    const move = this.wanted;
    await new Promise((resolve) => setTimeout(resolve, REST));
    if (move !== this.wanted || this.signal.aborted) return;
    let rows;
    try {
      rows = point.trial ? Object.entries(settingsOf(this.study, await this.trial(point.trial))) : [];
    } catch (error) {
      this.read.delete(point.trial);
      if (this.signal.aborted) return;
      rows = [['settings', reasonOf(error, 'a trial')]];
    }
    if (move !== this.wanted) return;
    this.fill(point, rows, metric);
    this.place(u, stage, point);
  }

  fill(point, rows, { name, unit }) {
    const units = unitsOf(this.study);
    const all = [[name, withUnit(number(point.value, 6), unit)], ...rows.slice(0, SETTINGS).map(([key, x]) => [key, withUnit(value(x), units[key])])];
    const rest = rows.length - SETTINGS;
    replace(
      this.element,
      h('b', {}, point.trial ? `trial ${count(point.trial)}` : 'imported result'),
      h('dl', {}, all.map(([term, text]) => h('div', {}, h('dt', {}, term), h('dd', {}, text)))),
      rest > 0 ? h('small', {}, `and ${count(rest)} more settings`) : null,
    );
  }

  // Beside the point, on the side where there is room, and within the chart.
  place(u, stage, point) {
    const { element } = this;
    element.hidden = false;
    const [left, top] = [u.over.offsetLeft + u.valToPos(point.at, 'x'), u.over.offsetTop + u.valToPos(point.value, 'y')];
    const [width, height] = [element.offsetWidth, element.offsetHeight];
    const beside = left + 12 + width > stage.clientWidth ? left - 12 - width : left + 12;
    element.style.setProperty('left', `${Math.max(0, beside)}px`);
    element.style.setProperty('top', `${Math.max(0, Math.min(stage.clientHeight - height, top - height / 2))}px`);
  }
}

// Shows the label for `point` of a series of `metric` in the chart `u`, or hides it if there is no point.
export function hoverLabel(u, stage, study, point, metric, signal) {
  if (!labels.has(stage)) labels.set(stage, new Label(stage, study, signal));
  return labels.get(stage).show(u, stage, point, metric);
}
