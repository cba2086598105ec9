/** Bundles the extension and the Context view's page. `--watch` builds again at each change. */
import { existsSync } from 'node:fs';

import * as esbuild from 'esbuild';

const common = { bundle: true, minify: true, sourcemap: true, logLevel: 'info' };
const page = 'src/view/page/main.ts';
const builds = [
  { entryPoints: ['src/main.ts'], outfile: 'dist/main.js', platform: 'node', format: 'cjs', target: 'node20', external: ['vscode'] },
  ...(existsSync(page)
    ? [{ entryPoints: [page], outfile: 'dist/contextView.js', platform: 'browser', format: 'iife', target: 'es2022' }]
    : []),
];

for (const build of builds) {
  if (process.argv.includes('--watch')) await (await esbuild.context({ ...common, ...build })).watch();
  else await esbuild.build({ ...common, ...build });
}
