/** Draws a bar in characters. */

/** Cells of the bar in the tooltip. */
export const CELLS = 20;

/** Returns a bar of `cells` cells with `used` of `size` filled, and `┊` at the compaction threshold: `▓▓▓▓▓░░░┊░░`. */
export function bar(used: number, size: number, compactAt: number | null, cells = CELLS): string {
  const filled = toCells(used, size, cells);
  const blocks = '▓'.repeat(filled) + '░'.repeat(cells - filled);
  if (compactAt === null) return blocks;
  const mark = toCells(compactAt, size, cells);
  return `${blocks.slice(0, mark)}┊${blocks.slice(mark)}`;
}

function toCells(part: number, whole: number, cells: number): number {
  return Math.min(cells, Math.max(0, Math.round((cells * part) / Math.max(1, whole))));
}
