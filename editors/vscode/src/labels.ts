/** Foreign text in VS Code's labels and messages, which take parts of it for more than text. Pure. */

/** Returns text that a label shows as it is. A label draws `$(name)` as an icon. */
export function asLabel(text: string): string {
  return text.replaceAll('$(', '\\$(');
}

/**
 * Returns text that a message or a progress bar shows as it is. It would take `[text](command:name)` for a link, and run
 * the command on a click. The word joiner that prevents it is not seen.
 */
export function asMessage(text: string): string {
  return text.replaceAll('](', ']\u2060(');
}
