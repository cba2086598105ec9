/** The page alone in Chromium, as VS Code would load it: same HTML, same policy, theme colours as custom properties. */
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

import * as esbuild from 'esbuild';
import { chromium } from 'playwright-core';

import { page as bundledPage } from '../../esbuild.mjs';
import { installStub } from './stub.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
/** Pixels: the usual width of a side bar, and a wide one. */
export const NARROW = { width: 340, height: 760 };
/** The narrowest that a side bar can be. */
export const SLIM = { width: 200, height: 730 };
export const WIDE = { width: 560, height: 820 };

const THEMES = JSON.parse(readFileSync(new URL('themes.json', import.meta.url), 'utf8'));

export function readTheme(name) {
  return THEMES[name];
}

/** Builds the page, serves it and opens a browser. `open` returns a page with the stub in it, and `turn`, which gives it another theme. */
export async function launch() {
  const files = await bundle();
  const server = createServer((request, response) => {
    const [type, body] = files[request.url] ?? files['/'];
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(body);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${server.address().port}/`;
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--font-render-hinting=none'] });
  return {
    async open({ theme = 'dark', viewport = NARROW, ...stub }) {
      const context = await browser.newContext({ viewport, deviceScaleFactor: 2 });
      const page = await context.newPage();
      const errors = [];
      page.on('pageerror', (error) => errors.push(String(error)));
      page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
      await page.addInitScript(installStub, stub);
      await page.addInitScript(applyTheme, readTheme(theme));
      await page.goto(origin);
      await page.waitForSelector('.row');
      return { page, errors, turn: (to) => page.evaluate(turnTo, [readTheme(theme), readTheme(theme = to)]), close: () => context.close() };
    },
    async close() {
      await browser.close();
      server.close();
    },
  };
}

/** Runs in the page. Sets the variables on the root element, as VS Code does. */
function applyTheme({ kind, variables }) {
  const apply = () => {
    for (const [name, value] of Object.entries(variables)) document.documentElement.style.setProperty(name, value);
    document.body?.classList.add(kind);
  };
  document.addEventListener('DOMContentLoaded', apply);
  if (document.documentElement) apply();
}

/** Runs in the page. Replaces a theme by another one, as VS Code does while the view is open. */
function turnTo([from, to]) {
  const { style } = document.documentElement;
  for (const name of Object.keys(from.variables)) style.removeProperty(name);
  for (const [name, value] of Object.entries(to.variables)) style.setProperty(name, value);
  document.body.classList.replace(from.kind, to.kind);
}

async function bundle() {
  const build = (entry, options) => esbuild.build({ entryPoints: [`${ROOT}${entry}`], bundle: true, write: false, logLevel: 'silent', ...options });
  const [page, html] = await Promise.all([
    esbuild.build({ ...bundledPage, sourcemap: false, write: false, logLevel: 'silent' }),
    build('src/view/html.ts', { format: 'esm', platform: 'browser' }),
  ]);
  const { pageHtml } = await import(`data:text/javascript;base64,${Buffer.from(html.outputFiles[0].contents).toString('base64')}`);
  return {
    '/': ['text/html', pageHtml({ script: '/contextView.js', style: '/contextView.css', source: "'self'", nonce: 'measure', language: 'en', texts: undefined })],
    ...Object.fromEntries(page.outputFiles.map(({ path: file, text }) => [`/${path.basename(file)}`, ['text/javascript', text]])),
    '/contextView.css': ['text/css', readFileSync(`${ROOT}media/contextView.css`, 'utf8')],
    '/favicon.ico': ['text/plain', ''],
  };
}
