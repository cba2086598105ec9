/** What a key does in the list. Pure. */
export type KeyAct =
  | { readonly act: 'move'; readonly by: number }
  | { readonly act: 'first' | 'last' | 'toggle' | 'open' | 'close' | 'pin' | 'search' | 'undo' };

export interface Key {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
}

/** Returns the act of a key on a row, or undefined if the list does not use the key. `page` is the number of rows of a page. */
export function keyAct(key: Key, page: number): KeyAct | undefined {
  if (key.ctrlKey || key.metaKey || key.altKey) return undefined;
  switch (key.key) {
    case 'ArrowDown':
      return { act: 'move', by: 1 };
    case 'ArrowUp':
      return { act: 'move', by: -1 };
    case 'PageDown':
      return { act: 'move', by: page };
    case 'PageUp':
      return { act: 'move', by: -page };
    case 'Home':
      return { act: 'first' };
    case 'End':
      return { act: 'last' };
    case 'Enter':
    case ' ':
      return { act: 'toggle' };
    case 'ArrowRight':
      return { act: 'open' };
    case 'ArrowLeft':
      return { act: 'close' };
    case 'p':
      return { act: 'pin' };
    case 'u':
      return { act: 'undo' };
    case '/':
      return { act: 'search' };
    default:
      return undefined;
  }
}
