/**
 * Measures the Context view with 100 and with 10,000 messages: opening, one appended message, one new figure, nodes in
 * the document, and frames while scrolling. `node test/view/measure.mjs [--json]`
 *
 * The time of an update is that of the page's own work and the layout it causes, without the wait for the next frame.
 * It is the median of many batches, because the browser's clock is coarse. Between machines only ratios can be
 * compared.
 */
import { launch } from './browser.mjs';

const SIZES = [100, 10_000];
/** Batches that are measured, batches before them that warm up, and the updates of each. */
const BATCHES = 40;
const WARM_UP = 10;
const BATCH = 8;
/** Milliseconds. Loading all pages of 10,000 messages takes about a second. */
const LOAD_LIMIT = 60_000;

const json = process.argv.includes('--json');
const browser = await launch();
try {
  const rows = [];
  for (const count of SIZES) rows.push(await measure(count));
  report(rows);
} finally {
  await browser.close();
}

async function measure(count) {
  const { page, errors, close } = await browser.open({ count });
  const began = Date.now();
  await page.waitForFunction(() => !document.querySelector('.earlier') && window.stub.sent.some(({ type, offset }) => type === 'load' && offset === 0), undefined, { timeout: LOAD_LIMIT });
  const loaded = Date.now() - began;
  const append = await page.evaluate(measureUpdates, { kind: 'append', batches: BATCHES, batch: BATCH, warmUp: WARM_UP });
  const figure = await page.evaluate(measureUpdates, { kind: 'figure', batches: BATCHES, batch: BATCH, warmUp: WARM_UP });
  const scroll = await page.evaluate(measureScroll);
  // At the end again, where a conversation is followed.
  await page.evaluate(() => new Promise((done) => { const list = document.querySelector('.conversation'); list.scrollTop = list.scrollHeight; requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))); }));
  const nodes = await page.evaluate(() => document.getElementsByTagName('*').length);
  if (errors.length > 0) throw new Error(errors.join('\n'));
  await close();
  return { messages: count, load_ms: loaded, append_ms: append, figure_ms: figure, nodes, ...scroll };
}

/** Runs in the page. */
async function measureUpdates({ kind, batches, batch, warmUp }) {
  const { items, makeItem, usage } = window.stub;
  const times = [];
  let used = 124_000;
  const next = () => {
    if (kind === 'figure') return { type: 'usage', usage: usage((used += 37)) };
    const item = makeItem(items.length);
    items.push(item);
    return { type: 'entries', generation: 1, offset: items.length - 1, total: items.length, items: [item] };
  };
  for (let i = 0; i < batches + warmUp; i += 1) {
    const updates = Array.from({ length: batch }, next);
    const start = performance.now();
    for (const data of updates) {
      window.dispatchEvent(new MessageEvent('message', { data }));
      document.body.getBoundingClientRect();
    }
    if (i >= warmUp) times.push((performance.now() - start) / batch);
    await new Promise(requestAnimationFrame);
  }
  return times.sort((a, b) => a - b)[batches >> 1];
}

/**
 * Runs in the page: scrolls from end to start in steps of about a third of a view, as a hard turn of the wheel does. At
 * both ends there is less to draw, so only the frames between are compared.
 */
async function measureScroll() {
  const list = document.querySelector('.conversation');
  const work = [];
  const frames = [];
  let last = performance.now();
  for (let i = 0; i < 240; i += 1) {
    list.scrollTop = Math.max(0, list.scrollTop - 240);
    const now = await new Promise(requestAnimationFrame);
    frames.push(now - last);
    last = now;
    // Runs after the frame's callbacks and before the next frame, so it measures the page's work for this frame.
    await new Promise((done) => { const channel = new MessageChannel(); channel.port1.onmessage = done; channel.port2.postMessage(0); });
    if (list.scrollTop > list.clientHeight && list.scrollTop < list.scrollHeight - 2 * list.clientHeight) work.push(performance.now() - now);
    if (list.scrollTop === 0) list.scrollTop = list.scrollHeight;
  }
  const at = (times, share) => times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * share)];
  return { scroll_work_ms_p50: at(work, 0.5), scroll_work_ms_p95: at(work, 0.95), frame_ms_p95: at(frames, 0.95) };
}

function report(rows) {
  const [small, large] = rows;
  const aims = [
    aim('append to 10,000 messages / to 100', large.append_ms / small.append_ms, 1.5),
    aim('new figure with 10,000 messages / with 100', large.figure_ms / small.figure_ms, 1.5),
    aim('nodes in the document with 10,000 messages / with 100', large.nodes / small.nodes, 1.5),
    aim('work per frame while scrolling 10,000 messages / 100, median', large.scroll_work_ms_p50 / small.scroll_work_ms_p50, 1.5),
    aim('work per frame while scrolling 10,000 messages, median, share of a 60 Hz frame', large.scroll_work_ms_p50 / (1000 / 60), 1),
  ];
  if (json) return console.log(JSON.stringify({ bench: 'view', rows, aims }));
  console.table(rows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, Math.round(value * 100) / 100]))));
  for (const { what, value, aim: most, met } of aims) console.log(`${met ? 'met   ' : 'MISSED'} ${what}: ${value.toFixed(2)} (at most ${most})`);
}

function aim(what, value, most) {
  return { what, value, aim: most, met: value <= most };
}
