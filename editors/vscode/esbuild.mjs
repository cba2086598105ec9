/** Bundles the extension and the Context view's page into `dist`. `--watch` builds again at each change. */
import { rmSync } from 'node:fs';

import * as esbuild from 'esbuild';

import { main, page } from './scripts/bundles.mjs';

// Files of earlier builds have other names, and would be packaged.
rmSync(new URL('dist', import.meta.url), { recursive: true, force: true });
for (const build of [main, page]) {
  const options = { ...build, logLevel: 'info' };
  if (process.argv.includes('--watch')) await (await esbuild.context(options)).watch();
  else await esbuild.build(options);
}
