/** How a test waits for what happens in its own time. Vitest's own second passes on a machine that runs other tests. In milliseconds. */
export const PATIENCE = { timeout: 60_000, interval: 10 };
