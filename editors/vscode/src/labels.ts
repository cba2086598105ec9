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

/** Tags with a joint in their names (`<command-name>`, `<system_reminder>`), by which programs wrap what they add. */
const TAG = /<\/?[a-z]+(?:[-_][a-z]+)+>/g;
const FENCE = /^\s*(?:`{3,}|~{3,})[^\n]*$/gm;
/** What a terminal takes for a colour. Agents keep their own output with it. */
// eslint-disable-next-line no-control-regex
const COLOUR = /\u001b\[[0-?]*[ -/]*[@-~]/g;
const RULES: readonly (readonly [RegExp, string])[] = [
  [COLOUR, ''],
  [TAG, ' '],
  [FENCE, ''],
  // The line under a table's head, and the bars between its cells.
  [/^ *\|?(?: *:?-+:? *\|)+ *(?::?-+:? *)?$/gm, ''],
  [/^ *\|(.*)\| *$/gm, '$1'],
  // Headings, quotes and rules at the beginning of a line.
  [/^\s{0,3}(?:#{1,6}\s+|>\s?|(?:[-*_]\s*){3,}$)/gm, ''],
  [/!?\[([^\]\n]*)\]\([^)\s]*\)/g, '$1'],
  [/(\*\*|__)(?=\S)([^\n]*?\S)\1/g, '$2'],
  [/(^|[^\w*])\*(?=\S)([^*\n]*?\S)\*(?![\w*])/g, '$1$2'],
  [/(`+)([^`\n]+)\1/g, '$2'],
];

/** Returns the text without Markdown's signs and without wrapping tags. Lines stay lines. */
export function plainText(text: string): string {
  const plain = RULES.reduce((left, [pattern, by]) => left.replace(pattern, by), text);
  return plain.replace(/[^\S\n]+$/gm, '').replace(/^ (?=\S)/gm, '').replace(/\n{2,}/g, '\n').trim();
}
