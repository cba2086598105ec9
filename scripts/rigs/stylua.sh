#!/usr/bin/env bash
# Formats the Neovim plugin's Lua, or with --check names the files that are not formatted. Uses stylua on PATH, or npm's
# build of it, which --get installs first. Status 3: neither is installed.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
package=@johnnymorganz/stylua@2.5.2
home=$rigs/stylua
folder=$root/editors/nvim

case ${1:-} in
  --get) command -v stylua >/dev/null || once "$home/.ready" "$package" npm_install "$home" "$package" ;;
  *)
    if command -v stylua >/dev/null; then
      exec stylua "$@" "$folder"
    elif [ -e "$home/.ready" ]; then
      exec node "$root/scripts/rigs/stylua.mjs" "$home" "$folder" "$@"
    fi
    say "There is no stylua; ./scripts/rigs/stylua.sh --get installs it."
    exit 3
    ;;
esac
