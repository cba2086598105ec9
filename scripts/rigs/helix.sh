#!/usr/bin/env bash
# Installs a real Helix outside the system: unpacks Debian's package in .rigs/helix/ and prints the binary's path. The
# system's own package database is not changed.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/debian.sh"

get_helix() {
  local folder=$rigs/helix
  rm -rf "$folder" && mkdir -p "$folder"
  private_apt trixie "$folder" || return 1
  need "apt: Helix" apt-get "${options[@]}" install -y -qq --download-only --no-install-recommends hx libgcc-s1 || return 1
  unpack "$folder"
  own_libraries "$folder" hx libm.so.6
}

prepare dev
need_unpacking Helix
once "$rigs/.helix" 1 get_helix
echo "$rigs/helix/bin/hx"
