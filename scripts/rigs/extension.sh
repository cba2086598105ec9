#!/usr/bin/env bash
# Builds editors/vscode/ullage.vsix, ullage-universal.vsix, which has no program, and the tests' own extension with the
# Node.js on PATH, and installs the first and the last into test-results/extensions, which every window of the tests reads.
# ULLAGE_CODE_SERVER installs them (see vscode.sh). Does nothing while no file of the checkout has changed since then.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root/editors/vscode"

results=$root/editors/vscode/test-results
driver=$results/driver.vsix

build() {
  need "building the extension" npm run package -- "$(dirname "$program")" &&
    need "building it without a program" node scripts/package.mjs universal &&
    (cd test/e2e/driver && need "building the test extension" \
      ../../../node_modules/.bin/vsce package --no-dependencies --skip-license --allow-missing-repository -o "$driver") &&
    rm -rf "$results/extensions" &&
    need "installing both" node "$ULLAGE_CODE_SERVER" --user-data-dir "$results/installer" \
      --extensions-dir "$results/extensions" --install-extension "$PWD/ullage.vsix" --install-extension "$driver"
}

node_modules
mkdir -p "$results"
program=$("$root/scripts/rigs/program.sh")
once "$results/.built" "$(checksum editors/vscode)$(cat "$results/.program")" build
