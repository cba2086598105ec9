import * as l10n from '@vscode/l10n';

const WORDS: Readonly<Record<string, string>> = { user: l10n.t('you'), assistant: l10n.t('assistant'), system: l10n.t('system'), agent: l10n.t('agent') };

/** Returns the word for who speaks: `you`, `assistant`, `system`, and `agent` for an agent's program that writes as the user. */
export function speaker(role: string): string {
  return WORDS[role] ?? role;
}
