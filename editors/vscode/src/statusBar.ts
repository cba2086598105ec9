/** The status bar item, drawn at most once per interval. */
import * as vscode from 'vscode';

import { Coalesced } from './coalesce';
import { describe, type Health } from './health';
import type { CompactionDone, Sessions } from './sessions';
import { statusView, type StatusView } from './statusText';
import { LINKED_COMMANDS, tooltipMarkdown } from './tooltip';

/** Milliseconds: faster than a user can read, slow enough that thousands of updates cost nothing. */
const REPAINT = 50;
/** Milliseconds for which a compaction's result stays on screen. */
const DONE_SHOWN = 8_000;
/** Milliseconds after which the tooltip's relative times are updated. */
const AGE = 30_000;

/** Shown if the folder's settings are not used. */
const RESTRICTED = 'Restricted: this folder is not trusted, so its settings are not used.';

/** The functions of the connection that are used here. */
export interface HealthSource {
  readonly health: Health;
  readonly onDidChangeHealth: vscode.Event<Health>;
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
  readonly #paint = new Coalesced(() => { this.#repaint(); }, REPAINT);
  readonly #disposables: readonly { dispose(): unknown }[];
  #tone: StatusView['tone'] = 'normal';
  #done: CompactionDone | undefined;
  /** The edits in force at the last figures. If there are fewer now, one was undone. */
  #compactions = 0;
  #doneTimer: NodeJS.Timeout | undefined;

  constructor(connection: HealthSource, sessions: Sessions) {
    this.#connection = connection;
    this.#sessions = sessions;
    this.#item = vscode.window.createStatusBarItem('ullage.status', vscode.StatusBarAlignment.Right, 1_000);
    this.#item.name = 'Ullage: context usage';
    const repaint = (): void => { this.#paint.request(); };
    const ageing = setInterval(repaint, AGE);
    this.#disposables = [
      this.#item,
      this.#paint,
      connection.onDidChangeHealth(repaint),
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
    const view = statusView({ health, usage, compaction, done: this.#done });
    this.#apply(view);
    const tooltip = health.kind === 'running' && usage ? tooltipMarkdown(usage, lastEdit, Date.now()) : undefined;
    const text = tooltip ?? (health.kind === 'running' ? view.label : describe(health));
    this.#setTooltip(vscode.workspace.isTrusted ? text : `${text}\n\n${RESTRICTED}`, tooltip !== undefined);
  }

  #setTooltip(text: string, linked: boolean): void {
    const now = this.#item.tooltip;
    if (typeof now === 'object' && now.value === text) return;
    const markdown = new vscode.MarkdownString(text, true);
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
