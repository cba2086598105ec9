/**
 * What a compaction left out, on the page alone: asked for when its marker is opened, listed by kind, given back.
 *
 * @vitest-environment happy-dom
 */
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import type { LostResult } from '../../protocol.gen';
import type { Lost, PageMessage } from '../messages';
import { toUsage } from '../usage';
import { loadMarkdown } from './markdown';
import { Page } from './page';
import { example, usage } from '../../../test/unit/samples';
import { item, marker } from '../../../test/unit/view/items';

const golden = example('context.lost.result.json') as LostResult;
/** What the user said, which this example's compaction keeps. */
const said: LostResult['entries'][number] = { kind: 'said', state: 'stands', text: 'Never round before the offset is added.', detail: '', index: 2 };
const known: Lost = { editId: 'e1', error: '', readable: true, counts: { said: 1, ...golden.counts }, entries: [said, ...golden.entries], brief: golden.brief, terminal: 'zsh', given: [] };
const items = [item('m0'), item('m1', { archived: true }), item('m2', { archived: true }), item('e1-marker', { marker }), item('m9')];
let root: HTMLElement;
let sent: PageMessage[];
let page: Page;

beforeAll(loadMarkdown);
beforeEach(() => {
  vi.stubGlobal('ResizeObserver', class { observe(): void { /* nothing has a size here */ } unobserve(): void { /* as above */ } });
  document.body.replaceChildren((root = document.createElement('div')));
  sent = [];
  page = new Page(root, { send: (message) => sent.push(message), keep: () => undefined, kept: undefined });
  page.receive({ type: 'session', sessionId: 's1', title: 'fix-login', generation: 1, total: items.length, reveal: null });
  page.receive({ type: 'entries', generation: 1, offset: 0, total: items.length, items });
});
afterEach(() => { page.dispose(); });

const find = (selector: string): HTMLElement => {
  const element = root.querySelector<HTMLElement>(selector);
  if (!element) throw new Error(`nothing is ${selector}`);
  return element;
};
const words = (selector: string): string[] => [...root.querySelectorAll(selector)].map((element) => element.textContent);
const asked = (): PageMessage[] => sent.filter(({ type }) => type === 'lost');
const belongsTo = (agent: string): void => { page.receive({ type: 'usage', usage: toUsage(usage({ meta: { agent } })) }); };

/** Opens the marker of an agent's conversation, and gives the answer. */
function open(lost: Lost = known): void {
  belongsTo('Claude Code');
  find('.marker .marker-head').click();
  page.receive({ type: 'lost', lost });
}

test('it is asked for when a marker is opened, and once', () => {
  belongsTo('Claude Code');
  expect(asked()).toEqual([]);
  find('.marker .marker-head').click();
  expect(asked()).toEqual([{ type: 'lost', editId: 'e1' }]);
  expect(words('.lost')).toEqual(['Looking for what was left out…']);
  page.receive({ type: 'lost', lost: known });
  expect(asked()).toHaveLength(1);
});

test('it is asked for again at the next opening, since the agent’s terminal may have come or gone', () => {
  open();
  find('.marker .marker-head').click();
  find('.marker .marker-head').click();
  expect(asked()).toHaveLength(2);
  expect(words('.lost > summary')).toEqual(['Left out: 1 of your messages, 1 problem, 1 text of the agent']);
});

test('a conversation of Ullage has no such line, because nothing is lost in it', () => {
  belongsTo('');
  find('.marker .marker-head').click();
  expect(root.querySelector('.lost')).toBeNull();
  expect(asked()).toEqual([]);
});

test('a marker that was open before the figures came asks as soon as they say whose the conversation is', () => {
  find('.marker .marker-head').click();
  expect(asked()).toEqual([]);
  belongsTo('Codex');
  expect(asked()).toHaveLength(1);
});

test('it is one line that unfolds to a list by kind, with what is known and where it was', () => {
  open({ ...known, entries: known.entries.map((entry) => ({ ...entry, detail: 'seen once' })) });
  expect((find('.lost') as HTMLDetailsElement).open).toBe(false);
  expect(words('.lost-kind > summary')).toEqual(['What you said 1', 'Problems 1', 'What the agent told you 1']);
  expect(words('.lost-kind:first-of-type li')[0]).toBe(`${said.text}seen once #3`);
  expect([...root.querySelectorAll<HTMLDetailsElement>('.lost-kind')].map((kind) => kind.open)).toEqual([true, true, true]);
});

test('a task, a problem and a file have their state, and what was said needs none', () => {
  const thing = { text: 'x', detail: '', index: 1 };
  open({ ...known, counts: { said: 1, task: 1, problem: 1, file: 1 }, entries: [{ ...thing, kind: 'said', state: 'open' }, { ...thing, kind: 'task', state: 'in progress' }, { ...thing, kind: 'problem', state: 'mended' }, { ...thing, kind: 'file', state: 'deleted' }] });
  expect(words('.lost-kind li')).toEqual(['x #2', '[in progress] x #2', '[mended] x #2', '[deleted] x #2']);
});

test('a kind that is not listed whole says how many more there are', () => {
  open({ ...known, counts: { said: 18 } });
  expect(words('.lost li.note')).toEqual(['17 more']);
});

test('what the user has unfolded is kept when the row is drawn again', () => {
  open();
  const lost = find('.lost') as HTMLDetailsElement;
  lost.open = true;
  lost.dispatchEvent(new Event('toggle'));
  page.receive({ type: 'lost', lost: known });
  expect((find('.lost') as HTMLDetailsElement).open).toBe(true);
});

test('a reference opens the archived messages and brings its message into view', () => {
  open({ ...known, entries: [{ kind: 'problem', state: 'open', text: 'it failed', detail: '', index: 2 }] });
  find('.lost .number-link').click();
  expect(words('.message.archived .text')).toContain('m2');
  expect(document.activeElement?.getAttribute('data-key')).toBe('m2');
});

test('the brief can be copied, and sent to the terminal that is known', () => {
  open();
  find('.copy-lost').click();
  find('.send-lost').click();
  expect(sent).toContainEqual({ type: 'copy', text: golden.brief });
  expect(sent).toContainEqual({ type: 'giveBack', editId: 'e1' });
});

test('without a terminal there is no way to send', () => {
  open({ ...known, terminal: null });
  expect(find('.copy-lost').textContent).toBe('Copy');
  expect(root.querySelector('.send-lost')).toBeNull();
});

const receipt = { at: 1_000, why: 'compact', counts: { said: 3, file: 11 }, tokens: 1_204, text: 'Said by the user:\n> #3 <b>Never</b> round.' };

test('what a hook gave back is a line at the marker with its cost, and unfolds to the text', () => {
  open({ ...known, given: [receipt, { ...receipt, why: 'resume', counts: { file: 1 }, tokens: 40 }] });
  const [first, second] = words('.given > summary');
  expect(first).toMatch(/^Given back: 3 of your messages, 11 files, 1,204 tokens right after the compaction · /);
  expect(second).toMatch(/^Given back: 1 file, 40 tokens when the session was resumed · /);
  expect(words('.given-text')[0]).toBe(receipt.text);
  expect(root.querySelector('.given b')).toBeNull();
});

test('what was given back is shown where nothing is listed as left out, too', () => {
  open({ ...known, ...nothing, given: [receipt] });
  expect(words('.given > summary')).toHaveLength(1);
});

const nothing = { counts: {}, entries: [], brief: '', terminal: null };
test.each([
  ['nothing left out', { ...known, ...nothing }, 'Everything that you typed is in the summary, and so are the open tasks and problems, the changed files and the last commit.'],
  ['a summary that cannot be read', { ...known, ...nothing, readable: false }, 'The summary is encrypted, so nobody but its provider knows what it leaves out.'],
  ['a failure', { ...known, ...nothing, error: 'no such edit' }, 'What was left out could not be found: no such edit'],
])('%s is said in words', (_, lost, text) => {
  open(lost);
  expect(words('.lost')).toEqual([text]);
  expect(root.querySelector('.copy-lost')).toBeNull();
});

test('what was left out is text, also where it looks like HTML', () => {
  open({ ...known, counts: { said: 1 }, entries: [{ kind: 'said', state: 'open', text: '<img src=x onerror=alert(1)>', detail: '<b>', index: 1 }] });
  expect(root.querySelector('.lost img, .lost b')).toBeNull();
  expect(words('.lost > summary')).toEqual(['Left out: 1 of your messages']);
});
