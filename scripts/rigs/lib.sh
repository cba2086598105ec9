# Sourced by the rigs beside it: where real editors are kept, and how a step of setting them up is bounded and told.

source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"
# One folder for several checkouts spares them the download.
rigs=${ULLAGE_RIGS:-$root/.rigs}
# Longest a download may take before we say that it cannot be had, seconds.
patience=300

# need WHAT COMMAND…: runs a step quietly and within bounds; its output is shown when it fails.
need() {
  local what=$1 log status=0
  shift
  log=$(mktemp)
  say "  $what..."
  timeout --kill-after=10 "$patience" "$@" >"$log" 2>&1 || status=$?
  if [ "$status" != 0 ]; then
    tail -n 30 "$log" >&2
    say "Cannot set up the rig: $what failed (status $status; 124 means it took over $patience s). Is the network there?"
  fi
  rm -f "$log"
  return "$status"
}

# need_apt COMMAND PACKAGE…: installs Debian packages unless the command is there already.
need_apt() {
  local command=$1
  shift
  command -v "$command" >/dev/null && return
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    say "The rig needs $command. On Debian: sudo apt-get install --no-install-recommends $*"
    return 1
  fi
  need "apt: package lists" apt-get update -qq || return 1
  need "apt: $*" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
}

# once STAMP WANT COMMAND…: runs the command unless it has succeeded before for the same WANT.
# The lock lets checkouts and test processes that share the folder take turns.
once() {
  local stamp=$1 want=$2
  shift 2
  mkdir -p "$(dirname "$stamp")"
  (
    flock 9
    [ "$(cat "$stamp" 2>/dev/null)" = "$want" ] && exit 0
    "$@" || exit 1
    printf '%s' "$want" >"$stamp"
  ) 9>"$stamp.lock"
}

# node_modules: what the extension is built and checked with, from its lock file.
node_modules() {
  once "$root/editors/vscode/node_modules/.ready" "$(sha256sum <"$root/editors/vscode/package-lock.json")" \
    need "npm: the extension's tools" npm --prefix "$root/editors/vscode" ci --no-audit --no-fund
}
