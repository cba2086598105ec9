import { expect, test } from 'vitest';

import { TranscriptsList, type FoundTranscript } from '../../src/protocol.gen';
import type { Door } from '../../src/sessions';
import { findTranscripts } from '../../src/transcripts';

const FOUND: FoundTranscript = {
  path: '/home/ada/.agent/a.jsonl', run: null, agent: 'Other', format: 'other', originId: '1', title: 'Why is **Tuesday**\nwrong?', cwd: '/home/ada/weather',
  here: true, model: 'm', updatedAt: 300, bytes: 10, sessionId: null, used: null, window: null, percent: null,
};

/** A server on whose machine these conversations lie. `asked` are the calls. */
function machine(...transcripts: readonly FoundTranscript[]): { door: Pick<Door, 'request'>; asked: unknown[] } {
  const asked: unknown[] = [];
  const request = (method: { name: string }, params: unknown): Promise<unknown> => {
    asked.push([method.name, params]);
    return Promise.resolve({ transcripts, unread: [] });
  };
  return { door: { request: request as Door['request'] }, asked };
}

test('the server finds the conversations, the open folder’s first', async () => {
  const { door, asked } = machine(FOUND, { ...FOUND, run: 2, here: false });
  const found = await findTranscripts(door, '/home/ada/weather', 8);
  expect(asked).toEqual([[TranscriptsList.name, { cwd: '/home/ada/weather', limit: 8 }]]);
  expect(found.map(({ run, here }) => [run, here])).toEqual([[null, true], [2, false]]);
});

test('a title is plain text on one line, and a conversation without one has the name of its file', async () => {
  const { door } = machine(FOUND, { ...FOUND, title: '' });
  expect((await findTranscripts(door, '', 8)).map(({ title }) => title)).toEqual(['Why is Tuesday wrong?', 'a.jsonl']);
});
