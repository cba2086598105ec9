/** Copies: sessions whose conversation another program keeps in its own files. Compacting one changes the copy alone. */
import * as l10n from '@vscode/l10n';

import type { UsageMeta } from './protocol.gen';

type Kept = Pick<UsageMeta, 'managedBy' | 'agent'> & { readonly followed: unknown };

export function isCopy({ managedBy }: Pick<Kept, 'managedBy'>): boolean {
  return managedBy === 'agent';
}

/** Returns what the actions that compact are called. */
export function compactWord(kept: Kept): string {
  if (kept.followed) return l10n.t('Compact…');
  return isCopy(kept) ? l10n.t('Compact this copy') : l10n.t('Compact now');
}

/** Returns whose conversation the session is a copy of, `Claude Code’s conversation`. */
export function original({ agent }: Pick<Kept, 'agent'>): string {
  return agent ? l10n.t('{0}’s conversation', agent) : l10n.t('another program’s conversation');
}
