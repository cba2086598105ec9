/**
 * Makes packages with the server as a program for this machine's platform:
 *
 *     node scripts/package.mjs [PROGRAM]                  ullage.vsix
 *     node scripts/package.mjs [PROGRAM] here universal   ullage-PLATFORM.vsix, and ullage-universal.vsix without a program
 *
 * PROGRAM is the folder that scripts/program.py has made; without it, that runs here. A package also has the server's wheel,
 * of which pip makes an environment where no program is included or models are asked, and the sample conversation. If the
 * program cannot be made, `ullage.vsix` is made without.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

const extension = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const repository = path.resolve(extension, '..', '..');
/** The Python that builds parts of the package: of the repository's .venv (scripts/lib.sh makes it), or else the system's. */
const own = ['.venv/bin/python', '.venv/Scripts/python.exe'].map((file) => path.join(repository, file)).find(existsSync);
const python = own ?? (process.platform === 'win32' ? 'python' : 'python3');

const UNIVERSAL = 'universal';
const HERE = 'here';
const bundled = path.join(extension, 'bundled');
const maker = path.join(repository, 'scripts', 'program.py');

function run(program, ...args) {
  execFileSync(program, args, { cwd: extension, stdio: 'inherit' });
}

/** Builds the server's wheel into `bundled/`, beside the sample conversation. Returns the wheel's file. */
function bundleServer() {
  rmSync(bundled, { recursive: true, force: true });
  mkdirSync(bundled);
  run(python, '-m', 'pip', 'wheel', '--quiet', '--no-deps', '--wheel-dir', bundled, repository);
  cpSync(path.join(repository, 'server/ullage/cli/data/sample.jsonl'), path.join(bundled, 'sample.jsonl'));
  cpSync(path.join(repository, 'protocol/settings.schema.json'), path.join(bundled, 'settings.schema.json'));
  const [wheel] = readdirSync(bundled).filter((name) => name.endsWith('.whl'));
  return path.join(bundled, wheel);
}

/** Makes the program of a wheel. Returns its folder. Throws an Error. */
function makeProgram(wheel) {
  const folder = mkdtempSync(path.join(tmpdir(), 'ullage-packed-'));
  run(python, maker, wheel, folder);
  return path.join(folder, 'ullage');
}

/** Puts the program where an environment would have it, so that its path stays the same when it is one. */
function bundleProgram(wheel, made) {
  const program = made ?? makeProgram(wheel);
  cpSync(program, path.join(bundled, 'program', process.platform === 'win32' ? 'Scripts' : 'bin'), { recursive: true });
  if (!made) rmSync(path.dirname(program), { recursive: true });
}

/**
 * Takes the pictures out of the README of a package. On an extension's page VS Code shows only pictures of web sites: for
 * any other there is an empty frame. The walkthrough shows the package's own.
 */
const WITHOUT_PICTURES = `
import io, re, sys, zipfile

package = sys.argv[1]
before = zipfile.ZipFile(io.BytesIO(open(package, "rb").read()))

with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as after:
    for entry in before.infolist():
        data = before.read(entry)
        if entry.filename.lower() == "extension/readme.md":
            text = re.sub(r"!\\[[^\\]]*\\]\\(images/[^)]+\\)\\n+", "", data.decode())
            if "![" in text:
                sys.exit("a picture is left in the README of the package")
            data = text.encode()
        after.writestr(entry, data)
`;

function pack(file, target) {
  const vsce = path.join(extension, 'node_modules', '@vscode', 'vsce', 'vsce');
  const options = ['--no-dependencies', '--allow-missing-repository', '--no-rewrite-relative-links', '-o', file];
  run(process.execPath, vsce, 'package', ...(target === UNIVERSAL ? [] : ['--target', target]), ...options);
  run(python, '-c', WITHOUT_PICTURES, file);
  process.stdout.write(`${file}: ${(statSync(path.join(extension, file)).size / 1e6).toFixed(1)} MB\n`);
}

function packHere() {
  const wheel = bundleServer();
  try {
    bundleProgram(wheel, made);
    pack('ullage.vsix', platform);
  } catch (error) {
    process.stdout.write(`No program could be made: ${error.message} The extension will have pip make an environment.\n`);
    pack('ullage.vsix', UNIVERSAL);
  }
}

function packFor(target) {
  const wheel = bundleServer();
  if (target === HERE) bundleProgram(wheel, made);
  const name = target === HERE ? platform : UNIVERSAL;
  pack(`ullage-${name}.vsix`, name);
}

const platform = execFileSync(python, [maker, '--here'], { encoding: 'utf8' }).trim() || UNIVERSAL;
const targets = process.argv.slice(2);
const made = targets[0] && existsSync(targets[0]) ? path.resolve(targets.shift()) : undefined;
const unknown = targets.find((target) => ![HERE, UNIVERSAL].includes(target));
if (unknown) throw new Error(`${unknown} is neither ${HERE} nor ${UNIVERSAL}, nor a folder`);
// A package of before would be published with the others.
for (const file of readdirSync(extension)) if (/^ullage-.*\.vsix$/.test(file)) rmSync(path.join(extension, file));
if (targets.length === 0) packHere();
for (const target of targets) packFor(target);
