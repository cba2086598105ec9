#!/usr/bin/env bash
# Gets every tool of the tests, several at a time: ./scripts/rigs/all.sh --all, or --long with further ones. Does nothing
# the second time. Status 1: one could not be had.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
rig=$root/scripts/rigs

getting=()
# get COMMAND…: begins to get a tool. What waits for the network leaves the processors to the others.
get() {
  "$@" >/dev/null &
  getting+=($!)
}
# What has begun is not interrupted with the script.
trap 'kill "${getting[@]}" 2>/dev/null || true' EXIT

editors() {
  "$rig/nvim.sh" 0.11 0.12
  "$rig/helix.sh"
  [ "$1" != --long ] || "$rig/toad.sh"
}

debian_packages() {
  need_apt tmux tmux
  need_apt cc gcc libc6-dev
  need_apt emacs emacs-nox
  # Debian keeps the server's programs out of PATH.
  compgen -G '/usr/lib/postgresql/*/bin/initdb' || need_apt initdb postgresql
}

prepare dev
# Most others need it.
PATH=$("$rig/node.sh"):$PATH
get node_modules
get editors "$1"
get "$rig/acp.sh"
get "$rig/mcp.sh"
get "$rig/agents.sh"
[ "$1" != --long ] || get "$rig/agents.sh" grok
get "$rig/adapters.sh" "$1"
get "$rig/vscode.sh"
get debian_packages
status=0
for each in "${getting[@]}"; do wait "$each" || status=1; done
getting=()
exit "$status"
