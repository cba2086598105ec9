"""How Ullage is added to opencode: by a plugin, since its settings know no hooks, and as an MCP server. Measured with
1.18.33: after a compaction the next request is made from the messages in the database, which has the summary by then.
The plugin adds the brief to these messages each time; opencode keeps none of it, so a resumed session asks again. What
the plugin adds to the `context` of a compaction is at the end of the request for the summary."""

from ullage.agents.machine import Machine
from ullage.agents.wiring import McpPlace, SettingsFile, Steering, Wiring


def _folder(machine: Machine) -> str:
    return f"{machine.folder('XDG_CONFIG_HOME', '.config')}/opencode"


def _settings(machine: Machine) -> str:
    return f"{_folder(machine)}/opencode.jsonc"


def _other_settings(machine: Machine) -> tuple[str, ...]:
    """Returns the other files that opencode reads, in the order in which it chooses one to write to."""
    return (f"{_folder(machine)}/opencode.json", f"{_folder(machine)}/config.json")


def _plugin(machine: Machine) -> str:
    return f"{_folder(machine)}/plugin/ullage.js"


WIRING = Wiring(
    word="opencode",
    files=(
        SettingsFile(
            path=_settings,
            instead=_other_settings,
            mcp_server=True,
            mcp_place=McpPlace(key="mcp", kind="local"),
        ),
        SettingsFile(path=_plugin, syntax="whole", plugin=("plugin_call.js", "opencode/plugin.js")),
    ),
    summary_in_file=True,
    # Its own request for a summary has 2,900 characters.
    steering=Steering(characters=4_000, is_answer=True),
)
