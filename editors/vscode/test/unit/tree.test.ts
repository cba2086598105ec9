/** The tree of conversations, with rows as the server sends them. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type * as vscode from 'vscode';

import { choose } from '../../src/following/rows';
import { ConversationTree, type Node } from '../../src/following/tree';
import type { FollowedConversation, FoundTranscript } from '../../src/protocol.gen';
import { example } from './samples';
import { EventEmitter, window } from './vscode';

const { rows: [claude, opencode] } = example('following.list.result.json') as { rows: [FollowedConversation, FollowedConversation] };
const FOUND = { path: '/earlier.jsonl', run: null, agent: 'Codex', title: 'Fix the $(login)', updatedAt: Date.now() - 7_200_000 } as FoundTranscript;
const view = { visible: true, badge: undefined as unknown, selection: [] as readonly Node[], reveal: vi.fn(), dispose: vi.fn(), onDidChangeVisibility: new EventEmitter<unknown>().event };
const changes = new EventEmitter<readonly FollowedConversation[]>();
const active = new EventEmitter<string | undefined>();
let rows: readonly FollowedConversation[];
let isOn: boolean;
let asked: number;
let tree: ConversationTree;

beforeEach(() => {
  vi.clearAllMocks();
  [rows, isOn, asked, view.badge] = [[claude, opencode], true, 0, undefined];
  window.createTreeView.mockReturnValue(view);
  const following = { get rows() { return rows; }, get isOn() { return isOn; }, get shown() { return choose(rows, [claude.cwd], undefined); }, onDidChange: changes.event };
  tree = new ConversationTree({
    following,
    folders: () => [claude.cwd],
    find: () => {
      asked += 1;
      return Promise.resolve([FOUND, { ...FOUND, path: claude.path }]);
    },
    active: () => claude.sessionId,
    onDidChangeActive: active.event,
    shown: vi.fn(),
  });
});
afterEach(() => { tree.dispose(); });

const item = (node: Node): vscode.TreeItem => tree.getTreeItem(node);

test('the folder’s own conversations come first, others and earlier ones under a heading, and these are looked for when it is opened', async () => {
  expect(await tree.getChildren()).toEqual([claude, 'elsewhere', 'earlier']);
  expect(await tree.getChildren('elsewhere')).toEqual([opencode]);
  expect(asked).toBe(0);
  expect(await tree.getChildren('earlier')).toEqual([FOUND]);
});

test('nothing is looked for before the user agrees', async () => {
  [rows, isOn] = [[], false];
  expect(await tree.getChildren()).toEqual([]);
  expect(asked).toBe(0);
  isOn = true;
  expect(await tree.getChildren()).toHaveLength(2);
});

test('a row begins with its fill, has it as a picture, and says where it is compacted', () => {
  const row = item(claude);
  expect(row.label).toMatch(/^~46% {2}CC · /);
  expect(row.description).toBe('compacts at 84%');
  expect(row.accessibilityInformation?.label).toMatch(/^~46%, .*92K of 200K/);
  const { dark } = row.iconPath as { readonly dark: vscode.Uri };
  const drawn = (path: string): string => Buffer.from(path.split('base64,')[1] ?? '', 'base64').toString();
  expect(drawn(dark.toString(true))).toContain('<path');
  const unknown = item({ ...claude, percent: null }).iconPath as { readonly dark: vscode.Uri };
  expect(drawn(unknown.dark.toString(true))).not.toContain('<path');
});

test('one that does not continue says its age, and no title draws an icon', () => {
  expect(item({ ...claude, live: false, updatedAt: Date.now() - 86_400_000 }).description).toBe('1 day ago');
  expect([item(FOUND).label, item(FOUND).description]).toEqual(['Fix the \\$(login)', 'Codex · 2 hours ago']);
});

test('the badge counts those near their compaction, and goes when there is room again', () => {
  vi.useFakeTimers();
  const near = { ...claude, live: true, nearness: 'near' as const };
  rows = [near, opencode];
  changes.fire([near]);
  vi.advanceTimersByTime(300);
  expect(view.badge).toMatchObject({ value: 1, tooltip: expect.stringMatching(/^Claude Code compacts/) as string });
  rows = [claude, opencode];
  changes.fire([claude]);
  vi.advanceTimersByTime(300);
  expect(view.badge).toBeUndefined();
  vi.useRealTimers();
});

test('the conversation in the Context view is selected', async () => {
  active.fire(claude.sessionId);
  await vi.waitFor(() => { expect(view.reveal).toHaveBeenCalledWith(claude, { select: true, focus: false }); });
  expect(tree.getParent(claude)).toBeUndefined();
  expect(tree.getParent(opencode)).toBe('elsewhere');
});
