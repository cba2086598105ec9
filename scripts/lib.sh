# Sourced by the other scripts: prepares the checkout's .venv once, and again when pyproject.toml or the pinned versions
# change.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/.venv
# The folder of a virtual environment's programs. On Windows these scripts run in Git's bash.
case $(uname -s) in
  MINGW* | MSYS* | CYGWIN*) bin=$venv/Scripts python=$venv/Scripts/python.exe ;;
  *) bin=$venv/bin python=$venv/bin/python ;;
esac
cd "$root" || exit 1
# Programs that scripts and tests start read compiled modules, as an installed program does. Without, each of a thousand
# processes would compile the server again, which doubles the processor time of a short command.
unset PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE

say() { printf '%s\n' "$*" >&2; }

# ULLAGE_PYTHON names the interpreter to use if several are installed.
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

# Seconds that a step may take before it counts as failed, also beside many others.
patience=600

# need WHAT COMMAND…: runs a step quietly and with a time limit. Its output is shown if it fails.
need() {
  local what=$1 log status=0
  shift
  log=$(mktemp)
  say "  $what..."
  timeout --kill-after=10 "$patience" "$@" >"$log" 2>&1 || status=$?
  if [ "$status" != 0 ]; then
    tail -n 30 "$log" >&2
    say "$what failed (status $status; 124 means it took over $patience s). Is the network there?"
  fi
  rm -f "$log"
  return "$status"
}

# may_apt: whether Debian packages may be installed. --all allows it, and ULLAGE_APT=1.
may_apt() { [ "${ULLAGE_APT:-}" = 1 ]; }

# need_debian WHY PACKAGE…: installs Debian packages if that is allowed and the user is root; otherwise prints how to.
need_debian() {
  local why=$1
  shift
  if may_apt && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "$why: installing these Debian packages and what they depend on: $*"
    # Scripts that run at the same time take turns. What a package starts must not keep the lock.
    (
      flock 9
      {
        need "apt: package lists" apt-get update -qq &&
          need "apt: $*" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
      } 9>&-
    ) 9<"$root/scripts/lib.sh"
    return
  fi
  say "$why. On Debian: sudo apt-get install --no-install-recommends $*"
  say "As root, ULLAGE_APT=1 before the command lets it do that itself."
  return 1
}

# Debian's python3 has no ensurepip.
make_venv() {
  local found
  found=$(find_python) || return 1
  "$found" -c 'import ensurepip' 2>/dev/null || need_debian "Python's venv module is incomplete" python3-venv || return 1
  "$found" -m venv "$venv"
}

# prepare [group]: installs the package itself (editable) and the named dependency group ("dev", "docs", "lock"), each
# at the version that scripts/lock pinned.
prepare() {
  local group=${1:-} stamp want
  stamp=$venv/.prepared-${group:-run}
  want=$(cat pyproject.toml scripts/constraints.txt | cksum)
  [ -x "$python" ] || make_venv || return 1
  if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
    say "Preparing .venv..."
    "$python" -m pip install -q --upgrade 'pip>=25.1' >&2 || return 1
    "$python" -m pip install -q -c scripts/constraints.txt -e . ${group:+--group "$group"} >&2 || return 1
    printf '%s' "$want" >"$stamp"
  fi
  export PATH=$bin:$PATH
}
