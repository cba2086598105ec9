/**
 * Measures the time from an append to the new figure on screen, and a new user's first steps. Prints one JSON object. See scripts/benches/editors.py.
 */
import { writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Locator } from 'playwright-core';

import { newcomer } from './rig/agents.ts';
import { given, until } from './rig/codeServer.ts';
import { Workbench } from './rig/workbench.ts';

const ROUNDS = 60;
/** Rounds that warm up caches and are not counted. */
const WARM_UP = 10;
/** About a thousand tokens in a window of a million, so that each round shows another figure. */
const TEXT = 'The device list shows when each device was last seen, in words. '.repeat(75);

interface Painted {
  readonly text: string;
  readonly at: number;
}

/** The time of a watched element's last change, just before it is painted, in Unix milliseconds. The element's window keeps it. */
interface Watched extends Window {
  ullagePainted?: Painted;
}

/** Durations in ms, one per round: to the status bar, and to the Context view. */
interface Measured {
  readonly appendToScreen: readonly number[];
  readonly appendToView: readonly number[];
}

const workbench = await Workbench.open('measure', {
  settings: {
    'ullage.models': { 'gpt-4o': { window: 1_000_000 } },
  },
  environment: { ULLAGE_SERVER: given('ULLAGE_PROGRAM') },
});
let measured: Measured;
try {
  measured = await measure();
} finally {
  await workbench.close(false);
}
process.stdout.write(`${JSON.stringify({ ...measured, newcomer: await newcomer() })}\n`);

async function measure(): Promise<Measured> {
  const driver = await workbench.driver();
  const file = path.join(workbench.workspace, 'measured.json');
  writeFileSync(file, JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: 'Begin.' }] }));
  await workbench.run('Import Transcript…');
  await workbench.pick('Choose a file');
  await workbench.answerFile(file);
  await workbench.reads(/\/1M/);
  const { result } = await driver.ask<{ sessions: readonly { sessionId: string }[] }>('ullage/session/list', {});
  const sessionId = result.sessions[0]?.sessionId;
  await workbench.run('Show Context');
  const view = workbench.context.locator('.gauge-words');
  await view.waitFor();
  const places = [workbench.status, view];
  await Promise.all(places.map(watch));
  const durations: readonly number[][] = places.map(() => []);
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    const before = await Promise.all(places.map(painted));
    const { sentAt } = await driver.ask('ullage/session/append', { sessionId, messages: [{ role: 'user', content: TEXT }] });
    for (const [at, place] of places.entries()) {
      const after = await until('the new figure', async () => {
        const now = await painted(place);
        return now.text !== before[at]?.text && now.at > sentAt ? now : undefined;
      });
      if (round >= WARM_UP) durations[at]?.push(after.at - sentAt);
    }
  }
  const [appendToScreen = [], appendToView = []] = durations;
  return { appendToScreen, appendToView };
}

function painted(place: Locator): Promise<Painted> {
  return place.evaluate(() => (window as Watched).ullagePainted ?? { text: '', at: 0 });
}

/** A change is on screen with the frame that follows it. */
async function watch(place: Locator): Promise<void> {
  await place.evaluate((item) => {
    new MutationObserver(() => {
      const text = item.textContent;
      requestAnimationFrame(() => {
        (window as Watched).ullagePainted = { text, at: performance.timeOrigin + performance.now() };
      });
    }).observe(item, { subtree: true, childList: true, characterData: true });
  });
}
