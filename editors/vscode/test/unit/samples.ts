/** Values for tests. */
import { readdirSync, readFileSync } from 'node:fs';
import * as path from 'node:path';

import type { Health } from '../../src/health';
import type { EditInfo, UsageMeta } from '../../src/protocol.gen';
import type { CompactionState, UsageState } from '../../src/session';

export const repository = path.resolve(import.meta.dirname, '../../../..');
const examples = path.join(repository, 'protocol/examples');

/** Returns the names of the golden messages with this prefix. */
export function exampleNames(prefix: string): readonly string[] {
  return readdirSync(examples).filter((name) => name.startsWith(prefix));
}

/** Returns a golden message. The caller states its type. */
export function example(name: string): unknown {
  return JSON.parse(readFileSync(path.join(examples, name), 'utf8'));
}

export const running: Health = { kind: 'running', version: '0.1.0', misfit: '' };

const meta: UsageMeta = {
  source: 'reported',
  level: 'normal',
  usable: 108_000,
  warnAt: 86_400,
  compactAt: 97_200,
  breakdown: { system_prompt: 1_200, tools: 6_104, messages: 31_010, tool_results: 19_318, summary: 800 },
  totals: {},
  model: 'claude-sonnet-4-5',
  messagesActive: 12,
  messagesArchived: 33,
  compactions: 1,
  oldestTimestamp: 0,
  reportedAt: 1_000_000,
  pendingMessages: 0,
  errorShare: 0.04,
  shares: null,
  asOf: 1_000_000,
  percent: 46,
  warnPercent: 68,
  window: { size: 128_000, source: 'catalog', basis: 'the list of models: claude-sonnet-4-5', contradiction: null },
  threshold: { tokens: 97_200, percent: 76, source: 'ours', basis: 'Ullage compacts at 90% of the 108,000 tokens', times: 0 },
  left: 38_768,
  callsLeft: { low: 4, mean: 9, high: 20 },
  remarks: [],
  hidden: { tokens: 0, name: '' },
  managedBy: 'ullage',
  agent: '',
  followed: null,
  idle: null,
  cache: null,
};

export function usage(changes: Partial<Omit<UsageState, 'meta'>> & { readonly meta?: Partial<UsageMeta> } = {}): UsageState {
  const base = { sessionId: 's_1', title: 'fix-login', used: 58_432, size: 128_000, modelName: meta.model, at: 0 };
  return { ...base, ...changes, meta: { ...meta, ...changes.meta } };
}

export const compaction: CompactionState = {
  sessionId: 's_1',
  compactionId: 'e_1',
  number: 1,
  trigger: 'manual',
  messages: 45,
  sizeBefore: 164_000,
  text: '',
};

export function edit(changes: Partial<EditInfo> = {}): EditInfo {
  const base = { id: 'e_1', kind: 'compaction', timestamp: 0, trigger: 'automatic', tokensSaved: 122_000 } as const;
  return { reverted: false, ...base, ...changes };
}
