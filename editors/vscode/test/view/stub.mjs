/**
 * Replaces VS Code and the extension for the page alone in a browser. `installStub` runs in the page, so it must not
 * refer to anything outside itself.
 */
export function installStub({ count, archived = 0, window: size = 200_000, used = 124_000, delay = 0 }) {
  const words = 'the token refresh reads its expiry from the clock and the test expects an earlier edge than it gives'.split(' ');
  const sentence = (seed, length) => Array.from({ length }, (_, i) => words[(seed * 7 + i * 3) % words.length]).join(' ');
  const base = { archived: false, pinned: false, replaced: null, marker: null };
  const now = Date.now();

  function makeItem(index) {
    const item = { ...base, id: `m_${index}`, index, archived: index > 1 && index < archived };
    const tokens = (n) => (item.archived ? 0 : n);
    if (index === 0) return { ...item, role: 'system', tokens: 1200, parts: [{ kind: 'text', text: 'You are a careful engineer. Work in small steps, and run the tests after every change.', more: false }] };
    const turn = index % 5;
    if (turn === 1) return { ...item, role: 'user', tokens: tokens(41), pinned: index === 1, parts: [{ kind: 'text', text: index === 1 ? 'The login fails after an hour. Find out why, and fix it without changing the public API.' : `Now look at case ${index}: ${sentence(index, 6 + (index % 40))}`, more: false }] };
    if (turn === 2) return { ...item, role: 'assistant', tokens: tokens(812), parts: [{ kind: 'text', text: `I’ll start with ${sentence(index, 12 + (index % 90))}.`, more: index % 10 === 2 }, { kind: 'tool_use', id: `call_${index}`, name: 'read', argument: `src/auth/token_${index}.py` }] };
    if (turn === 3) return { ...item, role: 'user', tokens: tokens(23), replaced: index % 2 && !item.archived ? 'Read again later in the conversation.' : null, parts: [{ kind: 'tool_result', id: `call_${index - 1}`, failed: false, text: 'def refresh(token): …', more: true }] };
    if (turn === 4) return { ...item, role: 'assistant', tokens: tokens(31), parts: [{ kind: 'tool_use', id: `call_${index}`, name: 'run', argument: 'pytest -k refresh' }] };
    return { ...item, role: 'user', tokens: tokens(1940), parts: [{ kind: 'tool_result', id: `call_${index - 1}`, failed: true, text: 'collected 12 items\n…\n1 failed, 11 passed in 0.84s', more: true }] };
  }

  const ledger = {
    files: [{ path: 'src/auth/token.py', action: 'modified', times: 4 }, { path: 'tests/auth/test_refresh.py', action: 'created', times: 2 }],
    commands: [{ command: 'pytest -k refresh', outcome: 'failed', detail: '1 failed, 11 passed in 0.84s', times: 3 }, { command: 'ruff check src', outcome: 'passed', detail: '', times: 1 }],
    identifiers: [{ name: 'refresh_token', context: 'raises when the clock is behind', times: 9 }],
  };
  const summary = '## Task\nThe login fails after an hour. Find out why, and fix it **without changing the public API**.\n\n## Decisions and findings\n- The expiry is read in seconds but compared in milliseconds (`src/auth/token.py`).\n- The clock is read once for each request (#41), because two readings can lie on both sides of the expiry, and then the check and the header disagree.\n- The cache keeps tokens for an hour less a minute; its own clock is not the one of `src/auth/token.py`.\n- `refresh_token` must not be called twice in the same second:\n  - the server refuses the second one\n  - the first one stays valid\n\n## Next step\n1. Write the test for the expiry edge.\n2. Run it:\n```\npytest -k refresh\n```';
  const items = Array.from({ length: count }, (_, index) => makeItem(index));
  if (archived > 0) {
    const marker = { editId: 'e_1', number: 1, timestamp: now - 7_500_000, trigger: 'automatic', summary, summarizer: 'offline', messagesArchived: archived - 2, before: 150_000, after: 28_000, ledger };
    items.splice(archived, 0, { ...base, id: 'e_1-marker', index: archived, role: 'user', tokens: 0, parts: [], marker });
  }

  const edits = archived > 0 ? [
    { id: 'e_0', kind: 'clear_tool_uses', timestamp: now - 9_000_000, trigger: 'automatic', tokensSaved: 21_000, reverted: true, partOf: null },
    { id: 'e_1', kind: 'compaction', timestamp: now - 7_500_000, trigger: 'automatic', tokensSaved: 122_000, reverted: false, partOf: null },
  ] : [];
  const usage = (tokens) => ({
    used: tokens, size, usable: size - 20_000, warnAt: Math.round((size - 20_000) * 0.8), compactAt: Math.round((size - 20_000) * 0.9),
    level: tokens > (size - 20_000) * 0.9 ? 'critical' : tokens > (size - 20_000) * 0.8 ? 'warning' : 'normal',
    source: 'reported', breakdown: { messages: Math.round(tokens * 0.57), tool_results: Math.round(tokens * 0.3), system_prompt: 9000, tools: 6000, summary: archived > 0 ? 1100 : 0 },
    model: 'claude-sonnet-4-5', messagesActive: count - archived, messagesArchived: archived, reportedAt: now - 12_000, asOf: now - 12_000, agent: '', managedBy: 'ullage', followed: false, basis: ['Window: the list of models'], pendingMessages: 0, errorShare: 0,
  });

  const sent = [];
  const post = (message) => window.postMessage(message, '*');
  const answers = {
    ready() {
      post({ type: 'session', sessionId: 's_1', title: 'fix-login', generation: 1, total: items.length, reveal: null });
      post({ type: 'history', edits });
      post({ type: 'usage', usage: usage(used) });
    },
    load: ({ generation, offset, limit }) => setTimeout(() => post({ type: 'entries', generation, offset, total: items.length, items: items.slice(offset, offset + limit) }), delay),
    detail: ({ id }) => post({ type: 'detail', id, parts: items.find((item) => item.id === id).parts.map((part) => ({ ...part, more: false })) }),
    pin: ({ id, pinned }) => post({ type: 'pinned', ids: items.filter((item) => (item.id === id ? pinned : item.pinned)).map((item) => item.id) }),
    search: ({ query }) => post({ type: 'hits', query, error: '', full: false, note: '', hits: [{ messageId: 'm_12', index: 12, role: 'assistant', snippet: `I’ll start with **${query}** and what it reads` }] }),
  };
  const wide = Array.from({ length: 15 }, (_, i) => ({ kind: 'words', state: 'stands', text: `${sentence(i, 3).replaceAll(' ', '_')} ${sentence(i + 3, 9)}`, detail: '', index: 3 + i }));
  answers.lost = ({ editId }) => post({ type: 'lost', lost: {
    editId, error: '', readable: true, terminal: 'claude', counts: { said: 2, task: 1, problem: 1, file: 1, words: 40 },
    missing: { said: 1, words: 40 },
    brief: 'What the last compaction left out.',
    entries: [
      { kind: 'said', state: 'open', text: 'Never change the public API of src/auth, and do not touch the generated files.', detail: '', index: 6 },
      { kind: 'said', state: 'open', text: 'All times are in UTC.', detail: '', index: 11 },
      { kind: 'task', state: 'in progress', text: 'Move the refresh into its own function', detail: '', index: 13 },
      { kind: 'problem', state: 'open', text: 'pytest -k refresh: 1 failed, 11 passed in 0.84s', detail: '', index: 15 },
      { kind: 'file', state: 'created', text: 'tests/auth/fixtures/a_very_long_name_of_a_recorded_answer_of_the_server.json', detail: '', index: 18 },
      ...wide,
    ],
    given: [{
      at: Date.now() - 120_000, why: 'compact', counts: { said: 3, problem: 1, file: 11 }, tokens: 1_204,
      text: 'What the last compaction left out:\n\nWhat the user said, word for word:\n> #7 Never change the public API of src/auth, and do not touch the generated files.\n> #12 All times are in UTC.',
    }],
  } });
  let state;
  window.acquireVsCodeApi = () => ({
    postMessage(message) {
      sent.push(message);
      answers[message.type]?.(message);
    },
    getState: () => state,
    setState: (next) => (state = next),
  });
  window.stub = { post, sent, items, usage, summary, makeItem, get state() { return state; } };
}
