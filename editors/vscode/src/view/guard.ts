/**
 * Guards: small run-time checks that are types as well. A message between page and extension is described once, as a
 * guard. Its TypeScript type is derived from the guard, so check and type always agree.
 */

export type Guard<T> = (value: unknown) => value is T;
export type Guarded<G> = G extends Guard<infer T> ? T : never;
type Shape = Readonly<Record<string, Guard<unknown>>>;
type Shaped<S extends Shape> = { readonly [K in keyof S]: Guarded<S[K]> };

export const string: Guard<string> = (value): value is string => typeof value === 'string';
export const boolean: Guard<boolean> = (value): value is boolean => typeof value === 'boolean';
export const number: Guard<number> = (value): value is number => Number.isFinite(value);
/** A position or an amount: a whole number that is not negative. */
export const count: Guard<number> = (value): value is number => Number.isInteger(value) && (value as number) >= 0;

export function word<const W extends string>(...words: readonly W[]): Guard<W> {
  return (value): value is W => words.some((known) => known === value);
}

export function list<T>(item: Guard<T>): Guard<readonly T[]> {
  return (value): value is readonly T[] => Array.isArray(value) && value.every((each) => item(each));
}

export function record<T>(item: Guard<T>): Guard<Readonly<Record<string, T>>> {
  return (value): value is Readonly<Record<string, T>> => isObject(value) && Object.values(value).every((each) => item(each));
}

export function nullable<T>(inner: Guard<T>): Guard<T | null> {
  return (value): value is T | null => value === null || inner(value);
}

export function optional<T>(inner: Guard<T>): Guard<T | undefined> {
  return (value): value is T | undefined => value === undefined || inner(value);
}

/** An object with at least these fields. Other fields are ignored. */
export function object<const S extends Shape>(shape: S): Guard<Shaped<S>> {
  const fields = Object.entries(shape);
  return (value): value is Shaped<S> => isObject(value) && fields.every(([name, field]) => field(value[name]));
}

/** One of several objects, distinguished by the string in the field `tag`. */
export function tagged<const Tag extends string, const T extends Readonly<Record<string, Shape>>>(
  tag: Tag,
  table: T,
): Guard<{ [K in keyof T]: Readonly<Record<Tag, K>> & Shaped<T[K]> }[keyof T]> {
  const guards = new Map(Object.entries(table).map(([name, shape]) => [name, object(shape)]));
  const check = (value: unknown): boolean => isObject(value) && (guards.get(String(value[tag]))?.(value) ?? false);
  return check as Guard<never>;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
