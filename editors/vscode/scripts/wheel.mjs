/** Builds the server's wheel into `bundled/`, with the Python of the repository's .venv (scripts/lib.sh makes it). */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

const extension = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const repository = path.resolve(extension, '..', '..');
const bundled = path.join(extension, 'bundled');
const own = ['.venv/bin/python', '.venv/Scripts/python.exe'].map((file) => path.join(repository, file)).find(existsSync);
const python = own ?? (process.platform === 'win32' ? 'python' : 'python3');

rmSync(bundled, { recursive: true, force: true });
mkdirSync(bundled);
const wheel = ['-m', 'pip', 'wheel', '--quiet', '--no-deps', '--wheel-dir', bundled, repository];
execFileSync(python, wheel, { stdio: 'inherit' });
process.stdout.write(`bundled/${readdirSync(bundled).join(', ')}\n`);
