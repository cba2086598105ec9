/** The text of the status bar item: a pure function of the known state. */
import { full, messages, percent, short, shrinking } from './figures';
import { describe, isTrouble, type Health } from './health';
import type { CompactionState, UsageState } from './session';

export interface StatusInput {
  readonly health: Health;
  readonly usage: UsageState | undefined;
  readonly compaction: CompactionState | undefined;
  /** A compaction that ended a moment ago. */
  readonly done: { readonly before: number; readonly after: number } | undefined;
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
  return known(usage, usage.size);
}

function trouble(health: Extract<Health, { reason: string }>): StatusView {
  const [text, icon, tone] = health.kind === 'missing' ? (['Ullage: not set up', '', 'dimmed'] as const) : (['Ullage: stopped', '$(error) ', 'error'] as const);
  return { text: `${icon}${text}`, label: `${text}. ${health.reason}`, command: 'ullage.showProblem', tone };
}

function busy(health: Health): StatusView {
  const verb = health.kind === 'restarting' ? 'restarting' : health.kind === 'installing' ? 'setting up' : 'starting';
  const text = `$(sync~spin) Ullage: ${verb}…`;
  return { text, label: describe(health), command: 'ullage.showLogs', tone: 'dimmed' };
}

function compacting(run: CompactionState): StatusView {
  const written = run.text ? ` · ${short(run.text.length)} characters` : '';
  return {
    text: `$(sync~spin) Compacting… ${messages(run.messages)}${written}`,
    label: `Ullage is compacting ${messages(run.messages)}. Press to cancel.`,
    command: 'ullage.cancelCompaction',
    tone: 'normal',
  };
}

function justDone(before: number, after: number): StatusView {
  return {
    text: `✓ ${shrinking(before, after)}`,
    label: `Compacted from ${full(before)} to ${full(after)} tokens. Press to show what changed.`,
    command: 'ullage.showContext',
    tone: 'normal',
  };
}

function noSession(): StatusView {
  const label = 'Ullage: no session. Press to start, import or open one.';
  return { text: 'Ullage', label, command: 'ullage.switchSession', tone: 'dimmed' };
}

function limitUnknown(usage: UsageState): StatusView {
  return {
    text: `${short(usage.used)} · limit unknown`,
    label: `Context: ${full(usage.used)} tokens; the model's limit is unknown. Press to set it.`,
    command: 'ullage.setWindow',
    tone: 'normal',
  };
}

function known(usage: UsageState, size: number): StatusView {
  const share = percent(usage.used, size);
  const { source, level, compactAt } = usage.meta;
  const near = source === 'reported' ? '' : '~';
  const warned = level === 'warning' || level === 'critical';
  const rest =
    warned && compactAt !== null ? `of ${short(size)} · compacts at ${percent(compactAt, size)}%` : `· ${short(usage.used)}/${short(size)}`;
  return {
    text: `${moon(share)} ${near}${share}% ${rest}`,
    label: `${warned ? 'Warning: context' : 'Context'} ${share} per cent full, ${full(usage.used)} of the window's ${full(size)} tokens, ${source}.`,
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
