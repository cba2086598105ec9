/** Foreign text in VS Code's labels, which draw `$(name)` as an icon. Pure. */

/** Returns text that a label shows as it is. */
export function asLabel(text: string): string {
  return text.replaceAll('$(', '\\$(');
}
