#!/usr/bin/env bash
# Checks the Neovim plugin's Lua: stylua (npm ships its binary) for the format, luacheck for the rest.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

get_stylua() {
  need "npm: stylua" npm install --silent --no-save --prefix "$rigs/stylua" @johnnymorganz/stylua-bin@2.5.2
}

need_apt luacheck lua-check
once "$rigs/.stylua" 2.5.2 get_stylua
cd "$root/editors/nvim"
"$rigs/stylua/node_modules/.bin/stylua" --check .
luacheck --no-color -q .
