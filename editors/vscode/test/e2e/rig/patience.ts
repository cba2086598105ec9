/** Every wait of these tests is bounded by one of two spans. */
import { setTimeout as later } from 'node:timers/promises';

/** Milliseconds: many times what any reaction takes on a loaded machine with two cores. Only a test that fails takes that long. */
export const PATIENCE = 60_000;
/** Milliseconds for the start of a workbench. */
export const START_PATIENCE = 180_000;
const POLL = 25;

/** Waits until `look` returns something other than undefined or false. */
export async function until<T>(what: string, look: () => T | Promise<T>, patience = PATIENCE): Promise<NonNullable<T>> {
  const end = Date.now() + patience;
  for (;;) {
    const found = await look();
    if (found !== undefined && found !== null && found !== false) return found;
    if (Date.now() > end) throw new Error(`waited ${patience / 1000} s in vain for ${what}`);
    await later(POLL);
  }
}
