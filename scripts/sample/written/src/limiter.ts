import type { Clock } from "./clock.ts";

interface Window {
  startedAt: number;
  count: number;
}

/**
 * Counts uses per key in windows of fixed length.
 *
 * In memory: after a restart everybody starts at zero, which is fine for a limit of a minute. Windows that
 * ended are swept when the map has grown, so its size follows the number of active keys.
 */
export class Limiter {
  private readonly windows = new Map<string, Window>();
  private sweepAt = 1_000;

  constructor(
    private readonly most: number,
    private readonly seconds: number,
    private readonly clock: Clock,
  ) {}

  /** Notes one use; false if the key has used up its window. */
  allow(key: string): boolean {
    const now = this.clock.now();
    const window = this.windows.get(key);
    if (!window || window.startedAt + this.seconds <= now) {
      this.sweep(now);
      this.windows.set(key, { startedAt: now, count: 1 });
      return true;
    }
    window.count += 1;
    return window.count <= this.most;
  }

  private sweep(now: number): void {
    if (this.windows.size < this.sweepAt) {
      return;
    }
    for (const [key, window] of this.windows) {
      if (window.startedAt + this.seconds <= now) {
        this.windows.delete(key);
      }
    }
    this.sweepAt = Math.max(1_000, this.windows.size * 2);
  }
}
