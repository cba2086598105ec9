/**
 * The answer that is being written, as the page knows it: messages that are not in the transcript yet, the states of
 * tool calls, and the full texts of all pieces, since the texts of list items are shortened.
 */
import type { Call, HostMessageOf, Item, Part, Piece } from '../messages';
import { extend, type Speech } from '../speech';
import type { MessageRow } from './rows';

export class Live {
  readonly #said = new Map<string, readonly Part[]>();
  readonly #calls = new Map<string, Call>();
  /** The last answer's text; empty once another prompt was sent. */
  #answer = '';
  #pending = new Map<string, Speech>();
  /** Whether nothing more comes, although the messages are in no transcript. */
  #broken = false;

  /** Whole texts by message id. */
  get said(): ReadonlyMap<string, readonly Part[]> {
    return this.#said;
  }

  get calls(): ReadonlyMap<string, Call> {
    return this.#calls;
  }

  get answer(): string {
    return this.#answer;
  }

  get rows(): MessageRow[] {
    return [...this.#pending.values()].map((speech) => toRow(speech, this.#broken));
  }

  /** Clears everything, because another session is shown. */
  clear(): void {
    this.#said.clear();
    this.#calls.clear();
    this.#pending.clear();
  }

  /** Replaces the whole answer. `isThere` says whether a message is in the transcript. */
  show({ speeches, calls }: HostMessageOf<'live'>, isThere: (id: string) => boolean): void {
    this.#pending = new Map(speeches.filter(({ id }) => !isThere(id)).map((speech) => [speech.id, speech]));
    for (const { id, parts } of speeches) this.#said.set(id, parts);
    for (const call of calls) this.#calls.set(call.id, call);
  }

  /** Says whether the answer goes on. Returns whether the rows look different now. */
  go(running: boolean): boolean {
    const changed = this.#broken === running && this.#pending.size > 0;
    this.#broken = !running;
    return changed;
  }

  /** Adds a piece. Returns false if the message is in the transcript already. */
  say(piece: Piece, isThere: (id: string) => boolean): boolean {
    const known = this.#pending.get(piece.id);
    if (!known && isThere(piece.id)) return false;
    const speech = extend(known, piece);
    this.#pending.set(piece.id, speech);
    this.#said.set(piece.id, speech.parts);
    this.#answer = speech.role === 'assistant' ? textOf(speech) : '';
    return true;
  }

  call(call: Call): void {
    this.#calls.set(call.id, call);
  }

  /** Removes messages that are in the transcript now. */
  join(ids: Iterable<string>): void {
    for (const id of ids) this.#pending.delete(id);
  }
}

function textOf({ parts }: Speech): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join(' ').trim();
}

function toRow({ id, role, parts }: Speech, broken: boolean): MessageRow {
  const item: Item = { id, index: 0, role, tokens: 0, archived: false, pinned: false, replaced: null, parts, marker: null };
  return { kind: 'message', key: id, item, results: [], inGroup: false, tokens: 0, itemized: false, toolsOnly: false, pinned: false, live: broken ? 'broken' : 'written' };
}
