/** The server program for a workbench in which summaries are written slowly; see `pacedServer.ts`. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import { given, output } from './places.ts';

export function pacedProgram(): string {
  const file = path.join(output, 'paced', 'ullage');
  const relay = path.join(import.meta.dirname, 'pacedServer.ts');
  mkdirSync(path.dirname(file), { recursive: true });
  const words = [given('ULLAGE_NODE'), '--no-warnings', relay, given('ULLAGE_PROGRAM')].map((word) => `'${word}'`);
  writeFileSync(file, `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`);
  chmodSync(file, 0o755);
  return file;
}
