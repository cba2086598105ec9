/** The text of the status bar item: a pure function of the known state. */
import * as l10n from '@vscode/l10n';

import { full, inPercent, messages, oneLine, percent, short, shrinking } from './figures';
import { describe, isTrouble, type Health } from './health';
import { asLabel } from './labels';
import type { CompactionState, UsageState } from './session';

export interface StatusInput {
  readonly health: Health;
  readonly usage: UsageState | undefined;
  readonly compaction: CompactionState | undefined;
  /** A compaction that ended a moment ago. */
  readonly done: { readonly before: number; readonly after: number } | undefined;
  /** Whether there are other conversations, for whose figure this one could be taken, so that it is named. */
  readonly isNamed?: boolean;
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
  const view = known(usage, usage.size);
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

function known(usage: UsageState, size: number): StatusView {
  const share = percent(usage.used, size);
  const { source, level, compactAt } = usage.meta;
  const near = source === 'reported' ? '' : '~';
  const warned = level === 'warning' || level === 'critical';
  const filled = `${near}${inPercent(usage.used, size)}`;
  const figures = warned && compactAt !== null ? l10n.t('{0} of {1} · compacts at {2}', filled, short(size), inPercent(compactAt, size)) : `${filled} · ${short(usage.used)}/${short(size)}`;
  return {
    text: `${moon(share)} ${figures}`,
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
