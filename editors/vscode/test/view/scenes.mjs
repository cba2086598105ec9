/** The view in the situations that users meet: the content of the page, and the actions before a screenshot. */
import { NARROW, SLIM, WIDE } from './browser.mjs';

export const THEMES = ['dark', 'light', 'high-contrast', 'high-contrast-light'];

/** Makes the conversation an agent's, whose last figure is a while old. */
function follow(page) {
  return page.evaluate(() => {
    const { post, usage } = window.stub;
    post({ type: 'session', sessionId: 's_1', title: 'Which port does the service use after a restart?', generation: 1, total: 61, reveal: null });
    const basis = ['Window: as usual for Claude Code', 'Compaction: 167,000 tokens (3×)'];
    post({ type: 'usage', usage: { ...usage(150_000), source: 'stale', pendingMessages: 4, model: 'claude-opus-4-6', agent: 'Claude Code', managedBy: 'agent', followed: true, basis } });
  });
}

/** The actions before the screenshot. Each scene has a page of its own. */
export const SCENES = {
  usual: { viewport: WIDE, stub: { count: 120, archived: 46 }, act: async () => {} },
  narrow: { viewport: NARROW, stub: { count: 120, archived: 46, used: 155_000 }, act: async (page) => {
    await page.locator('.unfold').click();
    await page.locator('.part').nth(1).click();
  } },
  marker: {
    viewport: WIDE,
    stub: { count: 60, archived: 46 },
    act: async (page) => {
      await page.locator('.marker .marker-head').scrollIntoViewIfNeeded();
      await page.locator('.marker .marker-head').click();
      for (const summary of await page.locator('.ledger summary').all()) await summary.click();
      await page.locator('.section > summary').first().click();
      await page.locator('.ask-undo').click();
      await page.locator('.question').scrollIntoViewIfNeeded();
    },
  },
  open: {
    viewport: WIDE,
    stub: { count: 60, archived: 12 },
    act: async (page) => {
      await page.locator('.conversation').evaluate((list) => (list.scrollTop = 0));
      await page.locator('.group').click();
      await page.locator('.message.assistant').nth(1).press('p');
      await page.locator('.message.assistant').nth(2).press('Enter');
      await page.locator('.tools button').nth(2).click();
    },
  },
  writing: {
    viewport: NARROW,
    stub: { count: 60, used: 165_000 },
    act: async (page) => {
      await page.evaluate(() => {
        window.stub.post({ type: 'compacting', number: 1, trigger: 'automatic', messages: 44, before: 164_000, summary: '' });
        window.stub.post({ type: 'chunk', text: window.stub.summary.slice(0, 330) });
        window.stub.post({ type: 'notice', severity: 'warning', text: 'Context 92% full (165K of 180K usable). Compacts by itself at 162K.', editId: null });
      });
    },
  },
  followed: { viewport: SLIM, stub: { count: 60, archived: 46 }, act: follow },
  lost: {
    viewport: SLIM,
    stub: { count: 60, archived: 46 },
    act: async (page) => {
      // Only the figures: a transcript that is read again would be drawn again in the middle of these actions.
      await page.evaluate(() => window.stub.post({ type: 'usage', usage: { ...window.stub.usage(150_000), agent: 'Claude Code', managedBy: 'agent', followed: true } }));
      await page.locator('.session.followed').waitFor();
      await page.locator('.marker .marker-head').scrollIntoViewIfNeeded();
      await page.locator('.marker .marker-head').click();
      await page.locator('.lost > summary').click();
      await page.locator('.lost-kind > summary').last().click();
      await page.locator('.lost > summary').scrollIntoViewIfNeeded();
    },
  },
  given: {
    viewport: SLIM,
    stub: { count: 60, archived: 46 },
    act: async (page) => {
      await page.evaluate(() => window.stub.post({ type: 'usage', usage: { ...window.stub.usage(150_000), agent: 'Claude Code', managedBy: 'agent', followed: true } }));
      await page.locator('.session.followed').waitFor();
      await page.locator('.marker .marker-head').scrollIntoViewIfNeeded();
      await page.locator('.marker .marker-head').click();
      await page.locator('.given > summary').click();
      await page.locator('.given > summary').scrollIntoViewIfNeeded();
    },
  },
  down: {
    viewport: SLIM,
    stub: { count: 20 },
    act: (page) => page.evaluate(() => window.stub.post({ type: 'server', state: 'down', text: 'The server stopped again and again; see its log, then restart it.', actions: ['restart', 'problem', 'log'] })),
  },
  search: {
    viewport: NARROW,
    stub: { count: 60, archived: 12 },
    act: async (page) => {
      await page.locator('.tools button').nth(3).click();
      await page.locator('.search-input').fill('refresh');
      await page.locator('.hit').click();
    },
  },
};

/** Calls `look` with the page of every scene in every theme. Throws if a page logs an error. */
export async function everyScene(browser, look) {
  for (const [name, { viewport, stub, act }] of Object.entries(SCENES)) {
    const { page, errors, turn, close } = await browser.open({ theme: THEMES[0], viewport, ...stub });
    await page.waitForFunction(() => !document.querySelector('.earlier'));
    await act(page);
    for (const theme of THEMES) {
      await turn(theme);
      await page.waitForTimeout(200);
      await look(page, `${name}-${theme}`);
      if (errors.length > 0) throw new Error(`${name}, ${theme}: ${errors.join('\n')}`);
    }
    await close();
  }
}
