import { expect, test } from 'vitest';

import { placesOfPython, wayToPython } from '../../src/python';

const only = (...programs: readonly string[]) => (program: string): boolean => programs.includes(program);

test('a machine without Python gets one by a program that it has, and none that is of another system', () => {
  expect(wayToPython('win32', only('winget'))).toMatchObject({ program: 'winget', title: 'Install it with winget' });
  expect(wayToPython('darwin', only('brew'))).toMatchObject({ program: 'brew', words: ['install', 'python@3.13'] });
  expect(wayToPython('linux', only('brew', 'winget'))).toBeUndefined();
  expect(wayToPython('linux', only('uv'))).toMatchObject({ program: 'uv', words: ['python', 'install', '3.13'] });
  expect(wayToPython('darwin', only('brew', 'uv'))).toMatchObject({ program: 'uv' });
});

test('what was installed is looked for where it goes, also if PATH does not say so yet', () => {
  expect(placesOfPython('linux', { HOME: '/home/ada' })).toEqual(['/home/ada/.local/bin/python3.13']);
  expect(placesOfPython('darwin', {})).toContain('/opt/homebrew/bin/python3.13');
  const windows = placesOfPython('win32', { LOCALAPPDATA: 'C:\\Local', USERPROFILE: 'C:\\Ada' });
  expect(windows).toEqual(['C:\\Local\\Programs\\Python\\Python313\\python.exe', 'C:\\Ada\\.local\\bin\\python3.13.exe']);
});
