/** The status bar item, drawn at most once per interval. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { Coalesced } from './coalesce';
import type { Following } from './following/following';
import { statusOf, tooltipOf } from './following/rows';
import { describe, isTrouble, type Health } from './health';
import type { CompactionDone, Sessions } from './sessions';
import { statusView, type StatusView } from './statusText';
import { escapeMarkdown, LINKED_COMMANDS, tooltipMarkdown } from './tooltip';

/** Milliseconds: faster than a user can read, slow enough that thousands of updates cost nothing. */
const REPAINT = 50;
/** Milliseconds for which a compaction's result stays on screen. */
const DONE_SHOWN = 8_000;
/** Milliseconds after which the tooltip's relative times are updated. */
const AGE = 30_000;

/** Shown if the folder's settings are not used. */
const RESTRICTED = l10n.t('Restricted: this folder is not trusted, so its settings and its instructions for summaries are not used.');

/** Shown after a no, and before there is anything to ask about. */
const NOT_FOLLOWING = l10n.t('Ullage follows no agent’s conversations. Press to have them followed.');

/** The functions of the connection that are used here. */
export interface HealthSource {
  readonly health: Health;
  readonly onDidChangeHealth: vscode.Event<Health>;
}

/** What is shown of the agents' conversations. */
type ShownFollowing = Pick<Following, 'shown' | 'isOn' | 'isAllowed' | 'row' | 'question' | 'onDidChange' | 'onDidAsk'>;

/** Whether agents' conversations are shown only when they are nearly full. */
export function isQuiet(): boolean {
  return vscode.workspace.getConfiguration('ullage').get<boolean>('quiet', false);
}

const BACKGROUNDS: Readonly<Record<StatusView['tone'], string | undefined>> = {
  dimmed: undefined,
  normal: undefined,
  warning: 'statusBarItem.warningBackground',
  error: 'statusBarItem.errorBackground',
};

export class StatusBar implements vscode.Disposable {
  readonly #item: vscode.StatusBarItem;
  readonly #connection: HealthSource;
  readonly #sessions: Sessions;
  readonly #following: ShownFollowing;
  readonly #paint = new Coalesced(() => { this.#repaint(); }, REPAINT);
  readonly #disposables: readonly { dispose(): unknown }[];
  #tone: StatusView['tone'] = 'normal';
  #done: CompactionDone | undefined;
  /** The edits in force at the last figures. If there are fewer now, one was undone. */
  #compactions = 0;
  #doneTimer: NodeJS.Timeout | undefined;

  constructor(connection: HealthSource, sessions: Sessions, following: ShownFollowing) {
    this.#connection = connection;
    this.#sessions = sessions;
    this.#following = following;
    this.#item = vscode.window.createStatusBarItem('ullage.status', vscode.StatusBarAlignment.Right, 1_000);
    this.#item.name = l10n.t('Ullage: context usage');
    const repaint = (): void => { this.#paint.request(); };
    const ageing = setInterval(repaint, AGE);
    this.#disposables = [
      this.#item,
      this.#paint,
      connection.onDidChangeHealth(repaint),
      following.onDidChange(repaint),
      following.onDidAsk(repaint),
      sessions.onDidChangeUsage(({ meta }) => {
        if (meta.compactions < this.#compactions) this.#showDone(undefined);
        this.#compactions = meta.compactions;
        repaint();
      }),
      sessions.onDidChangeSession(() => { this.#showDone(undefined); }),
      sessions.onDidChangeCompaction(repaint),
      sessions.onDidCompact((done) => { if (done.sessionId === sessions.activeSessionId) this.#showDone(done); }),
      { dispose: () => { clearInterval(ageing); clearTimeout(this.#doneTimer); } },
    ];
    this.#repaint();
    this.#item.show();
  }

  dispose(): void {
    vscode.Disposable.from(...this.#disposables).dispose();
  }

  #showDone(done: CompactionDone | undefined): void {
    clearTimeout(this.#doneTimer);
    this.#done = done;
    if (done) this.#doneTimer = setTimeout(() => { this.#showDone(undefined); }, DONE_SHOWN);
    this.#paint.request();
  }

  #repaint(): void {
    const { health } = this.#connection;
    const { usage, compaction, lastEdit } = this.#sessions;
    if (this.#showAgents(health)) return;
    const { isAllowed, shown } = this.#following;
    const view = statusView({ health, usage, compaction, done: this.#done, isNamed: shown.rows.length > 0 });
    this.#apply(view);
    const tooltip = health.kind === 'running' && usage ? tooltipMarkdown(usage, lastEdit, Date.now()) : undefined;
    const isCalm = health.kind === 'running' || health.kind === 'idle';
    const text = tooltip ?? (!isCalm ? describe(health) : isAllowed || usage ? view.label : NOT_FOLLOWING);
    this.#setTooltip(vscode.workspace.isTrusted ? text : `${text}\n\n${RESTRICTED}`, tooltip !== undefined);
  }

  /**
   * Shows what agents have, if they have anything here and Ullage itself has nothing to say. Returns whether it did. A
   * session of Ullage's own that the user has opened is shown while no agent's conversation continues.
   */
  #showAgents(health: Health): boolean {
    const { sessions: { activeSessionId, usage, compaction }, following } = { sessions: this.#sessions, following: this.#following };
    if (isTrouble(health) || compaction || this.#done) return false;
    if (following.question !== undefined && !usage) return this.#showQuestion(following.question);
    if (!following.isOn) return false;
    const shown = following.shown;
    const isOwn = usage !== undefined && usage.meta.followed === null && following.row(activeSessionId) === undefined;
    if (isOwn && !shown.rows.some(({ live }) => live)) return false;
    const view = statusOf(shown, isQuiet());
    if (!view) {
      if (isOwn || !isQuiet() || shown.rows.length === 0) return false;
      this.#apply({ text: 'Ullage', label: l10n.t('Ullage: quiet. Press to show the conversations of agents.'), command: 'ullage.showAgents', tone: 'dimmed' });
      this.#setTooltip(l10n.t('Quiet until two calls of the model are left.'), false);
      return true;
    }
    this.#apply(view);
    const text = tooltipOf(shown, escapeMarkdown, Date.now());
    this.#setTooltip(vscode.workspace.isTrusted ? text : `${text}\n\n${RESTRICTED}`, true);
    return true;
  }

  #showQuestion(question: string): true {
    this.#apply({ text: l10n.t('Ullage: follow agents?'), label: l10n.t('{0} Press to answer.', question), command: 'ullage.showAgents', tone: 'normal' });
    this.#setTooltip(l10n.t('{0} Press to answer.', question), false);
    return true;
  }

  #setTooltip(text: string, linked: boolean): void {
    const now = this.#item.tooltip;
    if (typeof now === 'object' && now.value === text) return;
    // Without icons: a session's title must not draw one.
    const markdown = new vscode.MarkdownString(text, false);
    markdown.isTrusted = linked ? { enabledCommands: LINKED_COMMANDS } : false;
    this.#item.tooltip = markdown;
  }

  /** Sets only what changed, because VS Code sends each assignment to the window. */
  #apply(view: StatusView): void {
    const item = this.#item;
    if (item.text !== view.text) item.text = view.text;
    if (item.command !== view.command) item.command = view.command;
    if (item.accessibilityInformation?.label !== view.label)
      item.accessibilityInformation = { label: view.label, role: 'button' };
    if (this.#tone === view.tone) return;
    this.#tone = view.tone;
    const background = BACKGROUNDS[view.tone];
    item.backgroundColor = background ? new vscode.ThemeColor(background) : undefined;
    item.color = view.tone === 'dimmed' ? new vscode.ThemeColor('descriptionForeground') : undefined;
  }
}
