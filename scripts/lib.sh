# Sourced by the scripts beside it: prepares the checkout's .venv once, and again when pyproject.toml changes.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
# A virtual environment's programs; on Windows these scripts run in Git's bash.
case $(uname -s) in
  MINGW* | MSYS* | CYGWIN*) bin=$venv/Scripts python=$venv/Scripts/python.exe ;;
  *) bin=$venv/bin python=$venv/bin/python ;;
esac
cd "$root" || exit 1

say() { printf '%s\n' "$*" >&2; }

# ULLAGE_PYTHON names the interpreter to use, of several that are installed.
find_python() {
  local name
  for name in ${ULLAGE_PYTHON:+"$ULLAGE_PYTHON"} python3.14 python3.13 python3.12 python3.11 python3 python; do
    if command -v "$name" >/dev/null && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
  say "Ullage needs Python 3.11 or newer; none is on PATH. On Debian: apt-get install python3 python3-venv"
  return 1
}

# Debian's python3 comes without ensurepip; as root we can add it, otherwise say how.
make_venv() {
  local found
  found=$(find_python) || return 1
  if ! "$found" -c 'import ensurepip' 2>/dev/null; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      say "Installing python3-venv..."
      { apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv; } >&2 || return 1
    else
      say "Python's venv module is incomplete. On Debian: sudo apt-get install python3-venv"
      return 1
    fi
  fi
  "$found" -m venv "$venv"
}

# prepare [group]: the package itself (editable) and the dependency group named ("dev", "bench").
prepare() {
  local group=${1:-} stamp want
  stamp=$venv/.prepared-${group:-run}
  want=$(cksum <"$root/pyproject.toml")
  [ -x "$python" ] || make_venv || return 1
  if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
    say "Preparing .venv..."
    "$python" -m pip install -q --upgrade 'pip>=25.1' >&2 || return 1
    "$python" -m pip install -q -e . ${group:+--group "$group"} >&2 || return 1
    printf '%s' "$want" >"$stamp"
  fi
  export PATH=$bin:$PATH
}
