/** Every committed example of the wire goes through what the extension shows of it. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

import { messageLine, messageMarkdown } from '../../src/messageText';
import { previewDocument, summaryOf } from '../../src/previewText';
import * as protocol from '../../src/protocol.gen';
import type { UsageState } from '../../src/session';
import { statusView } from '../../src/statusText';
import { tooltipMarkdown } from '../../src/tooltip';

const FOLDER = path.join(import.meta.dirname, '../../../../protocol/examples');
const NAMES = readdirSync(FOLDER).map((file) => path.basename(file, '.json'));
/** What the text has where a member was read that is not there. */
const HOLES = /undefined|NaN|\[object Object\]/;

/** An example, to be taken as its type: `tests/golden` has the compiler verify that for every file. */
function example(name: string): unknown {
  return JSON.parse(readFileSync(path.join(FOLDER, `${name}.json`), 'utf8'));
}

function named(pattern: RegExp): readonly string[] {
  const found = NAMES.filter((name) => pattern.test(name));
  expect(found).not.toHaveLength(0);
  return found;
}

/** The one member that each update must have for its surface to show anything. */
function shown({ update }: protocol.SessionNotification): string {
  switch (update.sessionUpdate) {
    case 'usage_update':
      return shownUsage(update.used, update.size, update._meta?.ullage);
    case 'session_info_update':
      return update._meta ? shownUsage(0, null, update._meta.ullage) : (update.title ?? '');
    case 'compaction_update':
      return `${update.status} ${update.compactionId} ${update.summary?.map((part) => part.text).join('') ?? update.error ?? ''}`;
    case 'compaction_summary_chunk':
      return update.content.text;
    case 'notice':
      return `${update.severity} ${update.title} ${update._meta?.ullage.kind ?? ''}`;
  }
}

function shownUsage(used: number, size: number | null, meta: protocol.UsageMeta | undefined): string {
  if (!meta) throw new Error('an update of the usage came without its figures');
  const usage: UsageState = { sessionId: 's_1', title: 'Story', used, size, meta, at: 0 };
  const view = statusView({ health: { kind: 'running', version: '0.1.0' }, usage, compaction: undefined, done: undefined });
  return [view.text, view.label, tooltipMarkdown(usage, undefined, 0)].join('\n');
}

describe('the examples of the wire', () => {
  it.each(named(/^update\./))('%s is narrowed by its tag and shown without a hole', (name) => {
    const text = shown(example(name) as protocol.SessionNotification);
    expect(text.trim()).not.toBe('');
    expect(text).not.toMatch(HOLES);
  });

  it.each(named(/^context\.messages.*\.result$/))('%s has messages that read as text', (name) => {
    const { entries } = example(name) as protocol.MessagesResult;
    expect(entries.length).toBeGreaterThan(0);
    for (const entry of entries) {
      expect(messageMarkdown(entry.message).trim()).not.toBe('');
      expect(messageLine(entry)).not.toMatch(HOLES);
    }
  });

  it('a preview shows its summary where the person can edit it', () => {
    const result = example('context.compact.preview.result') as protocol.CompactResult;
    const { entries } = example('context.messages.result') as protocol.MessagesResult;
    const document = previewDocument({ result, entries, title: 'Story' });
    expect(summaryOf(document)).toBe(result.summary.trim());
    expect(document).not.toMatch(HOLES);
  });

  it.each(named(/^error\./))('%s has the code that belongs to its kind', (name) => {
    const { code, data } = example(name) as protocol.ErrorObject;
    expect(name).toBe(`error.${data.kind}`);
    expect(protocol.errorCodes[data.kind as protocol.ErrorKind]).toBe(code);
  });

  it('every method of ours has an example of its params', () => {
    const methods = Object.values(protocol).flatMap((value) => ('name' in value ? [value.name] : []));
    const asked = methods.filter((name) => name !== protocol.SessionUpdate.name);
    expect(asked.length).toBeGreaterThan(0);
    for (const name of asked) {
      expect(NAMES).toContain(`${name.replace('ullage/', '').replaceAll('/', '.')}.params`);
    }
  });

  it('every setting of the example is one in the manifest', () => {
    const manifest = JSON.parse(readFileSync(path.join(import.meta.dirname, '../../package.json'), 'utf8')) as {
      contributes: { configuration: { properties: Record<string, unknown> } };
    };
    const { context, ...others } = example('settings') as protocol.Settings;
    const keys = [...Object.keys(others), ...Object.keys(context ?? {}).map((key) => `context.${key}`)];
    for (const key of keys) expect(manifest.contributes.configuration.properties).toHaveProperty([`ullage.${key}`]);
  });
});
