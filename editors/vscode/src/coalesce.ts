/** Runs work at most once per interval: immediately when idle, and always once after the last call. */
export class Coalesced {
  readonly #work: () => void;
  readonly #interval: number;
  #timer: NodeJS.Timeout | undefined;
  #again = false;

  constructor(work: () => void, interval: number) {
    this.#work = work;
    this.#interval = interval;
  }

  request(): void {
    if (this.#timer) {
      this.#again = true;
      return;
    }
    this.#run();
  }

  dispose(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #run(): void {
    this.#again = false;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#again) this.#run();
    }, this.#interval);
    this.#work();
  }
}
