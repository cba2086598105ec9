#!/usr/bin/env bash
# Installs toad, a client of the Agent Client Protocol in a terminal, with the Python that it needs: unpacks Debian's
# packages into .rigs/toad/, and prints the command that starts it.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$(dirname "$0")/debian.sh"
# Pinned, because the test looks at its screen.
version=0.6.20
home=$rigs/toad

get_toad() {
  rm -rf "$home" && mkdir -p "$home"
  private_apt forky "$home" || return 1
  need "apt: Python 3.14" apt-get "${options[@]}" install -y -qq --download-only --no-install-recommends \
    python3.14-minimal libpython3.14-stdlib libgcc-s1 || return 1
  unpack "$home"
  own_libraries "$home" python3.14 libc.so.6 || return 1
  # Debian's Python has no pip of its own.
  need "pip: pip" python -m pip install -q --target "$home/pip" pip || return 1
  need "pip: batrachian-toad $version" env PYTHONPATH="$home/pip" "$home/bin/python3.14" -m pip install -q \
    --target "$home/packages" --only-binary=:all: "batrachian-toad==$version"
}

prepare dev
need_unpacking toad
once "$rigs/.toad" "$version" get_toad
echo "env PYTHONPATH=$home/packages $home/bin/python3.14 -m toad"
