/** What a compaction left out: one line at its marker, which unfolds to the things by kind. */
import * as l10n from '@vscode/l10n';

import { full } from '../../figures';
import type { Given, Lost, PageMessageOf } from '../messages';
import { age } from './ages';
import { button, h, icon, type Child } from './dom';
import type { RowContext } from './rowView';
import type { MarkerRow } from './rows';

/** A kind with more entries than a side bar shows at once is folded at first. */
const MANY = 12;

/** Draws what a marker's compaction left out, or that it is being found. Draws nothing where nobody asks for it. */
export function drawLost(row: MarkerRow, context: RowContext): Child {
  const { editId } = row.marker;
  if (editId === null || !asksFor(context)) return undefined;
  const lost = context.lost.get(editId);
  if (!lost) return h('div.lost.figures', {}, l10n.t('Looking for what was left out…'));
  if (lost.entries.length === 0) return h('div.lost.figures', {}, lostWords(lost));
  const key = `${row.key}:lost`;
  const kinds = Object.keys(lost.counts).map((kind) => drawKind(key, kind, lost, context));
  const summary = h('summary', {}, lostWords(lost));
  const element = h('details.lost.ledger', { open: context.expanded.has(key) }, summary, ...kinds, drawActions(editId, lost, context));
  element.addEventListener('toggle', () => { context.actions.keepOpen(key, element.open); });
  return element;
}

/** Whether the conversation is an agent's, or was taken over from one. What Ullage itself archives is not lost. */
export function asksFor({ usage }: Pick<RowContext, 'usage'>): boolean {
  return usage !== undefined && (usage.followed || usage.agent !== '');
}

/** What the user has unfolded or folded is kept as a difference from how the kind is at first. */
function drawKind(key: string, kind: string, { counts, entries }: Lost, context: RowContext): HTMLElement {
  const listed = entries.filter((entry) => entry.kind === kind);
  const count = counts[kind] ?? listed.length;
  const isFolded = count > MANY;
  const own = `${key} ${kind}`;
  const rest = count > listed.length && h('li.note', {}, l10n.t('{0} more', full(count - listed.length)));
  const summary = h('summary', {}, kindTitle(kind), ' ', h('span.count', {}, full(count)));
  const element = h('details.lost-kind', { open: context.expanded.has(own) === isFolded }, summary, h('ul', {}, ...listed.map((entry) => drawEntry(entry, context)), rest));
  element.addEventListener('toggle', () => { context.actions.keepOpen(own, element.open === isFolded); });
  return element;
}

/** The kinds that are read as code, from left to right. */
const CODE: ReadonlySet<string> = new Set(['check', 'file']);

function drawEntry({ kind, state, text, detail, index }: Lost['entries'][number], { actions }: RowContext): HTMLElement {
  const number = index + 1;
  const reference = button('.link.number-link', { title: l10n.t('Show message #{0}', number) }, () => { actions.showNumber(number); }, `#${number}`);
  const word = stateWord(kind, state);
  return h('li', { dir: CODE.has(kind) ? 'ltr' : 'auto' }, word !== '' && h('span.state', {}, `[${word}] `), CODE.has(kind) ? h('code', {}, text) : text, detail !== '' && h('span.note', {}, detail), ' ', reference);
}

function drawActions(editId: string, { brief, terminal }: Lost, { actions }: RowContext): Child {
  if (brief === '') return undefined;
  const copy = button('.action.copy-lost', { title: l10n.t('Copy what is needed most of it, quoted, to give it back to the agent') }, () => { actions.copy(brief); }, icon('copy'), l10n.t('Copy'));
  const send = terminal !== null && button('.action.send-lost', { title: l10n.t('Put it into the terminal “{0}”, in which the agent runs. Enter is not pressed.', terminal) }, () => { actions.giveBack(editId); }, icon('send'), l10n.t('Send to the Terminal'));
  return h('div.actions', {}, copy, send);
}

/** Draws a line for each time that something was given back after a marker's compaction. */
export function drawGiven(row: MarkerRow, context: RowContext): Child[] {
  const { editId } = row.marker;
  const given = editId === null ? undefined : context.lost.get(editId)?.given;
  return (given ?? []).map((one, at) => drawOne(`${row.key}:given:${at}`, one, context));
}

function drawOne(key: string, given: Given, context: RowContext): HTMLElement {
  const when = h('span.note', {}, givenWhen(given.why), ' · ', age(given.at));
  const summary = h('summary', {}, givenWords(given), ' ', when);
  const text = h('pre.given-text', { dir: 'auto', tabindex: '0' }, given.text);
  const element = h('details.given.ledger', { open: context.expanded.has(key) }, summary, text);
  element.addEventListener('toggle', () => { context.actions.keepOpen(key, element.open); });
  return element;
}

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

export class LostLists {
  readonly #send: (message: PageMessageOf<'lost'>) => void;
  readonly #lists = new Map<string, Lost>();
  readonly #asked = new Set<string>();

  constructor(send: (message: PageMessageOf<'lost'>) => void) {
    this.#send = send;
  }

  /** The lists that have come. */
  get lists(): ReadonlyMap<string, Lost> {
    return this.#lists;
  }

  add(lost: Lost): void {
    this.#lists.set(lost.editId, lost);
  }

  clear(): void {
    this.#lists.clear();
    this.#asked.clear();
  }

  /** Requests a list unless that was done. */
  need(editId: string): void {
    if (this.#asked.has(editId)) return;
    this.#asked.add(editId);
    this.#send({ type: 'lost', editId });
  }

  /** Has the list requested again when it is needed next. The agent's terminal may have been opened or closed meanwhile. */
  forget(editId: string): void {
    this.#asked.delete(editId);
  }
}
