/** Settings as an object of objects. Pure. */

type Nested = { [name: string]: unknown };

/** Returns the values of settings whose names have dots (`context.warnAt`) as nested objects. Unset ones are left out. */
export function nested(names: readonly string[], valueOf: (name: string) => unknown): object {
  const settings: Nested = {};
  for (const name of names) {
    const value = valueOf(name);
    if (value === undefined) continue;
    const path = name.split('.');
    const last = path.pop() ?? '';
    const parent = path.reduce<Nested>((inner, part) => (inner[part] ??= {}) as Nested, settings);
    parent[last] = value;
  }
  return settings;
}
