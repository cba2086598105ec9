#!/usr/bin/env bash
# Installs the Agent Client Protocol's official schema and a real client from npm. Prints their node_modules. Does
# nothing the second time.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# sdk 2.4.0 contains schema 1.25.0, the newest stable one.
packages=(@agentclientprotocol/sdk@2.4.0 acpx@0.19.1)
home=$rigs/acp

once "$home/.ready" "${packages[*]}" npm_install "$home" --ignore-scripts "${packages[@]}"
echo "$home/node_modules"
