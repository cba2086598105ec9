/** Measures the time from an append to the new figure on screen, and prints one JSON object; see scripts/benches/editors.py. */
import { until } from './rig/patience.ts';
import { given } from './rig/places.ts';
import { Workbench } from './rig/workbench.ts';

const ROUNDS = 60;
/** Rounds that warm caches up and are not counted. */
const WARM_UP = 10;
/** Adds about a thousand tokens to a window of a million, so that each round shows another figure. */
const TEXT = 'The device list shows when each device was last seen, in words. '.repeat(75);

/** Kept by the page: when the status item's last change was about to be painted, Unix milliseconds. */
interface Watched extends Window {
  ullagePainted?: { readonly text: string; readonly at: number };
}

const workbench = await Workbench.open('measure', {
  settings: { 'ullage.models': { 'gpt-4o': { window: 1_000_000 } } },
  environment: { ULLAGE_SERVER: given('ULLAGE_PROGRAM') },
});
try {
  console.log(JSON.stringify({ appendToScreen: await measure() }));
} finally {
  await workbench.close(false);
}

/** One duration per round, ms. */
async function measure(): Promise<readonly number[]> {
  const driver = await workbench.driver();
  await workbench.run('New Session');
  await workbench.answer('measured');
  await workbench.reads(/limit unknown/);
  await workbench.status.click();
  await workbench.answer('gpt-4o');
  await workbench.reads(/0\/1M/);
  const { result } = await driver.ask<{ sessions: readonly { sessionId: string }[] }>('ullage/session/list', {});
  const sessionId = result.sessions[0]?.sessionId;
  await watch();
  const durations: number[] = [];
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    const before = await painted();
    const { sentAt } = await driver.ask('ullage/session/append', { sessionId, messages: [{ role: 'user', content: TEXT }] });
    const after = await until('the new figure', async () => {
      const now = await painted();
      return now.text !== before.text && now.at > sentAt ? now : undefined;
    });
    if (round >= WARM_UP) durations.push(after.at - sentAt);
  }
  return durations;
}

function painted(): Promise<{ readonly text: string; readonly at: number }> {
  return workbench.page.evaluate(() => (window as Watched).ullagePainted ?? { text: '', at: 0 });
}

/** The change is on screen with the frame that follows it. */
async function watch(): Promise<void> {
  await workbench.status.evaluate((item) => {
    new MutationObserver(() => {
      const text = item.textContent;
      requestAnimationFrame(() => {
        (window as Watched).ullagePainted = { text, at: performance.timeOrigin + performance.now() };
      });
    }).observe(item, { subtree: true, childList: true, characterData: true });
  });
}
