#!/usr/bin/env bash
# Builds editors/vscode/ullage.vsix and the tests' own extension with the Node.js on PATH, after installing what the
# build needs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root/editors/vscode"

node_modules
need "building the extension" npm run package
mkdir -p test-results
(cd test/e2e/driver && need "building the test extension" \
  ../../../node_modules/.bin/vsce package --no-dependencies --skip-license --allow-missing-repository -o ../../../test-results/driver.vsix)
