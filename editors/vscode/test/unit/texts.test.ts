/** The texts of the manifest and of the sources, and their translations, and the rule that finds texts which none reaches. `npm run texts -- --check` compares the sources. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

import * as l10n from '@vscode/l10n';
import { RuleTester } from 'eslint';
import ts from 'typescript-eslint';
import { afterEach, describe, expect, test } from 'vitest';

import untranslated from '../../lint/untranslated.mjs';
import { speak, type Texts } from '../../src/language';
import { ago, anyOf, full, inPercent, money, short } from '../../src/words';

type Noted = Readonly<Record<string, string | { readonly message: string }>>;

const ROOT = path.resolve(import.meta.dirname, '../..');
const LANGUAGES = readdirSync(path.join(ROOT, 'l10n')).flatMap((name) => /^bundle\.l10n\.(.+)\.json$/.exec(name)?.[1] ?? []);
const MANIFEST = read('package.json');
const SOURCES = Object.fromEntries(Object.entries(read('l10n/bundle.l10n.json') as Noted).map(([key, text]) => [key, typeof text === 'string' ? text : text.message]));
const NAMED = read('package.nls.json') as Texts;
/** What a translation has as its source has it: what is filled in, icons, what is typed, and the commands of links. */
const FIXED = /\{\d+\}|\$\([\w~-]+\)|`[^`]*`|\(command:[^)]*\)|\b(?:ullage|ULLAGE|PATH)[\w.]*|\.ullage\/summary\.md|https?:\S+\w/g;

function read(file: string): unknown {
  return JSON.parse(readFileSync(path.join(ROOT, file), 'utf8'));
}

function fixedIn(text: string): readonly string[] {
  return [...new Set(text.match(FIXED))].sort();
}

/** Returns the values of all fields with texts that users read. The schemas of tools are read by models. */
function shown(value: unknown, name = ''): readonly string[] {
  if (typeof value === 'string') return /^(?:title|description|markdownDescription|displayName|userDescription|fullName|altText|label)$/.test(name) ? [value] : [];
  if (Array.isArray(value)) return value.flatMap((each) => shown(each));
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, each]) => (key === 'inputSchema' ? [] : shown(each, key)));
}

test('there are translations', () => {
  expect(LANGUAGES).toEqual(['de', 'zh-cn']);
});

describe.each(LANGUAGES)('the translation %s', (language) => {
  test.each([
    ['the sources', SOURCES, read(`l10n/bundle.l10n.${language}.json`) as Texts],
    ['the manifest', NAMED, read(`package.nls.${language}.json`) as Texts],
  ])('has exactly the texts of %s, each with what must stay', (_, source, translated) => {
    expect(Object.keys(translated)).toEqual(Object.keys(source));
    for (const [key, text] of Object.entries(translated)) {
      expect(text.trim()).not.toBe('');
      expect(fixedIn(text), key).toEqual(fixedIn(source[key] ?? ''));
    }
  });
});

test('the manifest names each of its texts by a key, and each key once or more', () => {
  const used = new Set([...JSON.stringify(MANIFEST).matchAll(/%([\w./*-]+)%/g)].map(([, key]) => key));
  expect([...used].sort()).toEqual(Object.keys(NAMED).sort());
  expect(shown(MANIFEST).filter((text) => !/^%.*%$/.test(text) && text !== 'Ullage')).toEqual([]);
});

describe('in another language', () => {
  afterEach(() => { speak('en', undefined); });

  test('texts and figures are that language’s', () => {
    speak('de', read('l10n/bundle.l10n.de.json') as Texts);
    expect(l10n.t('{0} messages', full(58_432))).toBe('58.432 Nachrichten');
    expect(short(4_200)).toBe('4,2K');
    expect(inPercent(46, 100)).toBe('46\u00a0%');
    expect(money({ amount: 12.3, currency: 'USD' })).toBe('$12,30');
    expect(ago(0, 7_200_000)).toBe('vor 2 Stunden');
    expect(anyOf(['Claude Code', 'Codex'])).toBe('Claude Code oder Codex');
    speak('zh-cn', read('l10n/bundle.l10n.zh-cn.json') as Texts);
    expect(l10n.t('{0} messages', full(58_432))).toBe('58,432 条消息');
    expect(ago(0, 7_200_000)).toBe('2小时前');
  });

  test('without translations all is in English', () => {
    speak('fr', undefined);
    expect([l10n.t('{0} messages', full(58_432)), short(4_200), ago(0, 7_200_000)]).toEqual(['58,432 messages', '4.2K', '2 hours ago']);
  });
});

RuleTester.describe = describe;
RuleTester.it = test;
const tester = new RuleTester({ languageOptions: { parser: ts.parser } });
const errors = [{ messageId: 'untranslated' }];

tester.run('texts/untranslated', untranslated, {
  valid: [
    "vscode.window.showErrorMessage(l10n.t('It failed.'))",
    "l10n.t({ message: 'conversation', comment: ['The name of a file.'] })",
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
