/** The page's entry point: connects the page with VS Code's webview. */
import './displayLanguage';

import { isHostMessage, type PageMessage } from '../messages';
import { isKept } from './conversation';
import { Page } from './page';

interface WebviewApi {
  postMessage(message: PageMessage): void;
  getState(): unknown;
  setState(state: unknown): void;
}
declare function acquireVsCodeApi(): WebviewApi;

const api = acquireVsCodeApi();
const state = api.getState();
const page = new Page(document.body, {
  send: (message) => api.postMessage(message),
  keep: (kept) => api.setState(kept),
  kept: isKept(state) ? state : undefined,
});

window.addEventListener('message', (event: MessageEvent<unknown>) => {
  if (isHostMessage(event.data)) page.receive(event.data);
});
// A command that focuses the view focuses the page, and nothing in it.
window.addEventListener('focus', () => {
  if (document.activeElement === null || document.activeElement === document.body) page.focus();
});
api.postMessage({ type: 'ready' });
