/** Takes screenshots of the view in VS Code's themes. `node test/view/screenshots.mjs FOLDER` */
import { mkdirSync } from 'node:fs';
import path from 'node:path';

import { launch } from './browser.mjs';
import { everyScene } from './scenes.mjs';

const folder = process.argv[2] ?? 'screenshots';

mkdirSync(folder, { recursive: true });
const browser = await launch();
try {
  await everyScene(browser, (page, name) => page.screenshot({ path: path.join(folder, `${name}.png`) }));
} finally {
  await browser.close();
}
