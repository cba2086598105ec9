/** A language pack that translates nothing of VS Code's own, so that VS Code takes the language for its display language. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** The extension that has the pack. VS Code reads its name and never looks for it. */
const PACK = { extensionIdentifier: { id: 'ullage-tests.language-pack', uuid: '00000000-0000-4000-8000-000000000000' }, version: '1.0.0' };

/** Writes the pack where VS Code lists those that are installed. Returns the flags that choose the language. */
export function packLanguage(user: string, language: string): readonly string[] {
  const translation = path.join(user, 'pack', 'main.i18n.json');
  const pack = { hash: 'tests', label: language, extensions: [PACK], translations: { vscode: translation } };
  mkdirSync(path.dirname(translation), { recursive: true });
  writeFileSync(translation, JSON.stringify({ version: '1.0.0', contents: {} }));
  writeFileSync(path.join(user, 'languagepacks.json'), JSON.stringify({ [language]: pack }));
  return ['--locale', language];
}
