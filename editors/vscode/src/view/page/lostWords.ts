/** The words for what a compaction left out. Pure. */
import { full } from '../../figures';
import type { Lost } from '../messages';

const TITLES: Readonly<Record<string, string>> = {
  constraint: 'Constraints',
  decision: 'Decisions',
  path: 'Files',
  name: 'Names',
  command: 'Commands',
  number: 'Numbers',
  error: 'Errors',
};

/** Returns the heading of the things of one kind. */
export function kindTitle(kind: string): string {
  return TITLES[kind] ?? kind;
}

/** Returns `Left out: 3 constraints, 1 file`, or why there is no list. */
export function lostWords({ error, readable, counts }: Pick<Lost, 'error' | 'readable' | 'counts'>): string {
  if (error !== '') return `What was left out could not be found: ${error}`;
  if (!readable) return 'The summary is encrypted, so nobody but its provider knows what it leaves out.';
  const kinds = Object.entries(counts).map(([kind, count]) => counted(kind, count));
  return kinds.length === 0 ? 'Left out: nothing that was looked for.' : `Left out: ${kinds.join(', ')}`;
}

function counted(kind: string, count: number): string {
  const noun = kindTitle(kind).toLowerCase();
  return `${full(count)} ${count === 1 ? noun.replace(/s$/, '') : noun}`;
}
