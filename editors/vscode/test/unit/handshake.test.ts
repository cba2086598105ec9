import { expect, test } from 'vitest';

import { misfit, type ServerIntroduction } from '../../src/connection';
import { methodNames } from '../../src/protocol.gen';

function server(version: string, methods: readonly string[] = methodNames): ServerIntroduction {
  return { serverInfo: { name: 'ullage', version }, capabilities: { experimental: { ullage: { methods } } } };
}

test('a server of the same release with all methods fits, also a newer one with more methods', () => {
  expect(misfit(server('0.1.7'), '0.1.0')).toBeUndefined();
  expect(misfit(server('0.1.0', [...methodNames, 'ullage/new']), '0.1.0')).toBeUndefined();
  expect(misfit(server('2.9.0'), '2.1.0')).toBeUndefined();
});

test('a server that lacks a method is too old, whatever its version says', () => {
  const old = methodNames.filter((name) => name !== 'ullage/context/search');
  expect(misfit(server('0.1.0', old), '0.1.0')).toBe(
    'The server is version 0.1.0, which lacks ullage/context/search; this extension (0.1.0) needs a newer one.',
  );
});

test('another release before 1.0, or another major version after, does not fit', () => {
  expect(misfit(server('0.2.0'), '0.1.0')).toMatch(/may not fit/);
  expect(misfit(server('2.0.0'), '1.4.0')).toMatch(/may not fit/);
});

test('another program is no server of ours', () => {
  expect(misfit({ capabilities: {} }, '0.1.0')).toBe('The program is not an Ullage server.');
  expect(misfit({ capabilities: { experimental: { ullage: { methods: 3 } } } }, '0.1.0')).toBe('The program is not an Ullage server.');
});
