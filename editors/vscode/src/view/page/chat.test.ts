/**
 * An answer that is being written, on the page alone: pieces, thinking, tool calls, and the message that replaces them.
 *
 * @vitest-environment happy-dom
 */
import { afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import type { HostMessage, Item, PageMessage, Piece } from '../messages';
import type { Kept } from './kept';
import { loadMarkdown } from './markdown';
import { Page } from './page';
import { PATIENCE } from '../../../test/unit/patience';
import { call, item, marker, result } from '../../../test/unit/view/items';

let root: HTMLElement;
let sent: PageMessage[];
let kept: Kept | undefined;
let page: Page;
let there: Item[];

beforeAll(loadMarkdown);
beforeEach(() => {
  vi.stubGlobal('ResizeObserver', class { observe(): void { /* nothing has a size here */ } unobserve(): void { /* as above */ } });
  document.body.replaceChildren((root = document.createElement('div')));
  sent = [];
  kept = undefined;
  there = [];
  start();
});
afterEach(() => { page.dispose(); });

/** A page that shows one message and can ask the model. */
function start(): void {
  page = new Page(root, { send: (message) => sent.push(message), keep: (state) => { kept = state; }, kept });
  page.receive({ type: 'session', sessionId: 's1', title: 'fix-login', generation: 1, total: there.length, reveal: null });
  page.receive({ type: 'prompting', remedy: null });
  if (there.length > 0) page.receive({ type: 'entries', generation: 1, offset: 0, total: there.length, items: there });
  else add(item('m0'));
}

/** Adds messages to the transcript. */
function add(...items: Item[]): void {
  page.receive({ type: 'entries', generation: 1, offset: there.length, total: there.length + items.length, items });
  there.push(...items);
}

function say(id: string, text: string, kind: Piece['kind'] = 'text', role: Piece['role'] = 'assistant'): void {
  page.receive({ type: 'said', piece: { id, role, kind, text } });
}

const turn = (running: boolean, ...texts: string[]): HostMessage => ({ type: 'turn', running, queued: texts.map((text, id) => ({ id, text })) });
const find = (selector: string): HTMLElement => {
  const element = root.querySelector<HTMLElement>(selector);
  if (!element) throw new Error(`nothing is ${selector}`);
  return element;
};
const words = (selector: string): string[] => [...root.querySelectorAll(selector)].map((element) => element.textContent);
const press = (element: HTMLElement, key: string, more: KeyboardEventInit = {}): boolean => element.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, ...more }));
const box = (): HTMLTextAreaElement => find('.prompt-input') as HTMLTextAreaElement;
/** Waits for the next frame, in which new content is drawn. */
const frame = (): Promise<unknown> => new Promise((done) => { requestAnimationFrame(() => { requestAnimationFrame(done); }); });

function ask(text: string): void {
  box().value = text;
  press(box(), 'Enter');
}

const answered = (text: string, ...parts: Item['parts']): Item => item('a1', { role: 'assistant', parts: [{ kind: 'text', text, more: false }, ...parts] });

test('an answer grows after the transcript, as prose', async () => {
  say('u1', 'How?', 'text', 'user');
  say('a1', '**So');
  say('a1', '** it is.');
  await frame();
  expect(words('.message .text')).toEqual(['m0', 'How?', 'So it is.']);
  expect(words('.live strong')).toEqual(['So']);
  expect(find('.assistant.live').getAttribute('aria-busy')).toBe('true');
});

test('the message that joins the transcript takes the place of its pieces, and keeps its whole text', async () => {
  const long = `${'word '.repeat(300)}end.`;
  say('a1', long);
  await frame();
  const last = find('.assistant.live');
  add(item('a1', { role: 'assistant', parts: [{ kind: 'text', text: long.slice(0, 600), more: true }], tokens: 301 }));
  expect(root.querySelectorAll('.message.assistant')).toHaveLength(1);
  expect(find('.message.assistant').classList.contains('live')).toBe(false);
  expect(find('.message.assistant .text').textContent).toBe(last.querySelector('.text')?.textContent);
  expect(find('.message.assistant .tokens').textContent).toContain('301');
});

test('pieces that come after their message are not shown twice', async () => {
  add(answered('So it is.'));
  say('a1', 'So it is.');
  await frame();
  expect(words('.message.assistant .text')).toEqual(['So it is.']);
});

test('thinking is folded, and stays as the user left it while it is written', async () => {
  say('a1', 'Hm', 'thinking');
  await frame();
  const thought = find('.thought') as HTMLDetailsElement;
  expect(thought.open).toBe(false);
  thought.open = true;
  thought.dispatchEvent(new Event('toggle'));
  say('a1', ', well', 'thinking');
  say('a1', 'Yes.');
  await frame();
  expect((find('.thought') as HTMLDetailsElement).open).toBe(true);
  expect(words('.thought .thinking')).toEqual(['Hm, well']);
});

test('a tool call says what it does until its result is there', async () => {
  say('a1', 'I look.');
  await frame();
  add(answered('I look.', call('c1')));
  page.receive({ type: 'called', call: { id: 'c1', title: 'Read a.py', status: 'in_progress' } });
  expect(words('.call-state')).toEqual(['runs…']);
  add(item('r1', { parts: [result('c1')] }));
  page.receive({ type: 'called', call: { id: 'c1', title: 'Read a.py', status: 'completed' } });
  expect(words('.call-state')).toEqual([]);
  expect(root.querySelectorAll('.message.assistant')).toHaveLength(1);
});

test('a compaction in the middle puts its marker before the continued answer', async () => {
  say('u1', 'And now?', 'text', 'user');
  await frame();
  page.receive({ type: 'session', sessionId: 's1', title: 'fix-login', generation: 2, total: 3, reveal: null });
  say('a1', 'Now ');
  page.receive({ type: 'entries', generation: 2, offset: 0, total: 3, items: [item('m0', { archived: true }), item('e1-marker', { marker }), item('u1', { parts: [{ kind: 'text', text: 'And now?', more: false }] })] });
  say('a1', 'this.');
  await frame();
  expect([...root.querySelectorAll<HTMLElement>('.row')].map((row) => row.dataset['key'])).toEqual(['group m0', 'e1-marker', 'u1', 'a1']);
  expect(words('.live .text')).toEqual(['Now this.']);
});

test('a page that comes back in the middle of an answer is given what was said', async () => {
  page.receive({ type: 'live', speeches: [{ id: 'a1', role: 'assistant', parts: [{ kind: 'text', text: 'So', more: false }] }], calls: [] });
  say('a1', ' it is.');
  await frame();
  expect(words('.live .text')).toEqual(['So it is.']);
  page.receive({ type: 'live', speeches: [], calls: [] });
  expect(root.querySelector('.live')).toBeNull();
});

test('stop is there while an answer is written, and Escape does the same', () => {
  expect(find('.stop').hidden).toBe(true);
  page.receive(turn(true));
  find('.stop').click();
  press(box(), 'Escape');
  expect(sent.filter(({ type }) => type === 'stop')).toHaveLength(2);
  page.receive(turn(false));
  press(box(), 'Escape');
  expect(find('.stop').hidden).toBe(true);
  expect(sent.filter(({ type }) => type === 'stop')).toHaveLength(2);
});

test('prompts that wait are shown and can be taken back', () => {
  page.receive(turn(true, 'Then this.', 'And that.'));
  expect(words('.waiting-text')).toEqual(['Then this.', 'And that.']);
  root.querySelectorAll<HTMLElement>('.waiting button')[1]?.click();
  expect(sent).toContainEqual({ type: 'withdraw', id: 1 });
  page.receive(turn(true));
  expect(find('.waiting').hidden).toBe(true);
});

test('the arrows bring earlier prompts back, and then what was being typed', () => {
  ask('one');
  ask('two');
  box().value = 'thr';
  box().dispatchEvent(new Event('input'));
  press(box(), 'ArrowUp');
  expect(box().value).toBe('two');
  press(box(), 'ArrowUp');
  press(box(), 'ArrowUp');
  expect(box().value).toBe('one');
  press(box(), 'ArrowDown');
  press(box(), 'ArrowDown');
  expect(box().value).toBe('thr');
});

test('Shift and Enter begin a line, and nothing is sent', () => {
  box().value = 'one';
  press(box(), 'Enter', { shiftKey: true });
  expect(sent.some(({ type }) => type === 'prompt')).toBe(false);
});

test('what is typed is there again when the page comes back', async () => {
  ask('one');
  box().value = 'half of';
  box().dispatchEvent(new Event('input'));
  await vi.waitUntil(() => kept?.prompt?.draft === 'half of', PATIENCE);
  start();
  expect(box().value).toBe('half of');
  press(box(), 'ArrowUp');
  expect(box().value).toBe('one');
});

test('a prompt that did not reach the model comes back into the empty box', () => {
  page.receive({ type: 'unsent', text: 'Hello?' });
  expect(box().value).toBe('Hello?');
  page.receive({ type: 'unsent', text: 'Another' });
  expect(box().value).toBe('Hello?');
});

test('a screen reader hears that an answer begins, and what it was', async () => {
  page.receive(turn(true));
  expect(find('[aria-live="polite"]').textContent).toBe('The model answers');
  say('a1', 'So it is.');
  await frame();
  page.receive(turn(false));
  expect(find('[aria-live="polite"]').textContent).toBe('The model said: So it is.');
});
