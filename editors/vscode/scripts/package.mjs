/**
 * Makes packages: `node scripts/package.mjs` makes `ullage.vsix` for this machine; with platforms of VS Code, such as
 * `darwin-arm64`, it makes `ullage-PLATFORM.vsix` for each. `all` stands for every platform that has wheels, and for
 * `universal`, which is for all others.
 *
 * A package includes the server's wheel, the sample conversation and, but for `universal`, the wheels that the server
 * needs. If those for this machine cannot be downloaded, its package is made without them: the extension then fetches
 * them with pip.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import * as path from 'node:path';
import { fileURLToPath } from 'node:url';

const extension = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const repository = path.resolve(extension, '..', '..');
/** The Python that builds parts of the package: of the repository's .venv (scripts/lib.sh makes it), or else the system's. */
const own = ['.venv/bin/python', '.venv/Scripts/python.exe'].map((file) => path.join(repository, file)).find(existsSync);
const python = own ?? (process.platform === 'win32' ? 'python' : 'python3');

const UNIVERSAL = 'universal';
const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64', UNIVERSAL];
const bundled = path.join(extension, 'bundled');
const wheels = path.join(repository, 'scripts', 'core_wheels.py');

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

class NoWheels extends Error {}

/** Fills `bundled/` for a platform, and returns the platform. Throws `NoWheels`. */
function bundle(target) {
  const wheel = bundleServer();
  if (target === UNIVERSAL) return target;
  try {
    run(python, wheels, target, wheel, bundled);
  } catch {
    throw new NoWheels(`The wheels for ${target} could not be had.`);
  }
  return target;
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
  const target = execFileSync(python, [wheels, '--here'], { encoding: 'utf8' }).trim() || UNIVERSAL;
  try {
    pack('ullage.vsix', bundle(target));
  } catch (error) {
    if (!(error instanceof NoWheels)) throw error;
    process.stdout.write(`${error.message} The extension will fetch them with pip.\n`);
    pack('ullage.vsix', bundle(UNIVERSAL));
  }
}

const named = process.argv.slice(2);
const targets = named.includes('all') ? PLATFORMS : named;
const unknown = targets.find((target) => !PLATFORMS.includes(target));
if (unknown) throw new Error(`${unknown} is none of ${PLATFORMS.join(', ')}`);
// A package of before, for a platform that is no longer made, would be published with the others.
for (const file of readdirSync(extension)) if (/^ullage-.*\.vsix$/.test(file)) rmSync(path.join(extension, file));
if (targets.length === 0) packHere();
for (const target of targets) pack(`ullage-${target}.vsix`, bundle(target));
