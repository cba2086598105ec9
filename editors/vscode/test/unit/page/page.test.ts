/**
 * The page in a DOM without layout: the view is given a height, so that the list shows what it would show.
 *
 * @vitest-environment happy-dom
 */
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';

import type { LostResult } from '../../../src/protocol.gen';
import type { HostMessage, Item, Lost, PageMessage } from '../../../src/view/messages';
import type { Kept } from '../../../src/view/page/conversation';
import { loadMarkdown } from '../../../src/view/page/markdown';
import { Page } from '../../../src/view/page/page';
import { toUsage } from '../../../src/view/viewHost';
import { example, PATIENCE, usage } from '../support';
import { call, item, items, marker, result } from '../viewSupport';

describe('the page', () => {
  let root: HTMLElement;
  let sent: PageMessage[];
  let kept: Kept | undefined;
  let page: Page;

  beforeAll(loadMarkdown);
  beforeEach(() => {
    vi.stubGlobal('ResizeObserver', class { observe(): void { /* nothing has a size here */ } unobserve(): void { /* as above */ } });
    document.body.replaceChildren((root = document.createElement('div')));
    sent = [];
    kept = undefined;
    start();
  });
  afterEach(() => { page.dispose(); });

  function start(): void {
    page = new Page(root, { send: (message) => sent.push(message), keep: (state) => { kept = state; }, kept });
  }

  function show(all: readonly Item[], change: Partial<Extract<HostMessage, { type: 'session' }>> = {}): void {
    const generation = change.generation ?? 1;
    page.receive({ type: 'session', sessionId: 's1', title: 'fix-login', generation, total: all.length, reveal: null, ...change });
    page.receive({ type: 'entries', generation, offset: 0, total: all.length, items: all });
  }

  const find = (selector: string): HTMLElement => {
    const element = root.querySelector<HTMLElement>(selector);
    if (!element) throw new Error(`nothing is ${selector}`);
    return element;
  };
  const words = (selector: string): string[] => [...root.querySelectorAll(selector)].map((element) => element.textContent);
  const press = (element: HTMLElement, key: string): boolean => element.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));

  const archived = [item('m0'), item('m1', { archived: true }), item('m2', { archived: true }), item('e1-marker', { marker }), item('m9')];

  test('it asks for the end of the transcript first', () => {
    page.receive({ type: 'session', sessionId: 's1', title: 't', generation: 4, total: 500, reveal: null });
    expect(sent).toEqual([{ type: 'load', generation: 4, offset: 300, limit: 200 }]);
  });

  test('what belongs to an older generation is dropped', () => {
    show([item('m0')], { generation: 2 });
    page.receive({ type: 'entries', generation: 1, offset: 1, total: 2, items: [item('m1')] });
    expect(words('.message .text')).toEqual(['m0']);
  });

  test('archived messages are hidden by their marker and open in place', () => {
    show(archived);
    expect(words('.group')).toEqual(['2 archived messages']);
    expect(words('.message .text')).toEqual(['m0', 'm9']);
    find('.group').click();
    expect(words('.message .text')).toEqual(['m0', 'm1', 'm2', 'm9']);
    expect(find('.group').getAttribute('aria-expanded')).toBe('true');
    expect(find('.archived').getAttribute('aria-level')).toBe('2');
  });

  test('a marker opens to summary, ledger and undo, which says first what it brings back', () => {
    show(archived);
    find('.marker').click();
    expect(words('.marker-body strong')).toEqual(['one']);
    expect(words('.ledger code')).toEqual(['a.py']);
    find('.ask-undo').click();
    expect(find('.question p').textContent).toBe('Brings back 44 messages, 122K tokens.');
    expect(sent.some(({ type }) => type === 'undo')).toBe(false);
    find('.confirm-undo').click();
    expect(sent).toContainEqual({ type: 'undo', editId: 'e1' });
  });

  test('a summary’s sections fold under their headings, a long one is folded at first, and what the user changes stays', () => {
    const long = '- the expiry is read in seconds\n'.repeat(20);
    const summary = `## Task\nFix it.\n\n## Decisions and findings\n${long}\n### Of the clock\nNone.\n\n## Next step\n\`\`\`\n## no heading\n\`\`\``;
    show([item('e1-marker', { marker: { ...marker, summary } })]);
    find('.marker').click();
    const sections = (): HTMLDetailsElement[] => [...root.querySelectorAll<HTMLDetailsElement>('.summary > .section')];
    expect(words('.section .md-heading')).toEqual(['Task', 'Decisions and findings', 'Of the clock', 'Next step']);
    expect(sections().map(({ open }) => open)).toEqual([true, false, true]);
    expect(words('.section .gist')[1]).toBe('the expiry is read in seconds');
    expect(find('.section pre').textContent).toBe('## no heading');
    for (const [at, open] of [[0, false], [1, true]] as const) {
      const section = sections()[at];
      if (section) section.open = open;
      section?.dispatchEvent(new Event('toggle'));
    }
    find('.marker .marker-head').click();
    find('.marker .marker-head').click();
    expect(sections().map(({ open }) => open)).toEqual([false, true, true]);
  });

  test('a summary’s HTML is text', () => {
    show([item('e1-marker', { marker: { ...marker, summary: '<img src=x onerror=alert(1)>' } })]);
    find('.marker').click();
    expect(root.querySelector('img')).toBeNull();
    expect(find('.marker-body .prose').textContent).toBe('<img src=x onerror=alert(1)>');
  });

  test('a summary streams while it is written, and can be cancelled', async () => {
    show([item('m0')]);
    page.receive({ type: 'compacting', number: 1, trigger: 'manual', messages: 3, before: 9_000, summary: '' });
    page.receive({ type: 'chunk', text: '## Task\nFix' });
    page.receive({ type: 'chunk', text: ' it' });
    await vi.waitUntil(() => find('.writing-text').textContent === 'TaskFix it', PATIENCE);
    find('.cancel').click();
    expect(sent).toContainEqual({ type: 'cancel' });
    page.receive({ type: 'compacted', status: 'cancelled', error: '' });
    expect(find('.writing').hidden).toBe(true);
  });

  test('one row is the tab stop; keys move it, pin and open', () => {
    show([item('m0'), item('m1', { role: 'assistant', parts: [call('a')] }), item('m2', { parts: [result('a')] })]);
    const last = find('[tabindex="0"].row');
    expect(last.dataset['key']).toBe('m1');
    last.focus();
    press(last, 'ArrowUp');
    expect(document.activeElement).toBe(find('[data-key="m0"]'));
    expect(root.querySelectorAll('.row[tabindex="0"]')).toHaveLength(1);
    press(find('[data-key="m0"]'), 'p');
    expect(sent).toContainEqual({ type: 'pin', id: 'm0', pinned: true });
    press(find('[data-key="m0"]'), 'Enter');
    expect(sent).toContainEqual({ type: 'detail', generation: 1, offset: 0, id: 'm0' });
    page.receive({ type: 'detail', id: 'm0', parts: [{ kind: 'text', text: 'all of it', more: false }] });
    expect(find('[data-key="m0"] .text').textContent).toBe('all of it');
    expect(document.activeElement).toBe(find('[data-key="m0"]'));
  });

  test('a search hit in the archive is opened and focused', () => {
    show(archived);
    page.receive({ type: 'hits', query: '', error: '', note: '', full: false, hits: [{ messageId: 'm2', index: 2, role: 'user', snippet: 'a **b** c' }] });
    expect(words('.hit mark')).toEqual(['b']);
    find('.hit').click();
    expect(document.activeElement).toBe(find('[data-key="m2"]'));
  });

  test('of 10,000 messages few are in the document', () => {
    show(items(10_000), {});
    expect(root.querySelectorAll('.row').length).toBeLessThan(60);
    expect(find('.row').getAttribute('aria-setsize')).toBe('10000');
  });

  test('what was open is open again when the page comes back', async () => {
    show(archived);
    find('.group').click();
    await vi.waitUntil(() => kept?.place.opened.length === 1, PATIENCE);
    start();
    show(archived);
    expect(words('.archived .text')).toEqual(['m1', 'm2']);
  });

  test('a refusal is said assertively, other news politely', () => {
    show([item('m0')]);
    page.receive({ type: 'notice', severity: 'error', text: 'No.', editId: null });
    expect(find('[aria-live="assertive"]').textContent).toBe('No.');
    page.receive({ type: 'notice', severity: 'info', text: 'Yes.', editId: null });
    expect(find('[aria-live="polite"]').textContent).toBe('Yes.');
  });

  test('the notice of a compaction disappears when the compaction is undone', () => {
    const edit = { id: 'e1', kind: 'compaction', timestamp: 0, trigger: 'manual', tokensSaved: 9, partOf: null };
    show([item('m0')]);
    page.receive({ type: 'notice', severity: 'info', text: 'Compacted 2 messages.', editId: 'e1' });
    page.receive({ type: 'history', edits: [{ ...edit, reverted: false }] });
    expect(find('.notice').hidden).toBe(false);
    page.receive({ type: 'history', edits: [{ ...edit, reverted: true }] });
    expect(find('.notice').hidden).toBe(true);
  });

  test('a search says who speaks and how many were found', () => {
    show(archived);
    const hits = [{ messageId: 'm2', index: 2, role: 'user', snippet: 'a **b** c' }];
    page.receive({ type: 'hits', query: '', error: '', note: '', full: false, hits });
    expect(find('.hit .place').textContent).toBe('#3 you');
    expect(find('.hits .empty-words').textContent).toBe('1 found.');
    page.receive({ type: 'hits', query: '', error: '', note: '', full: true, hits });
    expect(find('.hits .empty-words').textContent).toBe('The best 1 are listed.');
  });

  test('a search says what the server notes of its results', () => {
    show(archived);
    const hits = [{ messageId: 'm2', index: 2, role: 'user', snippet: 'a **b** c' }];
    page.receive({ type: 'hits', query: '', error: '', note: '12 records left.', full: false, hits });
    expect(find('.hits .empty-words').textContent).toBe('1 found. 12 records left.');
    page.receive({ type: 'hits', query: '', error: '', note: '12 records left.', full: false, hits: [] });
    expect(find('.hits .empty-words').textContent).toBe('Nothing found. 12 records left.');
  });

  test('a hit in the result of a tool is not said to be the user’s', () => {
    show([item('m0'), item('m1')]);
    page.receive({ type: 'hits', query: '', error: '', note: '', full: false, hits: [{ messageId: 'm1', index: 1, role: 'tool', snippet: '**b**' }] });
    expect(find('.hit .place').textContent).toBe('#2 tool result');
  });

  test('a message has its number, and one that a summary names is a click away', () => {
    const summary = 'The limit is in `#1`, see #2 and PR#3.';
    show([item('m0'), item('m1', { archived: true }), item('e1-marker', { marker: { ...marker, summary } }), item('m9')]);
    expect(words('.number')).toEqual(['#1', '#10']);
    find('.marker').click();
    expect(words('.number-link')).toEqual(['#2']);
    find('.number-link').click();
    expect(words('.message .text')).toEqual(['m0', 'm1', 'm9']);
    expect(document.activeElement?.textContent).toContain('m1');
  });

  test('in a copy of an agent’s conversation the button says that the copy is compacted', () => {
    show([item('m0')]);
    page.receive({ type: 'usage', usage: toUsage(usage()) });
    expect(find('.tools button').getAttribute('aria-label')).toBe('Compact now');
    page.receive({ type: 'usage', usage: toUsage(usage({ meta: { managedBy: 'agent', agent: 'Codex' } })) });
    expect(find('.tools button').getAttribute('aria-label')).toBe('Compact this copy');
    expect(find('.tools button').title).toBe('Compact this copy');
  });

  test('ages go on while they are looked at', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'Date'] });
    vi.setSystemTime(1_000_000);
    start();
    show([item('e1-marker', { marker: { ...marker, timestamp: 1_000_000 - 50_000 } })]);
    expect(find('.marker .age').textContent).toBe('50 seconds ago');
    vi.advanceTimersByTime(130_000);
    expect(find('.marker .age').textContent).toBe('3 minutes ago');
    vi.useRealTimers();
  });

  test('a stopped server looks stopped, and offers what brings it back', () => {
    show([item('m0')]);
    page.receive({ type: 'server', state: 'down', text: 'It crashed.', actions: ['restart', 'log'] });
    expect(find('.server').hidden).toBe(false);
    expect(document.body.dataset['server']).toBe('down');
    find('.server .primary').click();
    expect(sent).toContainEqual({ type: 'command', name: 'restart' });
    page.receive({ type: 'server', state: 'running', text: '', actions: [] });
    expect(find('.server').hidden).toBe(true);
  });

  test('the view’s focus goes to the conversation', () => {
    show([item('m0'), item('m1')]);
    page.focus();
    expect(document.activeElement).toBe(find('[data-key="m1"]'));
  });

  test('a closed row shows words, not their markup', () => {
    const text = (words_: string): Item['parts'] => [{ kind: 'text', text: words_, more: false }];
    show([item('m0', { parts: text('<command-name>/clear</command-name>') }), item('m1', { role: 'assistant', parts: text('## Done\n**all** of `it`') })]);
    expect(words('.message .text')).toEqual(['/clear', 'Done\nall of it']);
  });
});

describe('what a compaction left out', () => {
  const golden = example('context.lost.result.json') as LostResult;
  /** What the user said, which this example's compaction keeps. */
  const said: LostResult['entries'][number] = { kind: 'said', state: 'stands', text: 'Never round before the offset is added.', detail: '', index: 2 };
  const known: Lost = { editId: 'e1', error: '', readable: true, counts: { said: 1, ...golden.counts }, missing: { said: 1, ...golden.counts }, entries: [said, ...golden.entries], brief: golden.brief, terminal: 'zsh', given: [] };
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

  const receipt = { at: 1_000, why: 'compact', tokens: 1_204, text: 'Said by the user:\n> #3 <b>Never</b> round.' };

  test('what a hook gave back is a line at the marker with its cost, and unfolds to the text', () => {
    open({ ...known, given: [receipt, { ...receipt, why: 'resume', tokens: 40 }] });
    const [first, second] = words('.given > summary');
    expect(first).toMatch(/^Given back: 1,204 tokens right after the compaction · /);
    expect(second).toMatch(/^Given back: 40 tokens when the session was resumed · /);
    expect(words('.given-text')[0]).toBe(receipt.text);
    expect(root.querySelector('.given b')).toBeNull();
  });

  test('what was given back is shown where nothing is listed as left out, too', () => {
    open({ ...known, ...nothing, given: [receipt] });
    expect(words('.given > summary')).toHaveLength(1);
  });

  test('what hooks have given back is no longer missing', () => {
  open({ ...known, missing: {} });
  expect(words('.lost > summary')).toEqual(['Left out: 1 of your messages, 1 problem, 1 text of the agent; all of it given back']);
  page.receive({ type: 'lost', lost: { ...known, missing: { problem: 1 } } });
  expect(words('.lost > summary')).toEqual(['Left out: 1 of your messages, 1 problem, 1 text of the agent; still missing: 1 problem']);
});

const nothing = { counts: {}, missing: {}, entries: [], brief: '', terminal: null };
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
    open({ ...known, counts: { said: 1 }, missing: { said: 1 }, entries: [{ kind: 'said', state: 'open', text: '<img src=x onerror=alert(1)>', detail: '<b>', index: 1 }] });
    expect(root.querySelector('.lost img, .lost b')).toBeNull();
    expect(words('.lost > summary')).toEqual(['Left out: 1 of your messages']);
  });
});
