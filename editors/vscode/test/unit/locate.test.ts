import { expect, test } from 'vitest';

import { locate, type Surroundings } from '../../src/server';

const PRIVATE = '/storage/server/bin/ullage';

function around(programs: readonly string[], changes: Partial<Surroundings> = {}): Surroundings {
  return {
    setting: '',
    environment: { PATH: '/usr/bin:relative:/home/ada/.local/bin', HOME: '/home/ada' },
    pythonFolders: ['/project/.venv/bin'],
    privateServers: [{ command: PRIVATE, words: [] }],
    lacksPython: false,
    windows: false,
    trusted: true,
    isProgram: (file) => programs.includes(file),
    ...changes,
  };
}

/** Returns the program that is tried first. */
function first(surroundings: Surroundings): string | undefined {
  const places = locate(surroundings);
  return 'reason' in places ? undefined : places[0].command;
}

const ALL = ['/opt/ullage', '/env/ullage', '/project/.venv/bin/ullage', '/home/ada/.local/bin/ullage', PRIVATE];

test('the order is setting, variable, Python environment, PATH, own environment', () => {
  const full = { setting: '/opt/ullage', environment: { PATH: '/home/ada/.local/bin', ULLAGE_SERVER: '/env/ullage' } };
  expect(first(around(ALL, full))).toBe('/opt/ullage');
  expect(first(around(ALL, { ...full, setting: '' }))).toBe('/env/ullage');
  expect(first(around(ALL))).toBe('/project/.venv/bin/ullage');
  expect(first(around(ALL, { pythonFolders: [] }))).toBe('/home/ada/.local/bin/ullage');
  expect(first(around([PRIVATE]))).toBe(PRIVATE);
});

test('a program that was not named is followed by the others, for when it is too old', () => {
  const places = locate(around(['/home/ada/.local/bin/ullage', PRIVATE]));
  expect(places).toEqual([
    { command: '/home/ada/.local/bin/ullage', words: [], how: 'PATH' },
    { command: PRIVATE, words: [], how: "the extension's own environment" },
  ]);
  expect(locate(around(ALL, { setting: '/opt/ullage' }))).toHaveLength(1);
});

test('where it was looked for is said in a sentence', () => {
  expect(locate(around([]))).toEqual({
    reason: 'No ullage program was found in the active Python environment or on PATH, and none has been set up yet.',
    lacksPython: false,
  });
});

test('a program that was named but is not there is no reason to run another', () => {
  expect(locate(around(ALL, { setting: '/gone' }))).toEqual({
    reason: 'The setting ullage.server.path names /gone, which is not a program.',
    lacksPython: false,
  });
});

test('a path may begin with the home folder', () => {
  expect(first(around(['/home/ada/bin/ullage'], { setting: '~/bin/ullage' }))).toBe('/home/ada/bin/ullage');
});

test("an untrusted folder's Python environment and relative places on PATH are not used", () => {
  const programs = ['/project/.venv/bin/ullage', 'relative/ullage'];
  expect(locate(around(programs, { trusted: false }))).toHaveProperty('reason');
});

test('on Windows the program ends in .exe', () => {
  const windows = { windows: true, pythonFolders: [], environment: { Path: 'C:\\tools;rel' } };
  expect(first(around(['C:\\tools\\ullage.exe'], windows))).toBe('C:\\tools\\ullage.exe');
});

test('if a Python is all that is missing, that is the reason', () => {
  const missing = locate(around([], { lacksPython: true }));
  expect(missing).toEqual({ reason: "Ullage's server needs Python 3.11 or newer, and none was found.", lacksPython: true });
  expect(first(around(ALL, { lacksPython: true }))).toBe('/project/.venv/bin/ullage');
});

test('an environment of before is followed by the one that can be made, for when it is too old', () => {
  const servers = ['/storage/before/ullage', '/storage/new/ullage'];
  const places = locate(around(servers, { privateServers: servers.map((command) => ({ command, words: [] })) }));
  expect(places).toMatchObject(servers.map((command) => ({ command })));
});
