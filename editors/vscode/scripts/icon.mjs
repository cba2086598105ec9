/** Draws images/icon.png from images/icon.svg with a Chromium: `node scripts/icon.mjs <chromium>`. */
import { execFileSync } from 'node:child_process';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

const images = path.join(path.dirname(path.dirname(fileURLToPath(import.meta.url))), 'images');
const [browser = 'chromium'] = process.argv.slice(2);
execFileSync(browser, [
  '--headless', '--no-sandbox', '--hide-scrollbars', '--default-background-color=00000000', '--window-size=256,256',
  `--screenshot=${path.join(images, 'icon.png')}`, `file://${path.join(images, 'icon.svg')}`,
]);
