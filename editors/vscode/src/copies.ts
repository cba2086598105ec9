/** Copies: sessions whose conversation another program keeps in its own files. Compacting one changes the copy alone. */
import type { UsageMeta } from './protocol.gen';

type Kept = Pick<UsageMeta, 'managedBy' | 'agent'> & { readonly followed: unknown };

export function isCopy({ managedBy }: Pick<Kept, 'managedBy'>): boolean {
  return managedBy === 'agent';
}

/** Returns what the actions that compact are called. */
export function compactWord(kept: Kept): string {
  if (kept.followed) return 'Compact…';
  return isCopy(kept) ? 'Compact this copy' : 'Compact now';
}

/** Returns whose conversation the session is a copy of, `Claude Code’s conversation`. */
export function original({ agent }: Pick<Kept, 'agent'>): string {
  return `${agent || 'another program'}’s conversation`;
}
