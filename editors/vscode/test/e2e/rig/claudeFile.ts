/** A conversation of Claude Code that grows in its file, as the real program writes it. */
import { appendFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';

const ID = '11111111-2222-3333-4444-555555555555';

export class ClaudeFile {
  readonly file: string;
  #lines = 0;
  /** The record that the next one follows. */
  #last: string | null = null;

  /** Makes the folder of the file, but not the file. `home` is what `CLAUDE_CONFIG_DIR` names. */
  constructor(home: string) {
    this.file = path.join(home, 'projects/-project', `${ID}.jsonl`);
    mkdirSync(path.dirname(this.file), { recursive: true });
  }

  /** Adds a prompt and an answer, after which the context has `tokens` tokens. `cwd` is the folder that the agent works in. */
  say(cwd: string, prompt: string, tokens: number): void {
    const [before, asked, answered] = [this.#last, (this.#lines += 1), (this.#lines += 1)];
    const usage = { input_tokens: tokens - 10, output_tokens: 10 };
    const answer = { id: `msg_u${answered}`, role: 'assistant', model: 'claude-opus-4-6', stop_reason: 'end_turn', usage, content: [{ type: 'text', text: 'Done.' }] };
    this.#append(
      { ...facts(cwd), type: 'user', uuid: `u${asked}`, parentUuid: before, message: { role: 'user', content: prompt } },
      { ...facts(cwd), type: 'assistant', uuid: `u${answered}`, parentUuid: `u${asked}`, message: answer },
    );
    this.#last = `u${answered}`;
  }

  /** Adds a compaction by the agent itself, at `tokens` tokens, with its summary. */
  compact(cwd: string, tokens: number, summary: string): void {
    this.#append(
      { ...facts(cwd), type: 'system', subtype: 'compact_boundary', uuid: 'b1', parentUuid: null, logicalParentUuid: this.#last, content: 'Conversation compacted', compactMetadata: { trigger: 'auto', preTokens: tokens } },
      { ...facts(cwd), type: 'user', uuid: 'b2', parentUuid: 'b1', isCompactSummary: true, message: { role: 'user', content: summary } },
    );
    this.#last = 'b2';
  }

  #append(...records: readonly object[]): void {
    appendFileSync(this.file, records.map((record) => `${JSON.stringify(record)}\n`).join(''));
  }
}

function facts(cwd: string): object {
  return { sessionId: ID, cwd, version: '2.1.39', timestamp: new Date().toISOString(), isSidechain: false };
}
