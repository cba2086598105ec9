/** Unit tests: pure functions as they are, the rest with a mocked `vscode` and, where it matters, a real server. */
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: { include: ['test/unit/**/*.test.ts', 'src/**/*.test.ts'], alias: { vscode: new URL('test/unit/vscode.ts', import.meta.url).pathname } },
});
