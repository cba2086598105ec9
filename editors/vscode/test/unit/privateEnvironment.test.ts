/** The private environment, with a Python that is a shell script: what it makes, keeps and says, not what pip fetches. */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';
import type { LogOutputChannel } from 'vscode';

import { NoPython, PrivateEnvironment } from '../../src/privateEnvironment';

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
function extension(content: string): PrivateEnvironment {
  const bundled = path.join(folder, 'bundled');
  mkdirSync(bundled, { recursive: true });
  writeFileSync(path.join(bundled, WHEEL), content);
  const log = { info: () => undefined } as unknown as LogOutputChannel;
  return new PrivateEnvironment(path.join(folder, 'storage'), bundled, log);
}

const make = (environment: PrivateEnvironment, signal = new AbortController().signal): Promise<void> =>
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
  expect(first.linkedProgram()).toBe(first.program);
  await make(first);
  const [linked, { program }] = [first.linkedProgram(), first];
  expect(linked).not.toBe(program);
  expect(realpathSync(linked)).toBe(realpathSync(program));

  const second = extension('two');
  process.env['PIP_SAYS'] = 'ERROR: no network';
  await expect(make(second)).rejects.toThrow();
  expect(second.linkedProgram()).toBe(linked);
  expect(realpathSync(linked)).toBe(realpathSync(program));

  delete process.env['PIP_SAYS'];
  await make(second);
  expect(second.linkedProgram()).toBe(linked);
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
  expect(realpathSync(environment.linkedProgram())).toBe(realpathSync(environment.program));
  unlinkSync(link);
  mkdirSync(path.join(link, 'taken'), { recursive: true });
  expect(environment.linkedProgram()).toBe(environment.program);
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
  await expect(environment.addExtras(new AbortController().signal)).rejects.toThrow();
  expect(environment.isReady).toBe(true);
  delete process.env['PIP_SAYS'];
  await environment.addExtras(new AbortController().signal);
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
