/** Builds the server's wheel into `bundled/`, beside the sample conversation. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import * as path from 'node:path';

import { extension, python, repository } from './python.mjs';

const bundled = path.join(extension, 'bundled');
rmSync(bundled, { recursive: true, force: true });
mkdirSync(bundled);
const wheel = ['-m', 'pip', 'wheel', '--quiet', '--no-deps', '--wheel-dir', bundled, repository];
execFileSync(python, wheel, { stdio: 'inherit' });
cpSync(path.join(repository, 'server/ullage/cli/data/sample.jsonl'), path.join(bundled, 'sample.jsonl'));
process.stdout.write(`bundled/${readdirSync(bundled).join(', ')}\n`);
