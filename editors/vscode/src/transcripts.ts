/** Finds transcripts that other programs keep in their usual folders. Only names and times are read, no content. */
import type { Dirent } from 'node:fs';
import * as fs from 'node:fs/promises';
import * as path from 'node:path';

export interface Transcript {
  readonly path: string;
  readonly program: 'Claude Code' | 'Codex';
  /** The project's folder according to the folder's name, or the file's name. */
  readonly name: string;
  /** Last change, Unix milliseconds. */
  readonly changedAt: number;
  /** Bytes. */
  readonly size: number;
}

/** Folders of transcripts in a program's own folder. Codex sorts by year, month and day. */
const MAX_DEPTH = 4;

/** Returns at most `limit` transcripts under a home folder, newest first. */
export async function findTranscripts(home: string, limit = 200): Promise<readonly Transcript[]> {
  const found = await Promise.all([
    collect(path.join(home, '.claude', 'projects'), 'Claude Code'),
    collect(path.join(home, '.codex', 'sessions'), 'Codex'),
  ]);
  return found.flat().sort((a, b) => b.changedAt - a.changedAt).slice(0, limit);
}

async function collect(root: string, program: Transcript['program']): Promise<readonly Transcript[]> {
  const files = await walk(root, MAX_DEPTH);
  const described = await Promise.all(files.map((file) => describe(root, file, program)));
  return described.filter((one) => one !== undefined);
}

async function walk(folder: string, depth: number): Promise<readonly string[]> {
  const entries = await list(folder);
  const below = await Promise.all(
    entries.map(async (entry) => {
      const full = path.join(folder, entry.name);
      if (entry.isDirectory() && depth > 0) return walk(full, depth - 1);
      return entry.isFile() && entry.name.endsWith('.jsonl') ? [full] : [];
    }),
  );
  return below.flat();
}

/** Returns the entries of a folder; none if it does not exist or cannot be read. */
async function list(folder: string): Promise<readonly Dirent[]> {
  return fs.readdir(folder, { withFileTypes: true }).catch(() => []);
}

async function describe(root: string, file: string, program: Transcript['program']): Promise<Transcript | undefined> {
  const status = await fs.stat(file).catch(() => undefined);
  if (!status || status.size === 0) return undefined;
  const [first = ''] = path.relative(root, file).split(path.sep);
  const name = program === 'Claude Code' ? first : path.basename(file, '.jsonl');
  return { path: file, program, name, changedAt: status.mtimeMs, size: status.size };
}
