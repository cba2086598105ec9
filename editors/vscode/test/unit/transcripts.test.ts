import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { findTranscripts } from '../../src/transcripts';

let home: string;
beforeEach(() => { home = mkdtempSync(path.join(tmpdir(), 'ullage-home-')); });
afterEach(() => { rmSync(home, { recursive: true }); });

function put(file: string, time: number, text = '{}'): void {
  const full = path.join(home, file);
  mkdirSync(path.dirname(full), { recursive: true });
  writeFileSync(full, text);
  utimesSync(full, time, time);
}

test("both programs' transcripts are listed by name, newest first", async () => {
  put('.claude/projects/-home-ada-weather/a.jsonl', 100);
  put('.codex/sessions/2026/11/20/rollout-x.jsonl', 300);
  put('.claude/projects/-home-ada-login/b.jsonl', 200);
  put('.claude/projects/-home-ada-login/notes.txt', 400);
  put('.claude/projects/-home-ada-login/empty.jsonl', 400, '');
  const found = await findTranscripts(home);
  expect(found.map(({ program, name }) => `${program}: ${name}`)).toEqual([
    'Codex: rollout-x',
    'Claude Code: -home-ada-login',
    'Claude Code: -home-ada-weather',
  ]);
  expect(await findTranscripts(home, 1)).toHaveLength(1);
});

test('a machine without either has none', async () => {
  expect(await findTranscripts(home)).toEqual([]);
});
