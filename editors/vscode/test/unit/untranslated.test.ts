/** The rule that finds texts which no translation reaches. */
import { RuleTester } from 'eslint';
import ts from 'typescript-eslint';
import { describe, test } from 'vitest';

import untranslated from '../../lint/untranslated.mjs';

RuleTester.describe = describe;
RuleTester.it = test;
const tester = new RuleTester({ languageOptions: { parser: ts.parser } });
const errors = [{ messageId: 'untranslated' }];

tester.run('texts/untranslated', untranslated, {
  valid: [
    "vscode.window.showErrorMessage(l10n.t('It failed.'))",
    "l10n.t({ message: 'session', comment: ['The name of a file.'] })",
    "const item = { label: `$(add) ${l10n.t('New Session')}`, command: 'ullage.newSession' }",
    "import { a } from './some file'",
    "const kind: 'The one' | 'two' = other",
    "if (kind === 'Compaction done') run()",
    "switch (kind) { case 'Ended well': run() }",
    "this.#log.warn(`The server ended unexpectedly (${n} times).`)",
    "h('div.rows', { role: 'tree', 'aria-describedby': 'one two' }, text)",
    "root.querySelector('button, summary, pre')",
    "const item = { placeHolder: 'fix-login', title: 'Ullage', description: 'ullage.model' }",
    "function kindOf(): Kind { return 'summary' }",
    "path.join(home, 'Library', 'Application Support')",
  ],
  invalid: [
    "vscode.window.showErrorMessage('it failed')",
    "vscode.window.showErrorMessage(bad ? 'failed' : l10n.t('Done.'))",
    "const item = { label: '$(add) New Session' }",
    "const item = { title: 'show' }",
    'const words = `${n} messages`',
    "const words = `${n} calls ${l10n.t('left')}`",
    "throw new Error('unknown')",
    "button('.action', {}, act, 'undo')",
    "setText(line, 'waits')",
    "element.title = 'pin'",
    "const HINT = 'Newest first'",
    "const KINDS: Readonly<Record<string, string>> = { tools: 'tools' }",
    "function word(): string { return 'waits' }",
    "l10n.t('{0} left', many ? 'all of them' : n)",
  ].map((code) => ({ code, errors })),
});
