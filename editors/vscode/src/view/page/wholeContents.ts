/** The whole contents of messages, requested once their rows are open. Closed rows show shortened ones. */
import type { PageMessageOf, Part } from '../messages';
import type { Details } from './parts';
import { idsOf, type Row } from './rows';
import type { Transcript } from './transcript';

export class WholeContents {
  readonly #send: (message: PageMessageOf<'detail'>) => void;
  readonly #parts = new Map<string, readonly Part[]>();

  constructor(send: (message: PageMessageOf<'detail'>) => void) {
    this.#send = send;
  }

  /** The contents that have come, by message id. */
  get parts(): Details {
    return this.#parts;
  }

  add(id: string, parts: readonly Part[]): void {
    this.#parts.set(id, parts);
  }

  clear(): void {
    this.#parts.clear();
  }

  /** Requests the contents that a row lacks. */
  need(row: Row, transcript: Transcript): void {
    for (const id of idsOf(row)) {
      const offset = this.#parts.has(id) ? undefined : transcript.offsetOf(id);
      if (offset !== undefined) this.#send({ type: 'detail', generation: transcript.generation, offset, id });
    }
  }
}
