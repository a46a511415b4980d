// What the words of the pages mean. #/words
import { h, replace } from './dom.js';

const WORDS = [
  ['Study', 'One optimization problem: what is measured, what may be tried, an algorithm, and everything that was tried and measured.'],
  ['Metric', 'A named number that an evaluation yields. An objective is optimized, a constraint must keep its bounds, and a recorded metric is only stored.'],
  ['Candidate', 'One of a list of things that may be tried, with a number and perhaps a key: your own name for it.'],
  ['Parameter', 'One named setting, with a range or a list of values.'],
  ['Settings, point', 'One value for each parameter, or one candidate.'],
  ['Worker', 'A program or a person that asks for trials and reports their results.'],
  ['Trial', 'Settings handed out for an evaluation. It is queued, then pending, and then completed, stopped, failed or infeasible.'],
  ['Lease, reserved', 'The time for which a trial belongs to a worker. When it is over, another worker gets the trial.'],
  ['Attempt', 'One time that a trial was handed out.'],
  ['Infeasible', 'These settings cannot be evaluated. The model avoids them, other than after a failure.'],
  ['Imported result', 'A result that was measured elsewhere. The model uses it, but it is no trial.'],
  ['Standard error', 'How exact a reported value is: the standard deviation of its error.'],
  ['Horizon', 'The number of trials after which a study is finished.'],
  ['Model, predicted', 'What the study has learned: an expected value (mean) for any settings, and how sure it is.'],
  ['± 2 std', 'Two standard deviations, below and above the mean. About 95 of 100 true values are inside if the model is right.'],
  ['Recommended', 'The tried settings that the model considers best. One lucky measurement does not make them so.'],
  ['Best measured', 'The best value that was reported. With noise it is partly luck.'],
  ['Front', 'With several objectives: the results that no other result beats in every objective.'],
  ['Hypervolume', 'How good a front is, in one number: the volume that it beats.'],
  ['Regret', 'How much worse than the known optimum the values are.'],
  ['Importance', 'The share of the predicted variation that a parameter explains.'],
  ['Batch', 'The trials that are planned from one state of the model.'],
  ['Pulls, measured n times', 'How many results a candidate has.'],
  ['Optimistic bound', 'The mean and some standard deviations on its good side. Many algorithms try what is best by it.'],
  ['Lengthscale ℓ', 'The distance along a parameter over which values change. With a short one the parameter matters more.'],
  ['Kernel', 'The function that says how similar two points are.'],
  ['Dictionary, width β', 'Of the algorithm: the points that a fast model is built on, and how many standard deviations the optimistic bound has.'],
  ['Fork', 'Another study that begins as this one was when a trial had been reported.'],
];

export async function wordsPage(main) {
  replace(
    main,
    h('div', { class: 'page-head' }, h('h1', {}, 'What the words mean')),
    h('section', { class: 'panel words', 'aria-label': 'Words' }, h('dl', {}, WORDS.map(([word, meaning]) => h('div', {}, h('dt', {}, word), h('dd', {}, meaning))))),
  );
}
