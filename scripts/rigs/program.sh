#!/usr/bin/env bash
# Makes the server of this checkout as one program, for the tests, and prints the program's file. Does nothing while what
# it is made of has not changed since then. It takes a minute, and on a machine that is busy with tests many.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
results=$root/editors/vscode/test-results

make_program() {
  rm -rf "$results/wheel" &&
    need "the server's wheel" "$python" -m pip wheel -q --no-deps -w "$results/wheel" "$root" &&
    patience=900 need "the server as a program" "$python" "$root/scripts/program.py" "$results"/wheel/*.whl "$results/program"
}

mkdir -p "$results"
made_of=(server pyproject.toml README.md LICENSE scripts/program.py scripts/releasing/frozen_entry.py scripts/constraints.txt)
once "$results/.program" "$(checksum "${made_of[@]}")" make_program >&2
echo "$results/program/ullage/ullage"
