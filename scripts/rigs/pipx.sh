#!/usr/bin/env bash
# Installs pipx, with which a new user installs the server, and prints the folder that holds it. Does nothing the second
# time.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
home=$rigs/pipx

get_pipx() {
  "$(find_python)" -m venv "$home/venv"
  need "pip: pipx" "$home/venv/bin/python" -m pip install -q pipx
  mkdir -p "$home/bin"
  ln -sfn "$home/venv/bin/pipx" "$home/bin/pipx"
}

prepare dev
once "$rigs/.pipx" 1 get_pipx
echo "$home/bin"
