/**
 * Measures the time from an append to the new figure on screen, from a prompt to its answer, and a new user's first
 * steps. Prints one JSON object. See scripts/benches/editors.py.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

import type { Locator } from 'playwright-core';

import { newcomer } from './rig/newcomer.ts';
import { until } from './rig/patience.ts';
import { given, output } from './rig/places.ts';
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
  /** When a prompt was sent, in Unix milliseconds. */
  ullageAsked?: number;
  /** When its answer began to be shown, in Unix milliseconds; 0 while none is shown. */
  ullageAnswered?: number;
}

/**
 * Durations in ms, one per round: to the status bar, to the Context view, and to the first piece of an answer in it
 * with the server's and the model's share.
 */
interface Measured {
  readonly appendToScreen: readonly number[];
  readonly appendToView: readonly number[];
  readonly promptToView: readonly number[];
}

/** The first piece comes at once, and there is time to see it before the answer is complete. */
const script = path.join(output, 'measured.script');
mkdirSync(output, { recursive: true });
writeFileSync(script, 'say: Yes.\nwait: 0.1\nsay: Indeed.\nagain:\n');

const workbench = await Workbench.open('measure', {
  settings: {
    'ullage.models': { 'gpt-4o': { window: 1_000_000 } },
    'ullage.provider': 'measured',
    'ullage.providers': { measured: { kind: 'scripted', file: script } },
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
  await workbench.run('New Session');
  await workbench.answer('measured');
  await workbench.reads(/limit unknown/);
  await workbench.status.click();
  await workbench.answer('gpt-4o');
  await workbench.reads(/0\/1M/);
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
  return { appendToScreen, appendToView, promptToView: await measurePrompts() };
}

/** Sends prompts as a user does, since only the window that sent a prompt shows its answer before it is complete. */
async function measurePrompts(): Promise<readonly number[]> {
  const list = workbench.context.locator('.rows');
  const box = workbench.context.getByRole('textbox', { name: 'Ask the model' });
  await list.evaluate((rows) => {
    const page = window as Watched;
    const now = (): number => performance.timeOrigin + performance.now();
    document.addEventListener('keydown', ({ key }) => { if (key === 'Enter') page.ullageAsked = now(); }, { capture: true });
    new MutationObserver(() => {
      if (page.ullageAnswered || !rows.querySelector('.assistant.live')) return;
      requestAnimationFrame(() => { page.ullageAnswered ||= now(); });
    }).observe(rows, { subtree: true, childList: true });
  });
  const durations: number[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    await list.evaluate(() => { (window as Watched).ullageAnswered = 0; });
    await box.fill('Well?');
    await box.press('Enter');
    const took = await until('the answer', () => list.evaluate(() => {
      const { ullageAsked, ullageAnswered } = window as Watched;
      return ullageAsked && ullageAnswered ? ullageAnswered - ullageAsked : undefined;
    }));
    await workbench.context.getByRole('button', { name: 'Stop the answer' }).waitFor({ state: 'hidden' });
    await workbench.context.locator('.live').first().waitFor({ state: 'hidden' });
    if (round >= WARM_UP) durations.push(took);
  }
  return durations;
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
