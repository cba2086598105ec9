/** Markdown's library, which is most of the page: loaded with the first text that needs it. Until then texts are shown as they are. */
type View = typeof import('./markdownView');

let view: View | undefined;
let loading: Promise<void> | undefined;
const waiting = new Set<() => void>();

/** Returns what draws Markdown, or undefined until it is loaded. The loading begins with the first call. */
export function markdown(): View | undefined {
  if (!view) void loadMarkdown();
  return view;
}

/** Resolves when Markdown can be drawn. */
export function loadMarkdown(): Promise<void> {
  return (loading ??= import('./markdownView').then((loaded) => {
    view = loaded;
    for (const draw of waiting) draw();
  }));
}

/** Calls `draw` when Markdown can be drawn. Returns a function that ends that. */
export function onMarkdown(draw: () => void): () => void {
  waiting.add(draw);
  return () => { waiting.delete(draw); };
}

/** What a code block's copy button calls. The page sets it, because a message may be drawn anywhere in it. */
let copy: (text: string) => void = () => undefined;

export function onCopy(act: (text: string) => void): void {
  copy = act;
}

export function copyCode(text: string): void {
  copy(text);
}
