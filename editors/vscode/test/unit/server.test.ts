/** Which server runs, and the extension's own one, with a Python that is a shell script: what it makes, keeps and says, not what pip fetches. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { LogOutputChannel } from 'vscode';

import { locate, NoPython, OwnServer, placesOfPython, type Surroundings, wayToPython } from '../../src/server';

describe('which server runs', () => {
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
      { command: PRIVATE, words: [], how: "the extension's own server" },
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
});

describe('getting a Python', () => {
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
});

describe('the own server', () => {
  const WHEEL = 'ullage-0.1.0-py3-none-any.whl';
  /** Answers the question for its version, makes an environment in which it is Python, and installs as PIP_SAYS says. */
  const PYTHON = `#!/bin/sh
case "$1 $2" in
  "-c "*) echo "3 12" ;;
  "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  "-m pip")
    echo "$@" >> "$(dirname "$0")/pip.log"
    case "$PIP_SAYS" in
      "") printf '#!/bin/sh\\n' > "$(dirname "$0")/ullage" && chmod +x "$(dirname "$0")/ullage" ;;
      hang) exec sleep 600 ;;
      *) echo "$PIP_SAYS" >&2; exit 1 ;;
    esac ;;
esac
`;

  let folder: string;
  let python: string;

  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'ullage-environment-'));
    python = path.join(folder, 'python3');
    writeFileSync(python, PYTHON);
    chmodSync(python, 0o755);
  });
  afterEach(() => {
    delete process.env['PIP_SAYS'];
    rmSync(folder, { recursive: true, force: true });
  });

  /** Returns the environment of an extension whose wheel has this content. */
  function extension(content: string): OwnServer {
    const bundled = path.join(folder, 'bundled');
    mkdirSync(bundled, { recursive: true });
    writeFileSync(path.join(bundled, WHEEL), content);
    const log = { info: () => undefined } as unknown as LogOutputChannel;
    return new OwnServer(path.join(folder, 'storage'), bundled, log);
  }

  /** Returns the server of an extension that includes it as a program. */
  function withProgram(content: string): OwnServer {
    const programs = path.join(folder, 'bundled', 'program', 'bin');
    mkdirSync(programs, { recursive: true });
    writeFileSync(path.join(programs, 'ullage'), '#!/bin/sh\n', { mode: 0o755 });
    return extension(content);
  }

  const addExtras = (server: OwnServer): Promise<void> => server.addExtras([python], new AbortController().signal, () => undefined);
  const make = (environment: OwnServer, signal = new AbortController().signal): Promise<void> =>
    environment.make([python], signal, () => undefined);

  test('a wheel of the same name with another content gets an environment of its own', async () => {
    const first = extension('one');
    await make(first);
    expect(first.isReady).toBe(true);
    const { program } = first;
    const second = extension('two');
    expect(second.isReady).toBe(false);
    expect(second.isOutdated).toBe(true);
    await make(second);
    expect(second.program).not.toBe(program);
    await second.removeOthers();
    expect(existsSync(program)).toBe(false);
    expect(existsSync(second.program)).toBe(true);
  });

  test('the linked program keeps its path over an update, and is the one of the environment in use', async () => {
    const first = extension('one');
    expect(first.launches()[0].command).toBe(first.program);
    await make(first);
    const [linked, { program }] = [first.launches()[0].command, first];
    expect(linked).not.toBe(program);
    expect(realpathSync(linked)).toBe(realpathSync(program));

    const second = extension('two');
    process.env['PIP_SAYS'] = 'ERROR: no network';
    await expect(make(second)).rejects.toThrow();
    expect(second.launches()[0].command).toBe(linked);
    expect(realpathSync(linked)).toBe(realpathSync(program));

    delete process.env['PIP_SAYS'];
    await make(second);
    expect(second.launches()[0].command).toBe(linked);
    await second.removeOthers();
    expect(existsSync(program)).toBe(false);
    expect(realpathSync(linked)).toBe(realpathSync(second.program));
    expect(second.isOutdated).toBe(false);
  });

  test('a link to an environment that is gone is made anew, and where none can be made the environment is used itself', async () => {
    const environment = extension('one');
    await make(environment);
    const link = path.join(folder, 'storage', 'current');
    symlinkSync(path.join(folder, 'storage', 'server-gone'), link);
    expect(realpathSync(environment.launches()[0].command)).toBe(realpathSync(environment.program));
    unlinkSync(link);
    mkdirSync(path.join(link, 'taken'), { recursive: true });
    expect(environment.launches()[0].command).toBe(environment.program);
  });

  test('an update that fails leaves the earlier environment in use, and says why in words', async () => {
    const first = extension('one');
    await make(first);
    const second = extension('two');
    process.env['PIP_SAYS'] = 'ERROR: No matching distribution found for msgspec';
    await expect(make(second)).rejects.toThrow(/could not be fetched.*Pip said: ERROR: No matching distribution found for msgspec/);
    await second.removeOthers();
    expect(second.program).toBe(first.program);
    expect(existsSync(second.program)).toBe(true);
  });

  test('the server is installed before the packages for asking models, without which it counts', async () => {
    const environment = extension('one');
    await make(environment);
    expect(environment.lacksExtras).toBe(true);
    process.env['PIP_SAYS'] = 'ERROR: no network';
    await expect(addExtras(environment)).rejects.toThrow();
    expect(environment.isReady).toBe(true);
    delete process.env['PIP_SAYS'];
    await addExtras(environment);
    expect(environment.lacksExtras).toBe(false);
  });

  test('a pip that hangs is cancelled', async () => {
    process.env['PIP_SAYS'] = 'hang';
    const abort = new AbortController();
    const environment = extension('one');
    const making = environment.make([python], abort.signal, (line) => { if (line.startsWith('Installing')) setImmediate(() => { abort.abort(); }); });
    await expect(making).rejects.toThrow();
    expect(environment.isReady).toBe(false);
  });

  test('without a Python that is new enough the error says what is needed', async () => {
    const old = path.join(folder, 'old');
    writeFileSync(old, '#!/bin/sh\necho "3 9"\n');
    chmodSync(old, 0o755);
    const making = extension('one').make([old, path.join(folder, 'none')], new AbortController().signal, () => undefined);
    await expect(making).rejects.toThrow(NoPython);
    await expect(making).rejects.toThrow(/Python 3\.11 or newer/);
  });

  test('a program that the extension includes runs at once, by a path that an environment has, too', async () => {
    const server = withProgram('one');
    expect(server.program).toBe(path.join(folder, 'bundled', 'program', 'bin', 'ullage'));
    const [{ command }] = server.launches();
    expect(realpathSync(command)).toBe(realpathSync(server.program));
    expect(existsSync(path.join(folder, 'bundled', 'pip.log'))).toBe(false);
    expect([server.isReady, server.isOutdated, server.lacksExtras]).toEqual([false, false, true]);
    // What asks models is in an environment, which the same path leads to from then on.
    await addExtras(server);
    expect(server.launches()[0].command).toBe(command);
    expect(realpathSync(command)).not.toBe(realpathSync(path.join(folder, 'bundled', 'program', 'bin', 'ullage')));
    expect(server.launches()).toHaveLength(2);
    expect(server.lacksExtras).toBe(false);
  });

  test('an update with a program takes the place of an environment without models, and is followed by none', async () => {
    const first = extension('one');
    await make(first);
    const { program } = first;
    const second = withProgram('two');
    expect(second.launches()).toHaveLength(1);
    expect(second.isOutdated).toBe(false);
    await second.removeOthers();
    expect(existsSync(program)).toBe(false);
    expect(existsSync(second.program)).toBe(true);
  });

  test('an environment that is made because the program does not start is used', async () => {
    const server = withProgram('one');
    const { program } = server;
    await make(server);
    expect(server.program).not.toBe(program);
  });

  test('an environment that asks models is kept until the one of an update can, too', async () => {
    const first = withProgram('one');
    await addExtras(first);
    const second = withProgram('two');
    const places = second.launches();
    expect(places).toHaveLength(2);
    expect(realpathSync(places[0].command)).toBe(realpathSync(first.program));
    expect(second.isOutdated).toBe(true);

    process.env['PIP_SAYS'] = 'ERROR: no network';
    const renew = (): Promise<void> => second.renew([python], new AbortController().signal, () => undefined);
    await expect(renew()).rejects.toThrow();
    await second.removeOthers();
    expect(second.program).toBe(first.program);

    delete process.env['PIP_SAYS'];
    const { program } = first;
    await renew();
    await second.removeOthers();
    expect(existsSync(program)).toBe(false);
    expect(second.isOutdated).toBe(false);
  });

  test('an environment whose Python is gone is made again', async () => {
    const environment = extension('one');
    await make(environment);
    rmSync(path.join(path.dirname(environment.program), 'python'));
    expect(environment.isReady).toBe(false);
    await make(environment);
    expect(environment.isReady).toBe(true);
  });
});
