/** A workspace's memory that ends with the test. */
import type { Memento } from 'vscode';

export function memory(): Memento {
  const values = new Map<string, unknown>();
  return {
    keys: () => [...values.keys()],
    get: (key: string, fallback?: unknown) => values.get(key) ?? fallback,
    update: (key: string, value: unknown) => Promise.resolve(void values.set(key, value)),
  } as Memento;
}
