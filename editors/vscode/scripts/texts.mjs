/**
 * Writes `l10n/bundle.l10n.json`, the English texts of the sources, with the notes for translators. `--check` writes
 * nothing, and says what has drifted.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync, existsSync } from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

import { getL10nJson } from '@vscode/l10n-dev';

const extension = fileURLToPath(new URL('..', import.meta.url));
const source = path.join(extension, 'src');
const bundle = path.join(extension, 'l10n', 'bundle.l10n.json');
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts') && !/\.(?:test|gen)\.ts$/.test(file)).sort();
const texts = await getL10nJson(files.map((file) => ({ extension: '.ts', contents: readFileSync(path.join(source, file), 'utf8') })));
const sorted = Object.fromEntries(Object.entries(texts).sort(([one], [other]) => (one < other ? -1 : 1)));
const written = `${JSON.stringify(sorted, undefined, 2)}\n`;
const isCurrent = existsSync(bundle) && readFileSync(bundle, 'utf8') === written;

if (!isCurrent && process.argv.includes('--check')) {
  process.stderr.write(`${path.relative(extension, bundle)} has drifted; run npm run texts in editors/vscode\n`);
  process.exitCode = 1;
} else if (!isCurrent) {
  mkdirSync(path.dirname(bundle), { recursive: true });
  writeFileSync(bundle, written);
  process.stdout.write(`wrote ${path.relative(extension, bundle)}: ${Object.keys(sorted).length} texts\n`);
}
