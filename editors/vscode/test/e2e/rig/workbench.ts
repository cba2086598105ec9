/** VS Code's workbench as a user sees it, its terminals, and stories whose tests continue from one another. */
import assert from 'node:assert/strict';
import { cpSync, existsSync, mkdirSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import readline from 'node:readline';
import { after, afterEach, beforeEach } from 'node:test';

import { type BrowserContext, chromium, errors, type FrameLocator, type Locator, type Page } from 'playwright-core';

import {
  CodeServer,
  extensionHostUnder,
  given,
  images,
  output,
  PATIENCE,
  serverUnder,
  type Setup,
  START_PATIENCE,
  until,
} from './codeServer.ts';

interface Answer {
  readonly id: number;
  /** When the request left the extension, in Unix milliseconds with fractions. */
  readonly sentAt: number;
  readonly result?: unknown;
  readonly error?: string;
}

export class Driver {
  readonly #socket: net.Socket;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #last = 0;

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    readline.createInterface({ input: socket }).on('line', (line) => {
      const answer = JSON.parse(line) as Answer;
      this.#waiting.get(answer.id)?.(answer);
      this.#waiting.delete(answer.id);
    });
  }

  static async connect(file: string): Promise<Driver> {
    await until('the test extension to listen', () => existsSync(file), START_PATIENCE);
    const socket = net.connect(file);
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    return new Driver(socket);
  }

  /** Returns the result and the time at which the request left. */
  async ask<R>(method: string, params: unknown): Promise<{ readonly result: R; readonly sentAt: number }> {
    const id = ++this.#last;
    const answer = await new Promise<Answer>((resolve) => {
      this.#waiting.set(id, resolve);
      this.#socket.write(`${JSON.stringify({ id, method, params })}\n`);
    });
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error}`);
    return { result: answer.result as R, sentAt: answer.sentAt };
  }

  close(): void {
    this.#socket.destroy();
  }
}

const CHROMIUM = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];
const STATUS = 'ullage.ullage.ullage.status';
const QUICK_INPUT = '.quick-input-widget:not([style*="display: none"])';

/** Milliseconds after which something is tried once more. */
const GLANCE = 3_000;

/** The workbench's window, in which the texts of the status item are recorded. Some are shown for seconds only. */
interface Recording extends Window {
  ullageStatus?: string[];
}

/** Returns false for a timeout. Throws any other error again. */
function ifSlow(error: unknown): false {
  if (error instanceof errors.TimeoutError) return false;
  throw error;
}

export class Workbench {
  readonly page: Page;
  readonly status: Locator;
  readonly #server: CodeServer;
  readonly #browser: BrowserContext;
  readonly #name: string;
  #driver: Driver | undefined;

  private constructor(name: string, server: CodeServer, browser: BrowserContext, page: Page) {
    this.#name = name;
    this.#server = server;
    this.#browser = browser;
    this.page = page;
    this.status = page.locator(`[id="${STATUS}"]`);
  }

  /**
   * Opens a workbench with the extension installed (unless `installed` is false) and waits for the status item. `name`
   * is the folder of its screenshots.
   */
  static async open(name: string, setup: Partial<Setup> = {}): Promise<Workbench> {
    const socket = path.join(output, `${name}-${process.pid}.sock`);
    mkdirSync(path.join(output, name), { recursive: true });
    const server = await CodeServer.start({
      installed: setup.installed ?? true,
      settings: setup.settings ?? {},
      environment: { ULLAGE_DRIVER_SOCKET: socket, ...setup.environment },
      ...(setup.folder ? { folder: setup.folder } : {}),
      ...(setup.files ? { files: setup.files } : {}),
      restricted: setup.restricted ?? false,
      ...(setup.language ? { language: setup.language } : {}),
    });
    const browser = await chromium.launchPersistentContext(path.join(server.home, 'browser'), {
      executablePath: given('ULLAGE_CHROMIUM'),
      viewport: { width: 1280, height: 800 },
      args: CHROMIUM,
    });
    const page = browser.pages()[0] ?? (await browser.newPage());
    page.setDefaultTimeout(PATIENCE);
    const workbench = new Workbench(name, server, browser, page);
    await browser.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto(`${server.url}/?folder=${encodeURIComponent(server.workspace)}`, { timeout: START_PATIENCE });
    // Without the extension, the workbench is ready when it shows its own status items.
    const ready = setup.installed === false ? page.locator('.statusbar-item').first() : workbench.status;
    await ready.waitFor({ timeout: START_PATIENCE });
    await page.evaluate(record, STATUS);
    return workbench;
  }

  get workspace(): string {
    return this.#server.workspace;
  }

  /** The process of the `ullage lsp` that this workbench's extension runs. */
  get serverProcess(): number | undefined {
    return serverUnder(this.#server.pid);
  }

  /** The process in which this workbench's extensions run. */
  get extensionHost(): number | undefined {
    return extensionHostUnder(this.#server.pid);
  }

  /** Returns the driver, which sends requests through the extension's own client. */
  async driver(): Promise<Driver> {
    this.#driver ??= await Driver.connect(path.join(output, `${this.#name}-${process.pid}.sock`));
    return this.#driver;
  }

  /** Ends everything. If the test `failed`, logs and a last screenshot are kept. */
  async close(failed: boolean): Promise<void> {
    if (failed) await this.shot('failed').catch(() => undefined);
    if (failed) this.#server.saveLogs(path.join(output, this.#name, 'logs'));
    this.#driver?.close();
    await this.#browser.close();
    await this.#server.stop();
  }

  // Status bar

  /** Waits until the status bar has had a text that matches at any time since the window was opened, or since the last call. */
  async hasRead(pattern: RegExp): Promise<void> {
    let texts: readonly string[] = [];
    const look = async (): Promise<boolean> => {
      texts = [...texts, ...(await this.page.evaluate(() => (window as Recording).ullageStatus?.splice(0) ?? []))];
      return texts.some((text) => pattern.test(text));
    };
    await until(`the status bar to have read ${pattern}`, look).catch((error: unknown) => {
      throw new Error(`${String(error)}; it read ${JSON.stringify(texts.slice(-20))}`);
    });
  }

  /** Waits until the status item has a text that matches, and returns the whole text. */
  async reads(pattern: RegExp, patience = PATIENCE): Promise<string> {
    let text = '';
    const look = async (): Promise<boolean> => pattern.test((text = await this.statusText()));
    await until(`the status bar to read ${pattern}`, look, patience).catch((error: unknown) => {
      throw new Error(`${String(error)}; it reads ${JSON.stringify(text)}`);
    });
    return text;
  }

  async statusText(): Promise<string> {
    return ((await this.status.textContent()) ?? '').trim();
  }

  /** Hovers over the item until a hover has this text, and returns that hover. One that closes meanwhile is opened again. */
  async hover(text: string | RegExp, patience = PATIENCE): Promise<Locator> {
    const hover = this.page.locator('.monaco-hover', { hasText: text }).first();
    await until(`a hover with ${text}`, async () => {
      // A hover does not open over what the mouse is on, or has just clicked.
      await this.page.mouse.move(600, 300);
      await this.status.hover();
      return hover.waitFor({ timeout: GLANCE }).then(() => true, ifSlow);
    }, patience);
    return hover;
  }

  /** What a screen reader says of the item. It has the figures in full. */
  async statusLabel(): Promise<string> {
    return (await this.status.locator('a').getAttribute('aria-label')) ?? '';
  }

  /** Waits until the item has a kind of colour, by VS Code's names. */
  async isOfKind(kind: 'warning' | 'error' | 'normal'): Promise<void> {
    await until(`the status bar to be of the kind ${kind}`, async () => {
      const classes = (await this.status.getAttribute('class')) ?? '';
      return kind === (/warning-kind/.test(classes) ? 'warning' : /error-kind/.test(classes) ? 'error' : 'normal');
    });
  }

  // Palette and pickers

  /** Runs a command by its title in the palette: one of Ullage's, unless another category is named. */
  async run(title: string, category = 'Ullage'): Promise<void> {
    const name = `${category}: ${title}`;
    const row = this.picks.filter({ has: this.page.getByText(name, { exact: true }) }).first();
    // The palette lists the commands at the time it is opened. In a new workbench some commands are registered later.
    await until(`the command ${name}`, async () => {
      await this.page.keyboard.press('Escape');
      await this.page.keyboard.press('F1');
      const input = this.quickInput.locator('input').first();
      const ready = await input.fill(`>${name}`, { timeout: GLANCE }).then(() => true, ifSlow);
      if (!ready) return false;
      return row.click({ timeout: GLANCE }).then(() => true, ifSlow);
    });
  }

  get quickInput(): Locator {
    return this.page.locator(QUICK_INPUT);
  }

  /** The rows of the open picker. */
  get picks(): Locator {
    return this.quickInput.locator('.monaco-list-row');
  }

  /** Chooses the first row of the open picker that contains this text. */
  async pick(text: string | RegExp): Promise<void> {
    await this.picks.filter({ hasText: text }).first().click();
  }

  /** Runs a command that offers others, and chooses one of these. */
  async runIn(title: string, item: string | RegExp): Promise<void> {
    await this.run(title);
    await this.pick(item);
  }

  /** Answers the open input box. */
  async answer(text: string): Promise<void> {
    const input = this.quickInput.locator('input').first();
    await input.waitFor();
    await input.fill(text);
    await this.page.keyboard.press('Enter');
  }

  /** Answers the open file dialog. The dialog reads folders while it opens and while the user types, and then restores its own path. */
  async answerFile(file: string): Promise<void> {
    const input = this.quickInput.locator('input').first();
    await until('the file dialog', async () => (await input.inputValue().catch(() => '')).startsWith('/'));
    await until(`the file dialog to take ${file}`, async () => {
      await this.#offerFile(input, file).catch(ifSlow);
      return this.quickInput.waitFor({ state: 'hidden', timeout: GLANCE }).then(() => true, ifSlow);
    });
  }

  /** Types a path and confirms it. Throws a TimeoutError if the dialog is not ready for that, or closes meanwhile. */
  async #offerFile(input: Locator, file: string): Promise<void> {
    const hurry = { timeout: GLANCE };
    if ((await input.inputValue(hurry)) !== file) await input.fill(file, hurry);
    await this.picks.first().waitFor(hurry);
    if ((await input.inputValue(hurry)) === file) await input.press('Enter', hurry);
  }

  // Toasts and dialogs

  /** Waits for a notification and returns it. Its buttons can be found in it. While the notification center is open, it is there. */
  async toast(text: string | RegExp): Promise<Locator> {
    const toast = this.page.locator('.notification-list-item', { hasText: text }).first();
    await toast.waitFor();
    return toast;
  }

  /** Presses a button of a notification, which by now may be in the notification center only. */
  async act(text: string | RegExp, button: string): Promise<void> {
    const action = this.page.locator('.notification-list-item', { hasText: text }).getByRole('button', { name: button }).first();
    await until(`the button ${button}`, async () => {
      if (await action.click({ timeout: GLANCE }).then(() => true, ifSlow)) return true;
      await this.run('Show Notifications', 'Notifications');
      return false;
    });
  }

  async clearToasts(): Promise<void> {
    await this.run('Clear All Notifications', 'Notifications');
    await this.page.locator('.notification-toast').first().waitFor({ state: 'hidden' });
  }

  /** Presses a button of the open modal dialog. */
  async confirm(button: string | RegExp): Promise<void> {
    await this.page.locator('.monaco-dialog-box').getByRole('button', { name: button }).click();
  }

  /** Opens the page of an installed extension, and waits until it shows its README. Throws if a picture of it is missing. */
  async showsWholePage(extension: string): Promise<void> {
    await this.page.locator('.extension-list-item', { hasText: extension }).first().click();
    const readme = this.page.frameLocator('iframe.webview').frameLocator('iframe#active-frame');
    await readme.locator('h1').first().waitFor();
    const pictures = readme.locator('img');
    const shown = await pictures.evaluateAll((all) => all.map((picture) => (picture as HTMLImageElement).naturalWidth > 0));
    if (shown.includes(false)) throw new Error(`${shown.filter((one) => !one).length} pictures of the page are missing`);
    await this.shot('extension page');
    await this.page.keyboard.press('Control+F4');
  }

  // The views

  /** The rows of the tree of conversations. */
  get conversations(): Locator {
    return this.page.getByRole('tree', { name: /^Conversations/ }).getByRole('treeitem');
  }

  /** Shows the tree of conversations by a click on the status bar, and chooses the first row with this text. */
  async choose(text: string | RegExp): Promise<void> {
    await this.status.click();
    await this.conversations.filter({ hasText: text }).first().click();
  }

  /** The page inside the Context view's webview. */
  get context(): FrameLocator {
    return this.page.frameLocator('iframe.webview.ready[name], iframe.webview').frameLocator('iframe#active-frame');
  }

  /** Replaces all text of the focused editor. */
  async replaceText(text: string): Promise<void> {
    await this.page.keyboard.press('Control+A');
    await this.page.keyboard.insertText(text);
  }

  /** Takes a screenshot for this run. With `--update-screenshots` those with an `image` go to the README's images. */
  async shot(name: string, image?: string): Promise<void> {
    const file = path.join(output, this.#name, `${name}.png`);
    // Waits for animations that end, so that no notification is caught sliding in. A spinner never ends.
    await this.page.evaluate(() => {
      const ending = document.getAnimations().filter((one) => Number.isFinite(one.effect?.getComputedTiming().endTime));
      return Promise.allSettled(ending.map((animation) => animation.finished));
    });
    await this.page.screenshot({ path: file });
    if (image && process.env['ULLAGE_UPDATE_SCREENSHOTS']) cpSync(file, path.join(images, image));
  }
}

/** Runs in the workbench's window. Records every text of the status item from now on. */
function record(id: string): void {
  const texts: string[] = ((window as Recording).ullageStatus = []);
  const look = (): void => {
    const text = document.getElementById(id)?.textContent.trim();
    if (text !== undefined && text !== texts.at(-1)) texts.push(text);
  };
  const bar = document.querySelector('.part.statusbar');
  if (bar) new MutationObserver(look).observe(bar, { subtree: true, childList: true, characterData: true });
  look();
}

/**
 * Says for the whole file what a failure means: there is a screenshot of it, the tests after it fail at once, because
 * they would fail only because of it, and the window's logs are kept. `workbench` returns the window once it is open;
 * `clean` is called after it is closed.
 */
export function continues(workbench: () => Workbench | undefined, clean: () => unknown = () => undefined): void {
  let failed = false;
  beforeEach(() => { assert.ok(!failed, 'an earlier test failed'); });
  afterEach(async (context) => {
    if (failed || !('passed' in context) || context.passed) return;
    failed = true;
    await workbench()?.shot(`failed: ${context.name}`.replace(/[^\w:]+/g, ' '));
  });
  after(async () => {
    await workbench()?.close(failed);
    await clean();
  });
}

/** Settings with which the terminal's text is in the page, where a test can read it, and nothing else is over it. */
export const READABLE = { 'terminal.integrated.gpuAcceleration': 'off', 'terminal.integrated.stickyScroll.enabled': false };
/** Milliseconds between two keys. An agent that gets them faster takes them for pasted, and Enter for a part of it. */
const TYPING = 20;

/** The terminal that is opened last is the active one: these tests don't go back to another. */
export class Terminal {
  readonly #page: Page;
  readonly #active: Locator;

  private constructor(page: Page) {
    this.#page = page;
    this.#active = page.locator('.terminal-wrapper.active .xterm').last();
  }

  /** Opens a terminal and runs a command in it. `title` is the command of the palette that opens it. */
  static async open(workbench: Workbench, title: string, command: string): Promise<Terminal> {
    await workbench.run(title, 'Terminal');
    const terminal = new Terminal(workbench.page);
    await terminal.shows(/[$#]\s*$/);
    await terminal.type(command);
    return terminal;
  }

  /** Types a line, and Enter. */
  async type(text: string): Promise<void> {
    await this.#active.locator('.xterm-helper-textarea').focus();
    await this.#page.keyboard.type(text, { delay: TYPING });
    await this.shows(new RegExp(text.slice(-12).replace(/[^\w ]/g, '.')));
    await this.#page.keyboard.press('Enter');
  }

  /** Waits until the screen has a text. */
  async shows(pattern: RegExp, patience = PATIENCE): Promise<void> {
    let screen = '';
    const look = async (): Promise<boolean> => pattern.test((screen = await this.screen()));
    await until(`the terminal to show ${pattern}`, look, patience).catch((error: unknown) => { throw new Error(`${String(error)}; it shows\n${screen}`); });
  }

  /** The lines on the screen without the blank ones. */
  async screen(): Promise<string> {
    const lines = await this.#active.locator('.xterm-rows > div').allTextContents();
    return lines.map((line) => line.replaceAll('\u00a0', ' ').trimEnd()).filter(Boolean).join('\n');
  }
}
