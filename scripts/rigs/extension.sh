#!/usr/bin/env bash
# Builds editors/vscode/ullage.vsix, ullage-universal.vsix, which has no program, and the tests' own extension with the
# Node.js on PATH, and installs the first and the last into test-results/extensions, which every window of the tests reads.
# ULLAGE_CODE_SERVER installs them (see vscode.sh). Does nothing while no file of the checkout has changed since then.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root/editors/vscode"

results=$root/editors/vscode/test-results
driver=$results/driver.vsix

# server: its wheel as a program, in $results/program. It takes a minute, and on a machine that is busy with tests many.
server() {
  rm -rf "$results/wheel" &&
    need "the server's wheel" "$python" -m pip wheel -q --no-deps -w "$results/wheel" "$root" &&
    patience=900 need "the server as a program" "$python" "$root/scripts/program.py" "$results"/wheel/*.whl "$results/program"
}

build() {
  need "building the extension" npm run package -- "$results/program/ullage" &&
    need "building it without a program" node scripts/package.mjs universal &&
    (cd test/e2e/driver && need "building the test extension" \
      ../../../node_modules/.bin/vsce package --no-dependencies --skip-license --allow-missing-repository -o "$driver") &&
    rm -rf "$results/extensions" &&
    need "installing both" node "$ULLAGE_CODE_SERVER" --user-data-dir "$results/installer" \
      --extensions-dir "$results/extensions" --install-extension "$PWD/ullage.vsix" --install-extension "$driver"
}

# checksum PATH…: of these files, committed or not. A file that was deleted has no line in it.
checksum() {
  git -C "$root" ls-files -z --cached --others --exclude-standard "$@" |
    (cd "$root" && xargs -0 sha256sum 2>/dev/null || true) | sha256sum
}

node_modules
mkdir -p "$results"
made_of=(server pyproject.toml README.md LICENSE scripts/program.py scripts/releasing/frozen_entry.py scripts/constraints.txt)
once "$results/.program" "$(checksum "${made_of[@]}")" server
once "$results/.built" "$(checksum editors/vscode "${made_of[@]}")" build
