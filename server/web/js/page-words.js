// What the words of the pages mean. #/words
import { h, replace } from './dom.js';
import { WORDS } from './words.js';

export async function wordsPage(main) {
  replace(
    main,
    h('div', { class: 'page-head' }, h('h1', {}, 'What the words mean')),
    h('section', { class: 'panel words', 'aria-label': 'Words' }, h('dl', {}, WORDS.map(([word, meaning]) => h('div', {}, h('dt', {}, word), h('dd', {}, meaning))))),
  );
}
