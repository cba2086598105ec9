/** What compactions left out, by edit: requested when a marker is opened, because finding it takes a moment. */
import type { Lost, PageMessageOf } from '../messages';

export class LostLists {
  readonly #send: (message: PageMessageOf<'lost'>) => void;
  readonly #lists = new Map<string, Lost>();
  readonly #asked = new Set<string>();

  constructor(send: (message: PageMessageOf<'lost'>) => void) {
    this.#send = send;
  }

  /** The lists that have come. */
  get lists(): ReadonlyMap<string, Lost> {
    return this.#lists;
  }

  add(lost: Lost): void {
    this.#lists.set(lost.editId, lost);
  }

  clear(): void {
    this.#lists.clear();
    this.#asked.clear();
  }

  /** Requests a list unless that was done. */
  need(editId: string): void {
    if (this.#asked.has(editId)) return;
    this.#asked.add(editId);
    this.#send({ type: 'lost', editId });
  }

  /** Has the list requested again when it is needed next. The agent's terminal may have been opened or closed meanwhile. */
  forget(editId: string): void {
    this.#asked.delete(editId);
  }
}
