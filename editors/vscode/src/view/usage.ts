/** A session's figures for the page, and what they say of its entries. Pure. */
import type { UsageState } from '../session';
import { basisLines } from '../tooltip';
import type { Usage } from './messages';

/** Returns the figures that the page shows. */
export function toUsage({ used, size, meta, modelName }: UsageState): Usage {
  const { usable, warnAt, compactAt, level, source, messagesActive, messagesArchived } = meta;
  return {
    used,
    size,
    usable,
    warnAt,
    compactAt,
    level,
    source,
    breakdown: { ...meta.breakdown },
    model: modelName,
    messagesActive,
    messagesArchived,
    reportedAt: meta.reportedAt,
    asOf: meta.asOf,
    agent: meta.agent,
    managedBy: meta.managedBy,
    followed: meta.followed != null,
    basis: basisLines(meta),
    pendingMessages: meta.pendingMessages,
    errorShare: meta.errorShare,
  };
}

/** The figures that determine the entries: messages archived, compactions, messages active. */
export function shapeOf(state: UsageState | undefined): string {
  if (!state) return '';
  const { messagesArchived, compactions, messagesActive, source } = state.meta;
  return [messagesArchived, compactions, source === 'estimated' ? 'edited' : '', messagesActive].join(' ');
}

/** Whether messages were appended and nothing else changed. */
export function grew(before: string, after: string): boolean {
  const [was, is] = [before.split(' '), after.split(' ')];
  return was.slice(0, 3).join() === is.slice(0, 3).join() && Number(was[3]) < Number(is[3]);
}
