#!/usr/bin/env bash
# Installs Node.js for the editor tests from npm's own `node` package, and a current npm: the same on every machine,
# independent of the system. Prints the folder to put first on PATH. Does nothing the second time.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The rig's VS Code runs on Node.js 24.
packages=(node@24 npm@11)
home=$rigs/node

install_node() {
  say "Setting up Node.js in $home (about 200 MB, once)"
  need_apt npm nodejs npm || return 1
  # The system's npm may be old. It only installs npm and Node. Node's binary comes by an install script.
  npm_install "$home" "${packages[@]}"
}

once "$home/.ready" "${packages[*]}" install_node
echo "$home/node_modules/.bin"
