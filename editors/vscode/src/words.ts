import * as l10n from '@vscode/l10n';

import type { UsageMeta } from './protocol.gen';

const WORDS: Readonly<Record<string, string>> = { user: l10n.t('you'), assistant: l10n.t('assistant'), system: l10n.t('system'), agent: l10n.t('agent') };

/** Returns the word for who speaks: `you`, `assistant`, `system`, and `agent` for an agent's program that writes as the user. */
export function speaker(role: string): string {
  return WORDS[role] ?? role;
}

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
