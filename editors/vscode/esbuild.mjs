/**
 * Bundles the extension and the Context view's page into `dist`: the part that is needed at once, and those that are loaded
 * later. `--watch` builds again at each change. Imported, it only says how that is done.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

import * as esbuild from 'esbuild';

const common = { absWorkingDir: fileURLToPath(new URL('.', import.meta.url)), bundle: true, minify: true, splitting: true, format: 'esm', outdir: 'dist' };

/**
 * Writes each file as CommonJS: VS Code loads an extension as that before 1.100, and esbuild splits ES modules alone. Their
 * maps are made from those of the first step.
 */
const asCommonJs = {
  name: 'as CommonJS',
  setup(build) {
    build.onEnd(async ({ outputFiles = [] }) => {
      for (const file of outputFiles) {
        const name = path.basename(file.path);
        const options = { format: 'cjs', platform: 'node', target: build.initialOptions.target, supported: { 'dynamic-import': false } };
        const { code, map } = await esbuild.transform(file.text, { ...options, minify: true, sourcemap: 'external', sourcefile: name });
        mkdirSync(path.dirname(file.path), { recursive: true });
        writeFileSync(file.path, `${code}//# sourceMappingURL=${name}.map\n`);
        writeFileSync(`${file.path}.map`, map);
      }
    });
  },
};

export const main = {
  ...common,
  entryPoints: ['src/main.ts'],
  chunkNames: 'main-[name]-[hash]',
  platform: 'node',
  target: 'node20',
  external: ['vscode'],
  sourcemap: 'inline',
  write: false,
  plugins: [asCommonJs],
};

export const page = {
  ...common,
  entryPoints: { contextView: 'src/view/page/main.ts' },
  chunkNames: 'contextView-[name]-[hash]',
  platform: 'browser',
  target: 'es2022',
  sourcemap: true,
};

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // Files of earlier builds have other names, and would be packaged.
  rmSync(new URL('dist', import.meta.url), { recursive: true, force: true });
  for (const build of [main, page]) {
    const options = { ...build, logLevel: 'info' };
    if (process.argv.includes('--watch')) await (await esbuild.context(options)).watch();
    else await esbuild.build(options);
  }
}
