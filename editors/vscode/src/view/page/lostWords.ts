/** The words for what a compaction left out. Pure. */
import * as l10n from '@vscode/l10n';

import { full } from '../../figures';
import type { Given, Lost } from '../messages';

const TITLES: Readonly<Record<string, string>> = {
  constraint: l10n.t('Constraints'),
  decision: l10n.t('Decisions'),
  path: l10n.t('Files'),
  name: l10n.t('Names'),
  command: l10n.t('Commands'),
  number: l10n.t('Numbers'),
  error: l10n.t('Errors'),
};

/** Returns the heading of the things of one kind. */
export function kindTitle(kind: string): string {
  return TITLES[kind] ?? kind;
}

/** Returns `Left out: 3 constraints, 1 file`, or why there is no list. */
export function lostWords({ error, readable, counts }: Pick<Lost, 'error' | 'readable' | 'counts'>): string {
  if (error !== '') return l10n.t('What was left out could not be found: {0}', error);
  if (!readable) return l10n.t('The summary is encrypted, so nobody but its provider knows what it leaves out.');
  const kinds = Object.entries(counts).map(([kind, count]) => counted(kind, count));
  return kinds.length === 0 ? l10n.t('Nothing that Ullage looks for was left out: no rule, error, file or command.') : l10n.t('Left out: {0}', kinds.join(', '));
}

/** Returns `Given back: 3 constraints, 11 files, 1,204 tokens`. */
export function givenWords({ counts, tokens }: Pick<Given, 'counts' | 'tokens'>): string {
  const kinds = Object.entries(counts).map(([kind, count]) => counted(kind, count));
  return l10n.t('Given back: {0}', [...kinds, l10n.t('{0} tokens', full(tokens))].join(', '));
}

/** Returns when it was given back, apart from the time. */
export function givenWhen(why: string): string {
  return MOMENTS[why] ?? why;
}

const MOMENTS: Readonly<Record<string, string>> = {
  compact: l10n.t('right after the compaction'),
  resume: l10n.t('when the session was resumed'),
  prompt: l10n.t('with the next prompt'),
};

const COUNTED: Readonly<Record<string, readonly [() => string, (count: string) => string]>> = {
  constraint: [() => l10n.t('1 constraint'), (count) => l10n.t('{0} constraints', count)],
  decision: [() => l10n.t('1 decision'), (count) => l10n.t('{0} decisions', count)],
  path: [() => l10n.t('1 file'), (count) => l10n.t('{0} files', count)],
  name: [() => l10n.t('1 name'), (count) => l10n.t('{0} names', count)],
  command: [() => l10n.t('1 command'), (count) => l10n.t('{0} commands', count)],
  number: [() => l10n.t('1 number'), (count) => l10n.t('{0} numbers', count)],
  error: [() => l10n.t('1 error'), (count) => l10n.t('{0} errors', count)],
};

function counted(kind: string, count: number): string {
  const [one, several] = COUNTED[kind] ?? [];
  if (one === undefined || several === undefined) return `${full(count)} ${kind}`;
  return count === 1 ? one() : several(full(count));
}
