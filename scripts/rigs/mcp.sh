#!/usr/bin/env bash
# Installs the Model Context Protocol's official inspector from npm, and gets the schema of the registry's entries from
# the address that server.json names. Prints the folder. Does nothing the second time.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

package=@modelcontextprotocol/inspector@2.12.0
schema=$(sed -n 's/.*"\$schema": *"\(https:[^"]*\)".*/\1/p' "$root/server.json")
home=$rigs/mcp

get_schema() {
  need "$schema" curl --fail --silent --show-error --location --output "$home/server.schema.json" "$schema"
}

PATH=$("$root/scripts/rigs/node.sh"):$PATH
once "$home/.ready" "$package" npm_install "$home" --ignore-scripts "$package"
# Not every network lets it through; its test is left out then.
once "$home/.schema" "$schema" get_schema || say "The schema of server.json could not be fetched."
echo "$home"
