/** The paths and values that `scripts/e2e` sets up. */
import path from 'node:path';

const here = import.meta.dirname;

export const extensionRoot = path.resolve(here, '../../..');
export const repository = path.resolve(extensionRoot, '../..');
/** The conversation of the demo, 38,000 tokens. */
export const sample = path.join(repository, 'server/ullage/cli/data/sample.jsonl');
/** Conversations recorded by others. They are not part of the repository and not on every machine. */
export const transcripts = process.env['ULLAGE_TRANSCRIPTS'] ?? path.resolve(repository, '../shared/data/transcripts');
/** Screenshots of a run, and the logs of a failed one. */
export const output = path.join(extensionRoot, 'test-results');
/** The images of the README. */
export const images = path.join(extensionRoot, 'images');
/** The extensions of the windows, Ullage's and the tests' own. No window changes them. */
export const extensions = path.join(output, 'extensions');
/** An environment in which nothing can be fetched: the package has all that it needs. */
export const OFFLINE = { PIP_NO_INDEX: '1', HTTPS_PROXY: 'http://127.0.0.1:9', HTTP_PROXY: 'http://127.0.0.1:9', NO_PROXY: '127.0.0.1,localhost' };

/** Returns a value that `scripts/e2e` sets. */
export function given(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run ./scripts/e2e vscode, which sets up all these tests need`);
  return value;
}
