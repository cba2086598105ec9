/** The tree of agents' conversations: those of the open folder, those elsewhere, and earlier ones of the folder. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { Coalesced } from '../coalesce';
import { ago } from '../figures';
import { asLabel } from '../labels';
import type { FollowedConversation, FoundTranscript } from '../protocol.gen';
import type { Following } from './following';
import { figuresOf, fullestFirst, isClose, isIn, placeOf, shareOf, titleOf, warningOf } from './rows';

const TREE = 'ullage.agents';
/** Milliseconds between two drawings. Conversations that run change several times a second. */
const REPAINT = 250;
/** Milliseconds after which relative times are updated. */
const AGE = 60_000;

/** A heading with conversations under it. */
type Group = 'elsewhere' | 'earlier';
export type Node = FollowedConversation | FoundTranscript | Group;

/** What the tree shows and uses. */
export interface TreeParts {
  readonly following: Pick<Following, 'rows' | 'shown' | 'isOn' | 'onDidChange'>;
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
    if (here.length + elsewhere.length === 0) return this.#earlier();
    return [...here, ...(elsewhere.length > 0 ? ['elsewhere' as const] : []), 'earlier'];
  }

  getParent(node: Node): Node | undefined {
    if (typeof node === 'string' || this.#sorted().here.some((row) => row === node)) return undefined;
    return isRow(node) ? 'elsewhere' : 'earlier';
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if (node === 'elsewhere') return heading(node, l10n.t('Elsewhere'));
    if (node === 'earlier') return heading(node, l10n.t('Earlier'));
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

/** The figure comes first, then the agent: a narrow tree cuts what does not fit. */
function rowItem(row: FollowedConversation, now: number): vscode.TreeItem {
  const title = titleOf(row);
  const item = new vscode.TreeItem(asLabel(`${shareOf(row)}  ${row.agentShort} · ${title}`));
  item.id = row.sessionId;
  item.description = row.live ? placeOf(row) : ago(row.updatedAt, now);
  item.tooltip = [`${row.agent}: ${title}`, figuresOf(row, now), row.cwd, ...row.warnings].filter(Boolean).join('\n');
  item.accessibilityInformation = { label: [shareOf(row), title, row.agent, figuresOf(row, now), ...(isClose(row) ? [warningOf(row)] : [])].join(', ') };
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

/** The colours of a fill: far from a compaction, near it, and with the next calls. */
const INKS = {
  light: { far: '#616161', near: '#9a6700', imminent: '#c72e2e' },
  dark: { far: '#c5c5c5', near: '#d7a51c', imminent: '#f48771' },
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
