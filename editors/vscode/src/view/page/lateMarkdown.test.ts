/**
 * The page before Markdown's library is loaded.
 *
 * @vitest-environment happy-dom
 */
import { expect, test, vi } from 'vitest';

import { PATIENCE } from '../../../test/unit/patience';
import { item, marker } from '../../../test/unit/view/items';
import { Page } from './page';

test('a summary is shown as it is until Markdown can be drawn, and then as Markdown', async () => {
  vi.stubGlobal('ResizeObserver', class { observe(): void { /* nothing has a size here */ } unobserve(): void { /* as above */ } });
  const root = document.body.appendChild(document.createElement('div'));
  const page = new Page(root, { send: () => undefined, keep: () => undefined, kept: undefined });
  page.receive({ type: 'session', sessionId: 's1', title: 't', generation: 1, total: 1, reveal: null });
  page.receive({ type: 'entries', generation: 1, offset: 0, total: 1, items: [item('e1-marker', { marker })] });
  page.receive({ type: 'compacting', number: 2, trigger: 'manual', messages: 3, before: 9_000, summary: 'It **is** so.' });
  expect(root.querySelector('.writing-text')?.textContent).toBe('It **is** so.');
  root.querySelector<HTMLElement>('.marker')?.click();
  expect(root.querySelector('.summary')?.textContent).toBe(marker.summary);
  await vi.waitFor(() => { expect(root.querySelector('.summary .section strong')?.textContent).toBe('one'); }, PATIENCE);
  expect(root.querySelector('.writing-text strong')?.textContent).toBe('is');
  page.dispose();
});

