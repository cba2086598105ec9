/** What a compaction left out, between the page and the terminal of the agent. */
import { expect, test } from 'vitest';
import type * as vscode from 'vscode';

import { asPaste } from '../../../src/following/terminals';
import { ContextGivenBack, type GivenBackResult, type LostResult, type Method } from '../../../src/protocol.gen';
import { LostHost } from '../../../src/view/lostHost';
import type { HostMessage } from '../../../src/view/messages';
import { example } from '../samples';

const golden = example('context.lost.result.json') as LostResult;
const given = example('context.givenBack.result.json') as GivenBackResult;

/** A terminal that keeps what is typed into it. */
class Typed {
  readonly name = 'zsh';
  readonly texts: (readonly [string, boolean | undefined])[] = [];
  readonly sendText = (text: string, enter?: boolean): void => { this.texts.push([text, enter]); };
  readonly show = (): void => { /* nothing is on screen here */ };
}

function hosted(answer: () => Promise<LostResult>, terminals: readonly (Typed | undefined)[]): { readonly host: LostHost; readonly posted: HostMessage[] } {
  const posted: HostMessage[] = [];
  const left = [...terminals];
  const host = new LostHost({
    model: { request: ((method: Method<unknown, unknown>) => (method === ContextGivenBack ? Promise.resolve(given) : answer())) as never },
    terminals: { of: () => Promise.resolve(left.shift() as vscode.Terminal | undefined) },
    post: (message) => posted.push(message),
  });
  return { host, posted };
}

test('the brief is pasted into the agent’s terminal, and Enter is not pressed', async () => {
  const terminal = new Typed();
  const { host, posted } = hosted(() => Promise.resolve(golden), [terminal, terminal]);
  await host.show('s_5', 'e_22');
  expect(posted[0]).toMatchObject({ type: 'lost', lost: { terminal: 'zsh', counts: golden.counts, brief: golden.brief } });
  await host.giveBack('s_5', 'e_22');
  expect(terminal.texts).toEqual([[asPaste(golden.brief), false]]);
  expect(posted[1]).toMatchObject({ type: 'notice', severity: 'info' });
});

test('an agent that has ended meanwhile is sent nothing, and the user is told', async () => {
  const terminal = new Typed();
  const { host, posted } = hosted(() => Promise.resolve(golden), [terminal, undefined]);
  await host.show('s_5', 'e_22');
  await host.giveBack('s_5', 'e_22');
  expect(terminal.texts).toEqual([]);
  expect(posted[1]).toMatchObject({ type: 'notice', severity: 'warning' });
});

test('a page can send nothing that it was not given', async () => {
  const terminal = new Typed();
  const { host, posted } = hosted(() => Promise.resolve(golden), [terminal, terminal]);
  await host.show('s_5', 'e_22');
  await host.giveBack('s_5', 'e_21');
  expect(terminal.texts).toEqual([]);
  expect(posted).toHaveLength(1);
});

test('a failure is shown at the marker', async () => {
  const { host, posted } = hosted(() => Promise.reject(new Error('no compaction')), []);
  await host.show('s_5', 'e_22');
  expect(posted[0]).toMatchObject({ type: 'lost', lost: { editId: 'e_22', error: 'no compaction', entries: [] } });
});

test('a paste has no line feed and nothing that ends it early', () => {
  expect(asPaste('one\r\ntwo\nthree')).toBe('\u001b[200~one\rtwo\rthree\u001b[201~');
  expect(asPaste('a\u001b[201~\rb\u009b201~c\u0003')).toBe('\u001b[200~a[201~b201~c\u001b[201~');
});

test('what hooks gave back comes with the compaction that it was given after, and with no other', async () => {
  const { host, posted } = hosted(() => Promise.resolve(golden), []);
  const [row] = given.rows;
  await host.show('s_5', row?.editId ?? '');
  await host.show('s_5', 'e_1');
  const rows = posted.map((message) => (message.type === 'lost' ? message.lost.given : undefined));
  expect(rows).toEqual([[{ at: row?.at, why: 'compact', counts: { said: 1 }, tokens: 31, text: row?.text }], []]);
});
