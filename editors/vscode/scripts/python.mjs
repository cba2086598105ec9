/** The Python that builds parts of the package: of the repository's .venv (scripts/lib.sh makes it), or else the system's. */
import { existsSync } from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

export const extension = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
export const repository = path.resolve(extension, '..', '..');
const own = ['.venv/bin/python', '.venv/Scripts/python.exe'].map((file) => path.join(repository, file)).find(existsSync);
export const python = own ?? (process.platform === 'win32' ? 'python' : 'python3');
