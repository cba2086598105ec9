#!/usr/bin/env bash
# Node.js for the editor tests, from npm's own `node` package, and a current npm beside it: the same on every machine,
# whatever the system has. Prints the folder to put first on PATH. Does nothing the second time.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# 24 is what the rig's VS Code runs on.
packages=(node@24 npm@11)
home=$rigs/node

install_node() {
  say "Setting up Node.js in $home (about 200 MB, once)"
  need_apt npm nodejs npm || return 1
  cd "$home"
  echo '{"private": true}' >package.json
  # The system's npm may be old: it installs npm and Node, and is not used again. Node's binary comes by an install script.
  need "npm: ${packages[*]}" npm install --no-audit --no-fund "${packages[@]}"
}

once "$home/.ready" "${packages[*]}" install_node
echo "$home/node_modules/.bin"
