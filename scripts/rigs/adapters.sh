#!/usr/bin/env bash
# Installs the agent frameworks that the adapters are tested with, from PyPI, into a virtual environment of their own:
# their versions and those of the checkout's tools exclude each other. --long adds those of which each takes hundreds of
# megabytes: the proxy of LiteLLM, and the Claude Agent SDK with its program. Prints the environment's Python.
#
# adapters.txt pins every package: `uv pip compile --universal --python-version 3.11 - -o scripts/rigs/adapters.txt` of
# the names below.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
pins=$root/scripts/rigs/adapters.txt
own=(msgspec tiktoken platformdirs filelock regex opentelemetry-sdk pytest pytest-asyncio hypothesis)
light=(langchain langgraph openai-agents pydantic-ai-slim)
heavy=(claude-agent-sdk 'litellm[proxy]')

found=$(find_python)
version=$("$found" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
home=$rigs/adapters/$version
want=$(cksum <"$pins")

install() {
  [ -x "$home/bin/python" ] || "$found" -m venv "$home"
  # Of thousands of modules a few hundred are imported, which Python compiles then.
  need "PyPI: $*" "$home/bin/python" -m pip install -q --no-compile --disable-pip-version-check -c "$pins" "$@"
}

patience=900
once "$home/.light" "$want" install "${own[@]}" "${light[@]}"
[ "${1:-}" != --long ] || once "$home/.heavy" "$want" install "${heavy[@]}"
echo "$home/bin/python"
