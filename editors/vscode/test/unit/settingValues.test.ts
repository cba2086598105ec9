import { readFileSync } from 'node:fs';
import * as path from 'node:path';
import { expect, test } from 'vitest';

import { settingNames } from '../../src/protocol.gen';
import { nested } from '../../src/settingValues';
import { example, repository } from './samples';

interface Manifest {
  readonly capabilities: { readonly untrustedWorkspaces: { readonly restrictedConfigurations: readonly string[] } };
  readonly contributes: { readonly configuration: { readonly properties: Readonly<Record<string, unknown>> } };
}

const manifest = JSON.parse(readFileSync(path.join(repository, 'editors/vscode/package.json'), 'utf8')) as Manifest;

/** Returns the value of a nested member, by its name with dots. */
function member(value: unknown, name: string): unknown {
  return name.split('.').reduce<unknown>((inner, part) => (inner as Record<string, unknown> | undefined)?.[part], value);
}

test('every setting of the example goes to the server as it was set', () => {
  const settings = example('settings.json');
  expect(nested(settingNames, (name) => member(settings, name))).toEqual(settings);
});

test('a name that a folder makes up is not sent', () => {
  const made: Record<string, unknown> = { 'context.warnAt': 0.7, bogus: 1 };
  expect(nested(settingNames, (name) => made[name])).toEqual({ context: { warnAt: 0.7 } });
});

test('a folder that is not trusted cannot set anything that the server reads', () => {
  const { restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
  expect(restrictedConfigurations).toEqual(expect.arrayContaining(settingNames.map((name) => `ullage.${name}`)));
});
