/** The view in the situations that users meet: the content of the page, and the actions before a screenshot. */
import { NARROW, WIDE } from './browser.mjs';

export const THEMES = ['dark', 'light', 'high-contrast', 'high-contrast-light'];

/** The actions before the screenshot. Each scene has a page of its own. */
export const SCENES = {
  usual: { viewport: WIDE, stub: { count: 120, archived: 46 }, act: async () => {} },
  narrow: { viewport: NARROW, stub: { count: 120, archived: 46, used: 155_000 }, act: (page) => page.locator('.part').nth(1).click() },
  marker: {
    viewport: WIDE,
    stub: { count: 60, archived: 46 },
    act: async (page) => {
      await page.locator('.marker .marker-head').scrollIntoViewIfNeeded();
      await page.locator('.marker .marker-head').click();
      for (const summary of await page.locator('.ledger summary').all()) await summary.click();
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
  answering: {
    viewport: NARROW,
    stub: { count: 20, canPrompt: true },
    act: async (page) => {
      await page.evaluate(() => {
        const { post } = window.stub;
        const say = (kind, text) => post({ type: 'said', piece: { id: 'm_live', role: 'assistant', kind, text } });
        post({ type: 'turn', running: true, queued: [{ id: 2, text: 'And then write the test for it, please.' }] });
        say('thinking', 'The expiry is compared in two places.');
        say('text', 'The **expiry** is read in seconds:\n- `token.py` compares it\n- `clock.py` gives it');
        post({ type: 'called', call: { id: 'call_19', title: 'run pytest', status: 'in_progress' } });
      });
      await page.locator('.thought summary').click();
    },
  },
  search: {
    viewport: NARROW,
    stub: { count: 60, archived: 12, canPrompt: true },
    act: async (page) => {
      await page.locator('.tools button').nth(3).click();
      await page.locator('.search-input').fill('refresh');
      await page.locator('.hit').click();
    },
  },
};

/** Calls `look` with the page of every scene in every theme. Throws if a page logs an error. */
export async function everyScene(browser, look) {
  for (const theme of THEMES) {
    for (const [name, { viewport, stub, act }] of Object.entries(SCENES)) {
      const { page, errors, close } = await browser.open({ theme, viewport, ...stub });
      await page.waitForFunction(() => !document.querySelector('.earlier'));
      await act(page);
      await page.waitForTimeout(200);
      await look(page, `${name}-${theme}`);
      if (errors.length > 0) throw new Error(`${name}, ${theme}: ${errors.join('\n')}`);
      await close();
    }
  }
}
