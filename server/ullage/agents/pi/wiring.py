"""How Ullage is added to pi: by an extension, since its settings know no hooks, and as an MCP server, which pi has
since 1.0. Measured with 0.73.1 and 1.5.2: a compaction comes after a turn or before a prompt, and its summary is in the
file at once. The extension stores the brief with that prompt. Nothing can be added to the request for its summary: an
extension may only cancel a compaction or replace the whole summary (`SessionBeforeCompactResult` of 1.5.2)."""

from ullage.agents.machine import Machine
from ullage.agents.wiring import McpPlace, SettingsFile, Wiring


def _folder(machine: Machine) -> str:
    return machine.folder("PI_CODING_AGENT_DIR", ".pi/agent")


def _extension(machine: Machine) -> str:
    return f"{_folder(machine)}/extensions/ullage.js"


def _servers(machine: Machine) -> str:
    return f"{_folder(machine)}/mcp.json"


WIRING = Wiring(
    word="pi",
    folder=_folder,
    files=(
        # Otherwise the model only learns that there is a server, and calls its tools from scripts.
        SettingsFile(path=_servers, mcp_server=True, mcp_place=McpPlace(exposure="direct")),
        SettingsFile(path=_extension, syntax="whole", plugin=("plugin_call.js", "pi/plugin.js")),
    ),
    summary_in_file=True,
)
