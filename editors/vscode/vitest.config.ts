/** Unit tests: pure functions as they are, the rest with a mocked `vscode` and, where it matters, a real server. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // Milliseconds. A real server starts in some tests, on machines that have other things to do.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Of `expect.poll`, as `PATIENCE` is of the others.
    expect: { poll: { timeout: 60_000, interval: 10 } },
    include: ['test/unit/**/*.test.ts'],
    alias: [{ find: /^vscode$/, replacement: new URL('test/unit/vscode.ts', import.meta.url).pathname }],
  },
});
