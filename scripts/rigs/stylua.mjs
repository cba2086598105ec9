// stylua's command line for npm's build of it, which is only a library: node stylua.mjs HOME FOLDER [--check]
// HOME is where it is installed; FOLDER's stylua.toml holds the options.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const [home, folder, mode] = process.argv.slice(2);
const stylua = createRequire(path.join(home, 'package.json'))('@johnnymorganz/stylua');
const ENUMS = {
  call_parentheses: stylua.CallParenType,
  collapse_simple_statement: stylua.CollapseSimpleStatement,
  indent_type: stylua.IndentType,
  line_endings: stylua.LineEndings,
  quote_style: stylua.QuoteStyle,
};

function config() {
  const options = stylua.Config.new();
  for (const [, name, value] of readFileSync(path.join(folder, 'stylua.toml'), 'utf8').matchAll(/^(\w+) = "?(\w+)"?$/gm)) {
    if (options[name] === undefined) throw new Error(`stylua.toml: no option is called ${name}`);
    options[name] = ENUMS[name] ? ENUMS[name][value] : Number(value);
  }
  return options;
}

const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.lua'));
for (const file of names.map((name) => path.join(folder, name))) {
  const text = readFileSync(file, 'utf8');
  const formatted = stylua.formatCode(text, config(), undefined, stylua.OutputVerification.None);
  if (formatted === text) continue;
  if (mode === '--check') {
    console.error(`${path.relative('.', file)} is not formatted; ./scripts/fmt does it`);
    process.exitCode = 1;
  } else writeFileSync(file, formatted);
}
