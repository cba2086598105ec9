/**
 * Collects as text what a bug report needs, without messages, titles or keys. The report is in English, for those who
 * read it.
 */
/* eslint-disable texts/untranslated -- see above */
import { describe, type Health } from './health';

export interface Facts {
  readonly extension: string;
  readonly editor: string;
  readonly platform: string;
  readonly trusted: boolean;
  readonly health: Health;
  readonly server: { readonly command: string; readonly how: string } | undefined;
  readonly usage: { readonly used: number; readonly size: number | null; readonly meta: unknown } | undefined;
  readonly settings: unknown;
}

export function diagnosticsText(facts: Facts): string {
  const place = facts.server ? `${facts.server.command} (${facts.server.how})` : 'none';
  return [
    '## Ullage',
    `- extension: ${facts.extension}`,
    `- editor: ${facts.editor}`,
    `- platform: ${facts.platform}`,
    `- trusted folder: ${facts.trusted ? 'yes' : 'no'}`,
    `- server: ${place}`,
    `- state: ${describe(facts.health)}`,
    '',
    '### Settings',
    json(facts.settings),
    '### Active session',
    facts.usage ? json({ used: facts.usage.used, size: facts.usage.size, ...asObject(facts.usage.meta) }) : 'none',
    '',
  ].join('\n');
}

function json(value: unknown): string {
  return `\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``;
}

function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}
