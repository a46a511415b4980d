// The dashboard's lint: eslint's recommended rules and what keeps a study's texts from becoming markup.
import { createRequire } from 'node:module';

const require = createRequire(`${process.env.BANDITD_WEB_MODULES}/`);
const js = require('@eslint/js');
const globals = require('globals');

const MARKUP = ['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'document.write', 'setHTMLUnsafe'].map((name) => name.split('.').at(-1));

export default [
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2024, sourceType: 'module' },
    rules: {
      eqeqeq: 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'no-unused-vars': 'error',
      'no-eval': 'error',
      'no-implied-eval': 'error',
      'no-new-func': 'error',
      'no-restricted-properties': ['error', ...MARKUP.map((property) => ({ property, message: 'Texts go in as text: see dom.js.' }))],
    },
  },
  { files: ['**/server/web/**'], languageOptions: { globals: globals.browser } },
  { files: ['**/tests/web/**'], languageOptions: { globals: { ...globals.node, ...globals.browser } } },
];
