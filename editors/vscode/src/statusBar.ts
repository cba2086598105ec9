/** The status bar item with its hover. What they say is a pure function of the known state. */
import * as l10n from '@vscode/l10n';
import * as vscode from 'vscode';

import { statusOf, tooltipOf } from './conversations';
import type { Following } from './following';
import { describe, type Health, isTrouble } from './health';
import type { CallsLeft, EditInfo, UsageMeta } from './protocol.gen';
import type { CompactionDone, CompactionState, Sessions, UsageState } from './sessions';
import {
  ago,
  asLabel,
  clockLines,
  compactWord,
  full,
  inPercent,
  isCopy,
  messages,
  money,
  oneLine,
  original,
  percent,
  short,
  shrinking,
  triggerWord,
  warm,
} from './words';

export interface StatusInput {
  readonly health: Health;
  readonly usage: UsageState | undefined;
  readonly compaction: CompactionState | undefined;
  /** A compaction that ended a moment ago. */
  readonly done: { readonly before: number; readonly after: number } | undefined;
  /** Whether there are other conversations, for whose figure this one could be taken, so that it is named. */
  readonly isNamed?: boolean;
  /** Unix milliseconds. */
  readonly now?: number;
}

export interface StatusView {
  readonly text: string;
  /** The text for screen readers. */
  readonly label: string;
  readonly command: string;
  readonly tone: 'dimmed' | 'normal' | 'warning' | 'error';
}

export function statusView(input: StatusInput): StatusView {
  const { health, usage, compaction, done } = input;
  if (isTrouble(health)) return trouble(health);
  if (health.kind === 'idle') return noSession();
  if (health.kind !== 'running') return busy(health);
  if (compaction) return compacting(compaction);
  if (done) return justDone(done.before, done.after);
  if (!usage) return noSession();
  if (usage.size === null) return limitUnknown(usage);
  const view = known(usage, usage.size, input.now ?? Date.now());
  return input.isNamed && usage.title ? { ...view, text: `${asLabel(oneLine(usage.title, NAME))} ${view.text}` } : view;
}

/** Characters of a title in the status bar. */
const NAME = 28;

function trouble(health: Extract<Health, { reason: string }>): StatusView {
  const [text, icon, tone] = health.kind === 'missing' ? ([l10n.t('Ullage: not set up'), '', 'dimmed'] as const) : ([l10n.t('Ullage: stopped'), '$(error) ', 'error'] as const);
  return { text: `${icon}${text}`, label: `${text}. ${health.reason}`, command: 'ullage.showProblem', tone };
}

function busy(health: Health): StatusView {
  const words = health.kind === 'restarting' ? l10n.t('Ullage: restarting…') : health.kind === 'installing' ? l10n.t('Ullage: setting up…') : l10n.t('Ullage: starting…');
  const text = `$(sync~spin) ${words}`;
  return { text, label: describe(health), command: 'ullage.showLogs', tone: 'dimmed' };
}

function compacting(run: CompactionState): StatusView {
  const written = run.text ? ` · ${l10n.t('{0} characters', short(run.text.length))}` : '';
  return {
    text: `$(sync~spin) ${l10n.t('Compacting… {0}', messages(run.messages))}${written}`,
    label: l10n.t('Ullage is compacting {0}. Press to cancel.', messages(run.messages)),
    command: 'ullage.cancelCompaction',
    tone: 'normal',
  };
}

function justDone(before: number, after: number): StatusView {
  return {
    text: `✓ ${shrinking(before, after)}`,
    label: l10n.t('Compacted from {0} to {1} tokens. Press to show what changed.', full(before), full(after)),
    command: 'ullage.showContext',
    tone: 'normal',
  };
}

function noSession(): StatusView {
  const label = l10n.t('Ullage: no conversation is shown. Press to choose one.');
  return { text: 'Ullage', label, command: 'ullage.showAgents', tone: 'dimmed' };
}

function limitUnknown(usage: UsageState): StatusView {
  return {
    text: l10n.t('{0} · limit unknown', short(usage.used)),
    label: l10n.t("Context: {0} tokens; the model's limit is unknown. Press to set it.", full(usage.used)),
    command: 'ullage.setWindow',
    tone: 'normal',
  };
}

const SOURCES: Readonly<Record<UsageState['meta']['source'], string>> = { reported: l10n.t('reported'), stale: l10n.t('stale'), estimated: l10n.t('estimated') };

function known(usage: UsageState, size: number, now: number): StatusView {
  const share = percent(usage.used, size);
  const { source, level, compactAt } = usage.meta;
  const near = source === 'reported' ? '' : '~';
  const warned = level === 'warning' || level === 'critical';
  const filled = `${near}${inPercent(usage.used, size)}`;
  const figures = warned && compactAt !== null ? l10n.t('{0} of {1} · compacts at {2}', filled, short(size), inPercent(compactAt, size)) : `${filled} · ${short(usage.used)}/${short(size)}`;
  // A copy is not what the provider keeps.
  const kept = usage.meta.managedBy === 'ullage' ? warm(usage.meta.cache, now) : '';
  return {
    text: [`${moon(share)} ${figures}`, kept].filter(Boolean).join(' · '),
    label: warned
      ? l10n.t("Warning: context {0} per cent full, {1} of the window's {2} tokens, {3}.", share, full(usage.used), full(size), SOURCES[source])
      : l10n.t("Context {0} per cent full, {1} of the window's {2} tokens, {3}.", share, full(usage.used), full(size), SOURCES[source]),
    command: 'ullage.showContext',
    tone: level === 'critical' ? 'error' : warned ? 'warning' : 'normal',
  };
}

const MOONS = ['○', '◔', '◑', '◕', '●'] as const;

/** Returns a circle that is filled like the context. */
export function moon(share: number): string {
  if (share >= 95) return MOONS[4];
  if (share >= 70) return MOONS[3];
  if (share >= 50) return MOONS[2];
  return share >= 10 ? MOONS[1] : MOONS[0];
}

const KINDS: Readonly<Record<string, string>> = {
  system_prompt: l10n.t('system prompt'),
  tools: l10n.t('tools'),
  memory: l10n.t('memory'),
  messages: l10n.t('messages'),
  tool_results: l10n.t('tool results'),
  summary: l10n.t('summary'),
  overhead: l10n.t('hidden'),
};

/** The commands that the tooltip links to. Its Markdown may run no others. */
export const LINKED_COMMANDS: readonly string[] = [
  'ullage.compactContext',
  'ullage.previewCompaction',
  'ullage.showContext',
  'ullage.setWindow',
  'ullage.showAgents',
];

export function tooltipMarkdown(usage: UsageState, lastEdit: EditInfo | undefined, now: number): string {
  return [head(usage), breakdown(usage, true), ...basis(usage, lastEdit, now), links(usage)].filter(Boolean).join('\n\n');
}

/** Returns the figures for the chat, whose column is narrow, and in whose Markdown no command may run. */
export function figuresMarkdown(usage: UsageState, now: number): string {
  return [head(usage), breakdown(usage, false), ...basis(usage, undefined, now)].filter(Boolean).join('\n\n');
}

function head(usage: UsageState): string {
  return [
    `**${escapeMarkdown(usage.title || l10n.t('Untitled conversation'))}** · ${escapeMarkdown(usage.modelName || l10n.t('model unknown'))}`,
    gauge(usage),
  ].join('\n\n');
}

/** Returns how the figures are known, and what else is: the last edit and the cost. */
function basis(usage: UsageState, lastEdit: EditInfo | undefined, now: number): readonly string[] {
  return [
    [...basisLines(usage.meta), ...clockLines(usage.meta, usage.used, now)].map(escapeMarkdown).join('  \n'),
    [sourceLine(usage, now), lastEditLine(lastEdit, now), costLine(usage)].filter(Boolean).join('  \n'),
  ];
}

/** Returns how the window and the place of compaction are known, and what is left, one line each. */
export function basisLines(meta: UsageMeta): readonly string[] {
  const { window, threshold, callsLeft } = meta;
  const due = callsLeft?.high === 0 ? l10n.t('Compacts with the next call of the model') : '';
  const calls = due || (callsLeft && l10n.t('About {0} until it compacts', callsOf(callsLeft)));
  const copy = meta.followed
    ? l10n.t('{0}, read while it continues; Ullage changes nothing in it', original(meta))
    : isCopy(meta) ? l10n.t('A copy of {0}; compacting it here changes only the copy', original(meta)) : '';
  return [
    window && l10n.t('Window: {0}', window.basis),
    window?.contradiction && l10n.t('But {0}', window.contradiction),
    threshold && `${l10n.t('Compaction: {0}', threshold.basis)}${threshold.times > 0 ? ` (${threshold.times}×)` : ''}`,
    ...meta.remarks.map((remark) => remark.text),
    calls,
    copy,
  ].filter((line): line is string => Boolean(line));
}

function callsOf({ low, mean, high }: CallsLeft): string {
  if (low === high) return mean === 1 ? l10n.t('1 call of the model') : l10n.t('{0} calls of the model', mean);
  return mean === 1 ? l10n.t('1 call of the model ({0} to {1})', low, high) : l10n.t('{0} calls of the model ({1} to {2})', mean, low, high);
}

function gauge({ used, size, meta }: UsageState): string {
  if (size === null) return l10n.t("{0} tokens; the model's limit is unknown, so nothing is compacted by itself.", full(used));
  const near = meta.source === 'reported' ? '' : '~';
  const line = `\`${bar(used, size, meta.compactAt)}\` ${l10n.t('{0} of the window', near + inPercent(used, size))}`;
  const compacts = meta.compactAt === null ? '' : l10n.t('compacts at {0} ({1})', short(meta.compactAt), inPercent(meta.compactAt, size));
  return `${line}\n\n${[l10n.t('{0} of {1} tokens', full(used), full(size)), compacts].filter(Boolean).join(' · ')}`;
}

/** Returns the table of parts, without those of one per cent or less, as the command line has it. */
function breakdown({ used, meta }: UsageState, withBars: boolean): string {
  const parts = Object.entries<number>({ ...meta.breakdown })
    .filter(([, tokens]) => percent(tokens, used) > 1)
    .sort(([, a], [, b]) => b - a);
  const rows = parts.map(
    ([kind, tokens]) => `| ${KINDS[kind] ?? kind} | ${full(tokens)} | ${inPercent(tokens, used)} |${withBars ? ` \`${bar(tokens, used, null, 8)}\` |` : ''}`,
  );
  const [empty, left] = withBars ? [' |', ':--|'] : ['', ''];
  return rows.length > 0 ? [`| | ${l10n.t('tokens')} | |${empty}`, `|:--|--:|--:|${left}`, ...rows].join('\n') : l10n.t('Empty.');
}

/** Describes the source of the figure. */
export function sourceLine({ meta }: UsageState, now: number): string {
  if (meta.source === 'reported') return meta.reportedAt ? l10n.t('Reported by the provider {0}', ago(meta.reportedAt, now)) : l10n.t('Reported by the provider');
  const words = sourceWords(meta);
  return meta.asOf === null ? words : l10n.t({ message: '{0}, as of {1}', args: [words, ago(meta.asOf, now)], comment: ['Where a figure comes from, and the moment of which it speaks.'] });
}

function sourceWords({ source, pendingMessages, errorShare }: UsageMeta): string {
  if (source === 'stale') return l10n.t('Reported by the provider, and {0} counted since', messages(pendingMessages));
  return errorShare === null ? l10n.t('Estimated') : l10n.t('Estimated, ±{0}', inPercent(Math.max(0.01, errorShare), 1));
}

function lastEditLine(edit: EditInfo | undefined, now: number): string {
  if (!edit) return '';
  const [age, trigger] = [ago(edit.timestamp, now), triggerWord(edit.trigger)];
  const what = edit.kind === 'compaction' ? l10n.t('Compacted {0} ({1})', age, trigger) : l10n.t('Cleared {0} ({1})', age, trigger);
  return edit.tokensSaved > 0 ? l10n.t('{0}, saved {1}', what, short(edit.tokensSaved)) : what;
}

/** Escapes dollar signs, because Markdown reads two of them as a formula. */
function costLine({ cost }: UsageState): string {
  return cost ? l10n.t('Cost so far {0}, by list prices', escapeMarkdown(money(cost))) : '';
}

function links(usage: UsageState): string {
  const commands = [
    `[${compactWord(usage.meta)}](command:ullage.compactContext)`,
    ...(usage.meta.followed ? [] : [`[${l10n.t('Preview')}](command:ullage.previewCompaction)`]),
    `[${l10n.t('Show context')}](command:ullage.showContext)`,
  ];
  if (usage.size === null) commands.push(`[${l10n.t('Set the limit')}](command:ullage.setWindow)`);
  return commands.join(' · ');
}

/** Escapes foreign text, which must not become links, images or commands. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_{}[\]()#+\-.!|<>~&$]/g, '\\$&').replace(/\s+/g, ' ');
}

/** Cells of the bar in the tooltip. */
export const CELLS = 20;

/** Returns a bar of `cells` cells with `used` of `size` filled, and `┊` at the compaction threshold: `▓▓▓▓▓░░░┊░░`. */
export function bar(used: number, size: number, compactAt: number | null, cells = CELLS): string {
  const filled = toCells(used, size, cells);
  const blocks = '▓'.repeat(filled) + '░'.repeat(cells - filled);
  if (compactAt === null) return blocks;
  const mark = toCells(compactAt, size, cells);
  return `${blocks.slice(0, mark)}┊${blocks.slice(mark)}`;
}

function toCells(part: number, whole: number, cells: number): number {
  return Math.min(cells, Math.max(0, Math.round((cells * part) / Math.max(1, whole))));
}

export class Coalesced {
  readonly #work: () => void;
  readonly #interval: number;
  #timer: NodeJS.Timeout | undefined;
  #again = false;

  constructor(work: () => void, interval: number) {
    this.#work = work;
    this.#interval = interval;
  }

  request(): void {
    if (this.#timer) {
      this.#again = true;
      return;
    }
    this.#run();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #run(): void {
    this.#again = false;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#again) this.#run();
    }, this.#interval);
    this.#work();
  }
}

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
    const said = isTrouble(health) ? l10n.t('{0} Press for what helps.', describe(health)) : describe(health);
    const text = tooltip ?? (!isCalm ? said : isAllowed || usage ? view.label : NOT_FOLLOWING);
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
    const view = statusOf(shown, isQuiet(), Date.now());
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
