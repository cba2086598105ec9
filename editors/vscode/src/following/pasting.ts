/** Puts a text into the prompt of an agent that runs in a terminal, as a paste does. */
import type * as vscode from 'vscode';

// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Types a text of several lines into a terminal, and does not press Enter. The user reads it there first. */
export function pasteInto(terminal: Pick<vscode.Terminal, 'show' | 'sendText'>, text: string): void {
  terminal.show(false);
  terminal.sendText(asPaste(text), false);
}

/**
 * Returns a text as a terminal hands over what is pasted: between two marks, so that the agent takes a line break for a
 * part of the text and not for Enter. Control characters are left out: one could end the paste early.
 */
export function asPaste(text: string): string {
  return `\u001b[200~${text.replaceAll('\r\n', '\n').replace(CONTROL, '').replaceAll('\n', '\r')}\u001b[201~`;
}
