/** Every committed example of the wire is shown by the extension without a gap. */
import { expect, test } from 'vitest';

import { messageLine, messageMarkdown } from '../../src/messageText';
import { previewDocument, summaryOf } from '../../src/preview';
import * as protocol from '../../src/protocol.gen';
import { statusView } from '../../src/statusText';
import { tooltipMarkdown } from '../../src/tooltip';
import { example, exampleNames, running, usage } from './samples';

/** What a text contains if a missing member was read. */
const HOLES = /undefined|NaN|\[object Object\]/;

/** Returns what the user sees of an update. The compiler checks the type of every file (`tests/golden`). */
function shown({ update }: protocol.SessionNotification): string {
  switch (update.sessionUpdate) {
    case 'usage_update':
      return shownUsage(update.used, update.size, update._meta?.ullage);
    case 'session_info_update':
      return update.title ?? shownUsage(0, null, update._meta?.ullage);
    case 'compaction_update':
      return `${update.status} ${update.summary?.map((part) => part.text).join('') ?? update.error ?? ''}`;
    case 'compaction_summary_chunk':
      return update.content.text;
    case 'notice':
      return `${update.severity} ${update.title}`;
    case 'user_message_chunk':
    case 'agent_message_chunk':
    case 'agent_thought_chunk':
    case 'tool_call':
    case 'tool_call_update':
      // Only another client of the server asks a model; its answer is shown from the transcript.
      return update.sessionUpdate;
  }
}

function shownUsage(used: number, size: number | null, meta: protocol.UsageMeta | undefined): string {
  if (!meta) throw new Error('the update came without its figures');
  const state = usage({ used, size, meta });
  const view = statusView({ health: running, usage: state, compaction: undefined, done: undefined });
  return [view.text, view.label, tooltipMarkdown(state, undefined, 0)].join('\n');
}

test.each(exampleNames('update.'))('%s is narrowed by its tag and shown without a hole', (name) => {
  const text = shown(example(name) as protocol.SessionNotification);
  expect(text.trim()).not.toBe('');
  expect(text).not.toMatch(HOLES);
});

test.each(exampleNames('context.messages.').filter((name) => name.endsWith('result.json')))('%s reads as text', (name) => {
  const { entries } = example(name) as protocol.MessagesResult;
  expect(entries).not.toHaveLength(0);
  for (const entry of entries) {
    expect(messageMarkdown(entry.message).trim()).not.toBe('');
    expect(messageLine(entry)).not.toMatch(HOLES);
  }
});

test('a preview shows its summary where the user can edit it', () => {
  const result = example('context.compact.preview.result.json') as protocol.CompactResult;
  const { entries } = example('context.messages.result.json') as protocol.MessagesResult;
  const document = previewDocument({ result, entries, title: 'Story', copyOf: '' });
  expect(summaryOf(document)).toBe(result.summary.trim());
  expect(document).not.toMatch(HOLES);
});

test('every method of ours has an example of its params', () => {
  const names = Object.values(protocol).flatMap((value) => ('name' in value && typeof value.name === 'string' ? [value.name] : []));
  const asked = names.filter((name) => name !== protocol.SessionUpdate.name);
  expect(asked).not.toHaveLength(0);
  for (const name of asked) {
    const file = `${name.replace('ullage/', '').replaceAll('/', '.')}.params.json`;
    expect(exampleNames(file)).toEqual([file]);
  }
});
