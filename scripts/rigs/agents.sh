#!/usr/bin/env bash
# Installs real agents from npm for the tests of the proxy and of following, each in its own folder:
# ./scripts/rigs/agents.sh [AGENT…] (by default all but grok). The packages of the ACP agents for Claude Code and Codex contain
# these programs themselves. Prints a line "AGENT<TAB>PROGRAM" for each installed agent, and says which could not be installed.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
home=$rigs/agents

# Pinned, because the table in the documents names the measured versions.
package_of() {
  case $1 in
    claude-agent-acp) echo @agentclientprotocol/claude-agent-acp@0.101.0 ;;
    codex-acp) echo @agentclientprotocol/codex-acp@2.6.0 ;;
    opencode) echo opencode-ai@1.18.33 ;;
    gemini) echo @google/gemini-cli@0.61.0 ;;
    pi) echo @earendil-works/pi-coding-agent@1.5.2 ;;
    qwen) echo @qwen-code/qwen-code@0.24.4 ;;
    grok) echo @xai-official/grok@1.0.41 ;;
    *) say "There is no rig for the agent $1." && return 2 ;;
  esac
}

# The agents need a newer Node.js than some systems have.
PATH=$("$root/scripts/rigs/node.sh"):$PATH
[ $# -gt 0 ] || set -- claude-agent-acp codex-acp opencode gemini qwen pi
installing=() missing=()
for agent in "$@"; do
  package=$(package_of "$agent")
  once "$home/$agent/.ready" "$package" npm_install "$home/$agent" "$package" &
  installing+=("$! $agent")
done
for each in "${installing[@]}"; do
  read -r installer agent <<<"$each"
  if wait "$installer"; then
    printf '%s\t%s\n' "$agent" "$home/$agent/node_modules/.bin/$agent"
  else
    missing+=("$agent")
  fi
done
[ ${#missing[@]} = 0 ] || say "Could not be installed: ${missing[*]}"
