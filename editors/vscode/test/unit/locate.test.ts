import { expect, test } from 'vitest';

import { locate, type Surroundings } from '../../src/locate';

const PRIVATE = '/storage/server/bin/ullage';

function around(programs: readonly string[], changes: Partial<Surroundings> = {}): Surroundings {
  return {
    setting: '',
    environment: { PATH: '/usr/bin:relative:/home/ada/.local/bin', HOME: '/home/ada' },
    pythonFolders: ['/project/.venv/bin'],
    privateServer: PRIVATE,
    windows: false,
    trusted: true,
    isProgram: (file) => programs.includes(file),
    ...changes,
  };
}

const ALL = ['/opt/ullage', '/env/ullage', '/project/.venv/bin/ullage', '/home/ada/.local/bin/ullage', PRIVATE];

test('the order is setting, variable, Python environment, PATH, own environment', () => {
  const full = { setting: '/opt/ullage', environment: { PATH: '/home/ada/.local/bin', ULLAGE_SERVER: '/env/ullage' } };
  expect(locate(around(ALL, full))).toMatchObject({ command: '/opt/ullage' });
  expect(locate(around(ALL, { ...full, setting: '' }))).toMatchObject({ command: '/env/ullage' });
  expect(locate(around(ALL))).toMatchObject({ command: '/project/.venv/bin/ullage' });
  expect(locate(around(ALL, { pythonFolders: [] }))).toMatchObject({ command: '/home/ada/.local/bin/ullage' });
  expect(locate(around([PRIVATE]))).toMatchObject({ command: PRIVATE });
});

test('a program that was named but is not there is no reason to run another', () => {
  expect(locate(around(ALL, { setting: '/gone' }))).toEqual({
    reason: 'The setting ullage.server.path names /gone, which is not a program.',
  });
});

test('a path may begin with the home folder', () => {
  expect(locate(around(['/home/ada/bin/ullage'], { setting: '~/bin/ullage' }))).toMatchObject({ command: '/home/ada/bin/ullage' });
});

test("an untrusted folder's Python environment and relative places on PATH are not used", () => {
  const programs = ['/project/.venv/bin/ullage', 'relative/ullage'];
  expect(locate(around(programs, { trusted: false }))).toHaveProperty('reason');
});

test('on Windows the program ends in .exe', () => {
  const windows = { windows: true, pythonFolders: [], environment: { Path: 'C:\\tools;rel' } };
  expect(locate(around(['C:\\tools\\ullage.exe'], windows))).toMatchObject({ command: 'C:\\tools\\ullage.exe' });
});
