/**
 * The reading of a transcript, page by page from its end. After an edit the transcript is read again. The old one stays
 * in view until the end of the new one was read.
 */
import type { HostMessageOf, PageMessageOf } from '../messages';
import { Transcript } from './transcript';

export class Reading {
  readonly #send: (message: PageMessageOf<'load'>) => void;
  #transcript = new Transcript(0, 0);
  /** A transcript that is being read again. */
  #coming: Transcript | undefined;
  #asked: number | undefined;
  #unread: string | undefined;

  constructor(send: (message: PageMessageOf<'load'>) => void) {
    this.#send = send;
  }

  /** The transcript that is shown. */
  get transcript(): Transcript {
    return this.#transcript;
  }

  /** Why the last page could not be read. Nothing more is requested until `retry`. */
  get unread(): string | undefined {
    return this.#unread;
  }

  /** Begins to read another session's transcript. */
  open(transcript: Transcript): void {
    this.#transcript = transcript;
    this.#restart(undefined);
  }

  /** Begins to read the same session's transcript again. An empty one is shown at once. */
  reopen(generation: number, total: number): void {
    this.#restart(new Transcript(generation, total, this.#transcript.opened));
    if (total === 0) this.#swap();
  }

  /** Takes a page, and asks for the next one. Returns the first row that changed, or undefined if none did. */
  take({ generation, offset, total, items }: HostMessageOf<'entries'>): number | undefined {
    const read = this.#coming ?? this.#transcript;
    if (generation !== read.generation) return undefined;
    if (offset === this.#asked) this.#asked = undefined;
    this.#unread = undefined;
    const from = read.add(offset, items, total);
    const swapped = this.#swap();
    this.#askNext();
    return swapped ? 0 : from;
  }

  /** Takes the failure of a page. Returns whether it is one that was asked for. */
  fail({ generation, offset, error }: HostMessageOf<'unread'>): boolean {
    if (generation !== (this.#coming ?? this.#transcript).generation || offset !== this.#asked) return false;
    this.#unread = error;
    return true;
  }

  retry(): void {
    this.#unread = undefined;
    this.#asked = undefined;
    this.#askNext();
  }

  #restart(coming: Transcript | undefined): void {
    this.#coming = coming;
    this.retry();
  }

  /** Shows the transcript that was being read again. Returns false if there is none. */
  #swap(): boolean {
    if (!this.#coming) return false;
    this.#transcript = this.#coming;
    this.#coming = undefined;
    return true;
  }

  #askNext(): void {
    const transcript = this.#coming ?? this.#transcript;
    const range = transcript.nextPage();
    if (!range || this.#asked === range.offset || this.#unread !== undefined) return;
    this.#asked = range.offset;
    this.#send({ type: 'load', generation: transcript.generation, ...range });
  }
}
