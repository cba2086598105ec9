/** The time, so that tests can set it. Nothing else in this service may ask the machine for it. */
export interface Clock {
  /** Seconds since 1970. */
  now(): number;
}

export const systemClock: Clock = {
  now: () => Math.floor(Date.now() / 1000),
};

/** A clock for tests: stands still until moved. */
export class SetClock implements Clock {
  constructor(private seconds = 1_700_000_000) {}

  now(): number {
    return this.seconds;
  }

  advance(seconds: number): void {
    this.seconds += seconds;
  }
}
