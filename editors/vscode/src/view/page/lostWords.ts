/** The words for what a compaction left out. Pure. */
import { full } from '../../figures';
import type { Given, Lost } from '../messages';

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
  return kinds.length === 0 ? 'Nothing that Ullage looks for was left out: no rule, error, file or command.' : `Left out: ${kinds.join(', ')}`;
}

/** Returns `Given back: 3 constraints, 11 files, 1,204 tokens`. */
export function givenWords({ counts, tokens }: Pick<Given, 'counts' | 'tokens'>): string {
  const kinds = Object.entries(counts).map(([kind, count]) => counted(kind, count));
  return `Given back: ${[...kinds, `${full(tokens)} tokens`].join(', ')}`;
}

/** Returns when it was given back, apart from the time. */
export function givenWhen(why: string): string {
  return MOMENTS[why] ?? why;
}

const MOMENTS: Readonly<Record<string, string>> = {
  compact: 'right after the compaction',
  resume: 'when the session was resumed',
  prompt: 'with the next prompt',
};

function counted(kind: string, count: number): string {
  const noun = kindTitle(kind).toLowerCase();
  return `${full(count)} ${count === 1 ? noun.replace(/s$/, '') : noun}`;
}
