/** A terminal of the workbench, as a user types in it and reads it. */
import type { Locator, Page } from 'playwright-core';

import { PATIENCE, until } from './patience.ts';
import type { Workbench } from './workbench.ts';

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
