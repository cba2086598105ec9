/** The strictest type-aware rules; the page of the Context view runs in a browser, the rest in Node. */
import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import ts from 'typescript-eslint';

import untranslated from './lint/untranslated.mjs';

export default defineConfig(
  { ignores: ['dist/', 'node_modules/', '**/*.gen.ts', '**/*.mjs', 'test/e2e/driver/', 'test-results/', 'media/', 'vitest.config.ts'] },
  js.configs.recommended,
  ts.configs.strictTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      'no-console': 'error',
      // A file answers one question whole: see docs/STYLE.md.
      'max-lines': ['error', { max: 600, skipBlankLines: true }],
      'max-lines-per-function': ['error', 50],
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true, ignoreVoidReturningFunctions: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
    },
  },
  { files: ['src/**'], ignores: ['**/*.test.ts'], plugins: { texts: { rules: { untranslated } } }, rules: { 'texts/untranslated': 'error' } },
  {
    files: ['test/e2e/**'],
    rules: {
      // The runner waits for its tests itself.
      '@typescript-eslint/no-floating-promises': ['error', { allowForKnownSafeCalls: [{ from: 'package', package: 'node:test', name: ['describe', 'test'] }] }],
      // The caller states the type of the server's answer, since the driver cannot know it.
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
    },
  },
  { files: ['test/**', '**/*.test.ts'], rules: { 'max-lines-per-function': 'off' } },
);
