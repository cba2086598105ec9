/** The words for what a compaction left out. Pure. */
import * as l10n from '@vscode/l10n';

import { full } from '../../figures';
import type { Given, Lost } from '../messages';

const TITLES: Readonly<Record<string, string>> = {
  said: l10n.t('What you said'),
  task: l10n.t('Tasks that are not done'),
  problem: l10n.t('Problems'),
  check: l10n.t('Checks'),
  commit: l10n.t('Commits'),
  file: l10n.t('Files'),
  job: l10n.t('Sub-agents and background commands'),
  words: l10n.t('What the agent told you'),
  earlier: l10n.t('An earlier summary'),
};

/** Returns the heading of the things of one kind. */
export function kindTitle(kind: string): string {
  return TITLES[kind] ?? kind;
}

const STATES: Readonly<Record<string, string>> = {
  'open': l10n.t('open'),
  'in progress': l10n.t('in progress'),
  'mended': l10n.t('mended'),
  'created': l10n.t('created'),
  'changed': l10n.t('changed'),
  'deleted': l10n.t('deleted'),
};
/** The kinds whose headings do not say the state of their things. */
const CHANGING: ReadonlySet<string> = new Set(['task', 'problem', 'file']);

/** Returns the state of a thing, or an empty text if the heading of its kind says it. */
export function stateWord(kind: string, state: string): string {
  return CHANGING.has(kind) ? STATES[state] ?? state : '';
}

/** Returns `Left out: 3 of your messages, 1 file`, or why there is no list. */
export function lostWords({ error, readable, counts }: Pick<Lost, 'error' | 'readable' | 'counts'>): string {
  if (error !== '') return l10n.t('What was left out could not be found: {0}', error);
  if (!readable) return l10n.t('The summary is encrypted, so nobody but its provider knows what it leaves out.');
  const kinds = Object.entries(counts).map(([kind, count]) => counted(kind, count));
  return kinds.length === 0 ? l10n.t('Everything that you typed is in the summary, and so are the open tasks and problems, the changed files and the last commit.') : l10n.t('Left out: {0}', kinds.join(', '));
}

/** Returns `Given back: 3 of your messages, 11 files, 1,204 tokens`. */
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
  said: [() => l10n.t('1 of your messages'), (count) => l10n.t('{0} of your messages', count)],
  task: [() => l10n.t('1 open task'), (count) => l10n.t('{0} open tasks', count)],
  problem: [() => l10n.t('1 problem'), (count) => l10n.t('{0} problems', count)],
  check: [() => l10n.t('1 check'), (count) => l10n.t('{0} checks', count)],
  commit: [() => l10n.t('1 commit'), (count) => l10n.t('{0} commits', count)],
  file: [() => l10n.t('1 file'), (count) => l10n.t('{0} files', count)],
  job: [() => l10n.t('1 job'), (count) => l10n.t('{0} jobs', count)],
  words: [() => l10n.t('1 text of the agent'), (count) => l10n.t('{0} texts of the agent', count)],
  earlier: [() => l10n.t('1 line of an earlier summary'), (count) => l10n.t('{0} lines of an earlier summary', count)],
};

function counted(kind: string, count: number): string {
  const [one, several] = COUNTED[kind] ?? [];
  if (one === undefined || several === undefined) return `${full(count)} ${kind}`;
  return count === 1 ? one() : several(full(count));
}
