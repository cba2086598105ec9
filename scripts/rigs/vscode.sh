#!/usr/bin/env bash
# Installs a real VS Code for the tests: code-server (VS Code's workbench, with its extension host on Node.js) and
# Debian's Chromium to show it. Prints as shell assignments ULLAGE_CODE_SERVER (its entry script), ULLAGE_CHROMIUM and
# PATH with the Node.js that runs it. Does nothing the second time.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# code-server 4.139.1 is VS Code 1.139.1.
package=code-server@4.139.1
home=$rigs/vscode
server=$home/node_modules/code-server
node=$("$root/scripts/rigs/node.sh")
export PATH=$node:$PATH

# npm's install scripts of code-server compile a dozen native modules, some of which need headers that Debian has not
# installed. Code-server runs without these modules, so the scripts are skipped, and the links that one of them makes
# are made here. Only VS Code's own log files stay empty, which no test reads.
install_code_server() {
  say "Setting up VS Code in $home (about 500 MB, once)"
  npm_install "$home" --ignore-scripts "$package" || return 1
  cd "$server/lib/vscode"
  need "npm: what the workbench needs" npm install --no-audit --no-fund --omit=dev --ignore-scripts || return 1
  ln -sfn code-linux.sh bin/remote-cli/code-server
  ln -sfn browser-linux.sh bin/helpers/browser.sh
  cd extensions
  need "npm: its built-in extensions" npm install --no-audit --no-fund --omit=dev --ignore-scripts
}

# Symbola has the signs that agents draw in their terminals, which pictures of them need.
need_apt chromium chromium fonts-dejavu-core fonts-symbola
once "$home/.ready" "$package" install_code_server
printf 'export ULLAGE_CODE_SERVER=%q ULLAGE_CHROMIUM=%q PATH=%q:"$PATH"\n' \
  "$server/out/node/entry.js" "$(command -v chromium)" "$node"
