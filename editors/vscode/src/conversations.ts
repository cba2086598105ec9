/** Followed conversations in words, and the tree of them: those of the open folder, those elsewhere, and earlier ones of the folder. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import type { Following } from './following';
import type { FollowedConversation, FoundTranscript } from './protocol.gen';
import { Coalesced, moon, type StatusView } from './statusBar';
import { ago, asLabel, clockLines, full, idlesSoon, inPercent, oneLine, plainText, short, warm } from './words';

/** The most conversations that the status bar names. Users see the others on a click. */
const NAMED = 4;
/** What is shown for a figure that is not known. */
const UNKNOWN = '?';
/** Characters of a title in the status bar. */
const NAME = 28;

/** The conversations that a window shows. `subject` is the one that commands are about; `terminal` is that of the active terminal. */
export interface Shown {
  readonly rows: readonly FollowedConversation[];
  readonly subject: FollowedConversation | undefined;
  readonly terminal: FollowedConversation | undefined;
}

/**
 * Returns what a window shows: the conversations that continue in its folders, the one of the active terminal and the one
 * that the user has `chosen`, else the newest of the folders. `terminal` is the session that the active terminal has. The
 * subject is the chosen one, else the terminal's, else the one that changed last.
 */
export function choose(rows: readonly FollowedConversation[], folders: readonly string[], terminal: string | undefined, chosen?: string): Shown {
  const newest = [...rows].sort((one, other) => other.updatedAt - one.updatedAt);
  const here = newest.filter(({ cwd }) => folders.some((folder) => isIn(cwd, folder)));
  const own = newest.find(({ sessionId }) => sessionId === terminal);
  const live = here.filter((row) => row.live);
  const subject = newest.find(({ sessionId }) => sessionId === chosen) ?? own ?? live[0] ?? here[0];
  if (!subject) return { rows: [], subject, terminal: own };
  const shown = live.some(({ sessionId }) => sessionId === subject.sessionId) ? live : [subject, ...live];
  return { rows: shown.sort(fullestFirst), subject, terminal: own };
}

/** Returns the status bar item, or undefined if nothing is to be shown. */
export function statusOf({ rows, terminal }: Shown, quiet: boolean, now: number): StatusView | undefined {
  const shown = quiet ? rows.filter((row) => row.nearness === 'imminent') : rows;
  const [first] = shown;
  if (!first) return undefined;
  const text = shown.length === 1 ? alone(first, now) : together(shown, terminal);
  const label = shown.map((row) => [labelOf(row), ...clockOf(row, now)].join(', ')).join('. ');
  return { text, label: l10n.t('{0}. Press to show all.', label), command: 'ullage.showAgents', tone: shown.some(isClose) ? 'warning' : 'normal' };
}

/** Returns the lines of the clock of a conversation that continues. */
function clockOf(row: FollowedConversation, now: number): readonly string[] {
  return row.live ? clockLines(row, row.used, now) : [];
}

/** Returns the figures of a conversation in one line. */
export function figuresOf(row: FollowedConversation, now: number): string {
  const used = row.used === null ? UNKNOWN : short(row.used);
  const window = row.window === null ? UNKNOWN : short(row.window);
  return [l10n.t('{0} of {1}', used, window), compactsOf(row), callsOf(row), ago(row.updatedAt, now)].join(' · ');
}

/** Returns the tooltip: a line for each conversation, as Markdown without foreign text in it. */
export function tooltipOf({ rows, subject }: Shown, escaped: (text: string) => string, now: number): string {
  const lines = rows.map((row) => {
    const name = `**${escaped(row.agent)}** ${shareOf(row)}`;
    const title = escaped(titleOf(row));
    const shown = rows.length > 1 && row.sessionId === subject?.sessionId ? ` · *${l10n.t('shown in the Context view')}*` : '';
    return [`${name} · ${title}${shown}`, escaped(figuresOf(row, now)), ...clockOf(row, now).map(escaped), ...row.warnings.map((text) => l10n.t('Note: {0}', escaped(text)))].join('  \n');
  });
  const links = [`[${l10n.t('Show all')}](command:ullage.showAgents)`, `[${l10n.t('Show context')}](command:ullage.showContext)`, `[${l10n.t('Compact…')}](command:ullage.compactContext)`];
  return [...lines, links.join(' · ')].join('\n\n');
}

/** Returns how full a conversation is: `46%`, `~46%` for an estimate, `58K` without a window, `?` without a figure. */
export function shareOf({ used, usedSource, window }: FollowedConversation): string {
  if (used === null) return UNKNOWN;
  const near = usedSource === 'reported' ? '' : '~';
  return window === null ? `${near}${short(used)}` : `${near}${inPercent(used, window)}`;
}

export function titleOf(row: FollowedConversation): string {
  return plainText(row.title).replace(/\s+/g, ' ').trim() || l10n.t('Untitled conversation');
}

/** Whether a path is a folder or in it. */
export function isIn(cwd: string, folder: string): boolean {
  const [own, outer] = [slashed(cwd), slashed(folder)];
  return own !== '' && outer !== '' && (own === outer || own.startsWith(`${outer}/`));
}

/** Whether an agent's own compaction is worth a look, or the end of the window where it has none. */
export function isClose({ nearness }: FollowedConversation): boolean {
  return nearness === 'near' || nearness === 'imminent';
}

/** Returns the sentence that warns of an agent's compaction, or of the end of its window. */
export function warningOf(row: FollowedConversation): string {
  const { agent, callsLeft, compactsAt, window } = row;
  if (compactsAt === null) return l10n.t('{0} has little room: {1} full.', agent, shareOf(row));
  const when = compactsWhen(agent, callsLeft);
  if (window === null) return l10n.t('{0}: {1} of {2}.', when, shareOf(row), short(compactsAt));
  return l10n.t('{0}: {1} full, compacts at {2}.', when, shareOf(row), inPercent(compactsAt, window));
}

function compactsWhen(agent: string, callsLeft: FollowedConversation['callsLeft']): string {
  if (callsLeft === null) return l10n.t('{0} compacts soon', agent);
  const [low = 0, high = 0] = callsLeft;
  if (high === 0) return l10n.t('{0} compacts with the next call', agent);
  if (low !== high) return l10n.t('{0} compacts in {1} to {2} calls', agent, low, high);
  return low === 1 ? l10n.t('{0} compacts in 1 call', agent) : l10n.t('{0} compacts in {1} calls', agent, low);
}

function slashed(path: string): string {
  return path.replaceAll('\\', '/').replace(/\/+$/, '');
}

/** Orders by how full the windows are, those that are not known last. */
export function fullestFirst(one: FollowedConversation, other: FollowedConversation): number {
  return (other.percent ?? -1) - (one.percent ?? -1) || other.updatedAt - one.updatedAt;
}

/** A conversation that does not continue is named: the figure of another one could be taken for it. */
function alone(row: FollowedConversation, now: number): string {
  const circle = row.percent === null ? '' : `${moon(row.percent)} `;
  const more = row.live ? [idlesSoon(row.idle, now) || placeOf(row), warm(row.cache, now)] : [nameOf(row)];
  return [`${circle}${asLabel(row.agentShort)} ${shareOf(row)}`, ...more].filter(Boolean).join(' · ');
}

/** Returns where a conversation is compacted, as a share of its window, or that it is now; empty if that is not known. */
export function placeOf({ compactsAt, window, nearness }: FollowedConversation): string {
  if (nearness === 'compacting') return l10n.t('compacting…');
  return compactsAt !== null && window !== null ? l10n.t('compacts at {0}', inPercent(compactsAt, window)) : '';
}

function nameOf(row: FollowedConversation): string {
  return asLabel(oneLine(titleOf(row), NAME));
}

function together(rows: readonly FollowedConversation[], terminal: FollowedConversation | undefined): string {
  const names = rows.slice(0, NAMED).map((row) => `${row === terminal ? '▸' : ''}${row.live ? asLabel(row.agentShort) : nameOf(row)} ${shareOf(row)}`);
  return [...names, ...(rows.length > NAMED ? [`+${rows.length - NAMED}`] : [])].join(' · ');
}

function labelOf(row: FollowedConversation): string {
  const { used, window } = row;
  const agent = row.live ? row.agent : `${row.agent}, ${titleOf(row)}`;
  if (used === null) return l10n.t('{0}: size unknown', agent);
  if (window === null) return l10n.t('{0}: {1} tokens; its window is unknown, {2}', agent, full(used), compactsOf(row));
  return l10n.t('{0}: {1} of {2} tokens, {3}', agent, full(used), full(window), compactsOf(row));
}

function compactsOf({ compactsAt, window, nearness }: FollowedConversation): string {
  if (nearness === 'compacting') return l10n.t('compacting…');
  if (compactsAt === null) return l10n.t('compacts at {0}', UNKNOWN);
  return window === null ? l10n.t('compacts at {0}', short(compactsAt)) : l10n.t('compacts at {0} ({1})', short(compactsAt), inPercent(compactsAt, window));
}

function callsOf({ callsLeft }: FollowedConversation): string {
  if (callsLeft === null) return l10n.t('{0} calls left', UNKNOWN);
  const [low = 0, high = 0] = callsLeft;
  if (high === 0) return l10n.t('the next call compacts');
  if (low !== high) return l10n.t('{0} to {1} calls left', low, high);
  return low === 1 ? l10n.t('1 call left') : l10n.t('{0} calls left', low);
}

const TREE = 'ullage.agents';
/** Milliseconds between two drawings. Conversations that run change several times a second. */
const REPAINT = 250;
/** Milliseconds after which relative times are updated. */
const AGE = 60_000;

/** A heading with conversations under it. */
type Group = 'elsewhere' | 'earlier';
/** `keeping` stands for the question whether conversations are kept. */
export type Node = FollowedConversation | FoundTranscript | Group | 'keeping';

/** What the tree shows and uses. */
export interface TreeParts {
  readonly following: Pick<Following, 'rows' | 'shown' | 'isOn' | 'asksToKeep' | 'onDidChange' | 'onDidAsk'>;
  readonly folders: () => readonly string[];
  /** Finds the conversations that agents keep, those of the open folder first. */
  readonly find: () => Promise<readonly FoundTranscript[]>;
  /** The session that the Context view shows. */
  readonly active: () => string | undefined;
  readonly onDidChangeActive: vscode.Event<unknown>;
  /** Called when the tree is shown. */
  readonly shown: () => void;
}

export class ConversationTree implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  readonly #changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.#changed.event;
  readonly #parts: TreeParts;
  readonly #paint = new Coalesced(() => { this.#repaint(); }, REPAINT);
  readonly #view: vscode.TreeView<Node>;
  readonly #disposables: vscode.Disposable;
  #found: readonly FoundTranscript[] = [];

  constructor(parts: TreeParts) {
    this.#parts = parts;
    this.#view = vscode.window.createTreeView<Node>(TREE, { treeDataProvider: this, showCollapseAll: false });
    const ageing = setInterval(() => { if (this.#view.visible) this.#paint.request(); }, AGE);
    this.#disposables = vscode.Disposable.from(
      this.#view,
      this.#changed,
      this.#paint,
      { dispose: () => { clearInterval(ageing); } },
      parts.following.onDidChange(() => { this.#paint.request(); }),
      parts.following.onDidAsk(() => { this.#paint.request(); }),
      parts.onDidChangeActive(() => { void this.#select(); }),
      this.#view.onDidChangeVisibility(({ visible }) => {
        if (!visible) return;
        parts.shown();
        void this.#select();
      }),
    );
    this.#repaint();
  }

  dispose(): void {
    this.#disposables.dispose();
  }

  get isShown(): boolean {
    return this.#view.visible;
  }

  async getChildren(parent?: Node): Promise<Node[]> {
    const { here, elsewhere } = this.#sorted();
    if (parent === 'elsewhere') return elsewhere;
    if (parent === 'earlier') return this.#earlier();
    if (parent !== undefined || !this.#parts.following.isOn) return [];
    // Without one that was just used, the earlier ones need no heading.
    const question = this.#parts.following.asksToKeep ? ['keeping' as const] : [];
    if (here.length + elsewhere.length === 0) return [...question, ...(await this.#earlier())];
    return [...question, ...here, ...(elsewhere.length > 0 ? ['elsewhere' as const] : []), 'earlier'];
  }

  getParent(node: Node): Node | undefined {
    if (typeof node === 'string' || this.#sorted().here.some((row) => row === node)) return undefined;
    return isRow(node) ? 'elsewhere' : 'earlier';
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if (node === 'elsewhere') return heading(node, l10n.t('Elsewhere'));
    if (node === 'earlier') return heading(node, l10n.t('Earlier'));
    if (node === 'keeping') return keepingItem();
    return isRow(node) ? rowItem(node, Date.now()) : foundItem(node, Date.now());
  }

  #sorted(): { readonly here: FollowedConversation[]; readonly elsewhere: FollowedConversation[] } {
    const rows = [...this.#parts.following.rows].sort((one, other) => Number(other.live) - Number(one.live) || fullestFirst(one, other));
    const folders = this.#parts.folders();
    const here = rows.filter(({ cwd }) => folders.some((folder) => isIn(cwd, folder)));
    return { here, elsewhere: rows.filter((row) => !here.includes(row)) };
  }

  async #earlier(): Promise<FoundTranscript[]> {
    this.#found = await this.#parts.find();
    const listed = new Set(this.#parts.following.rows.map(({ path }) => path));
    return this.#found.filter(({ path }) => !listed.has(path));
  }

  #repaint(): void {
    this.#changed.fire(undefined);
    const close = this.#parts.following.shown.rows.filter((row) => row.live && isClose(row));
    // An event for each badge, so the same one is not set again.
    const tooltip = close.map(warningOf).join(' ');
    if (this.#view.badge?.tooltip !== tooltip) this.#view.badge = close.length > 0 ? { value: close.length, tooltip } : undefined;
  }

  /** Selects the conversation that the Context view shows. */
  async #select(): Promise<void> {
    const active = this.#parts.active();
    const row = this.#parts.following.rows.find(({ sessionId }) => sessionId === active);
    if (row && this.#view.visible && this.#view.selection[0] !== row) await this.#view.reveal(row, { select: true, focus: false });
  }
}

function isRow(node: FollowedConversation | FoundTranscript): node is FollowedConversation {
  return 'agentShort' in node;
}

function heading(group: Group, words: string): vscode.TreeItem {
  const item = new vscode.TreeItem(words, vscode.TreeItemCollapsibleState.Collapsed);
  item.id = group;
  return item;
}

function keepingItem(): vscode.TreeItem {
  const item = new vscode.TreeItem(l10n.t('Keep these conversations?'));
  item.id = 'keeping';
  item.tooltip = l10n.t('Agents delete old conversations, some after a month. May Ullage keep them?');
  item.iconPath = new vscode.ThemeIcon('archive');
  item.command = { command: 'ullage.askToKeep', title: l10n.t('Keep these conversations?') };
  return item;
}

/** The figure comes first, then the agent: a narrow tree cuts what does not fit. */
function rowItem(row: FollowedConversation, now: number): vscode.TreeItem {
  const title = titleOf(row);
  const item = new vscode.TreeItem(asLabel(`${shareOf(row)}  ${row.agentShort} · ${title}`));
  item.id = row.sessionId;
  item.description = row.live ? placeOf(row) : ago(row.updatedAt, now);
  item.tooltip = [`${row.agent}: ${title}`, figuresOf(row, now), ...clockOf(row, now), row.cwd, ...row.warnings].filter(Boolean).join('\n');
  item.accessibilityInformation = { label: [shareOf(row), title, row.agent, figuresOf(row, now), ...clockOf(row, now), ...(isClose(row) ? [warningOf(row)] : [])].join(', ') };
  item.iconPath = { light: pie(row, INKS.light), dark: pie(row, INKS.dark) };
  item.contextValue = 'conversation';
  item.command = { command: 'ullage.openConversation', title: l10n.t('Show Context'), arguments: [row] };
  return item;
}

function foundItem({ path, run, agent, title, updatedAt }: FoundTranscript, now: number): vscode.TreeItem {
  const item = new vscode.TreeItem(asLabel(title));
  item.id = `${path} ${run ?? ''}`;
  item.description = asLabel(`${agent} · ${ago(updatedAt, now)}`);
  item.tooltip = path;
  item.iconPath = new vscode.ThemeIcon('history');
  item.contextValue = 'earlier';
  item.command = { command: 'ullage.importTranscript', title: l10n.t('Show Context'), arguments: [path, run] };
  return item;
}

/** The colours of a fill: far from a compaction, near it, with the next calls, and while it runs. */
const INKS = {
  light: { far: '#616161', near: '#9a6700', imminent: '#c72e2e', compacting: '#616161' },
  dark: { far: '#c5c5c5', near: '#d7a51c', imminent: '#f48771', compacting: '#c5c5c5' },
} as const;

/** Draws how full a context is: a circle that is filled clockwise, empty if that is not known. */
function pie({ percent, nearness }: FollowedConversation, inks: (typeof INKS)[keyof typeof INKS]): vscode.Uri {
  const ink = inks[nearness ?? 'far'];
  const turn = 2 * Math.PI * Math.min(0.999, Math.max(0, (percent ?? 0) / 100));
  const [x, y] = [8 + 5 * Math.sin(turn), 8 - 5 * Math.cos(turn)].map((part) => part.toFixed(2));
  // eslint-disable-next-line texts/untranslated -- a picture
  const wedge = percent ? `<path d="M8 8V3A5 5 0 ${turn > Math.PI ? 1 : 0} 1 ${x} ${y}Z" fill="${ink}"/>` : '';
  // eslint-disable-next-line texts/untranslated -- a picture
  const picture = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16"><circle cx="8" cy="8" r="6.5" fill="none" stroke="${ink}"/>${wedge}</svg>`;
  return vscode.Uri.parse(`data:image/svg+xml;base64,${Buffer.from(picture).toString('base64')}`);
}
