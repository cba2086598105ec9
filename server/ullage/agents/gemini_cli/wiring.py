"""How Ullage is added to Gemini CLI. Measured with 0.61: it compresses after its hook `BeforeAgent`, and the hook
`PreCompress` runs at every prompt, whether it compresses or not. So what a compression left out is given with the
prompt after it, when the hook `BeforeAgent` finds another summary in the agent's file. It is a part of that prompt,
which the file keeps, so that a resumed session has it, too. `AfterAgent` runs when the answer is in the file.

An extension's hooks run in addition to those of the settings. If both name one MCP server, the model gets its words
twice.
"""

import msgspec

from ullage.agents.gemini_cli.compaction_settings import settings_path
from ullage.agents.machine import Machine
from ullage.agents.wiring import HookPlace, Plugin, SettingsFile, Wiring
from ullage.model.json_values import as_list, as_object

# Milliseconds: above `ullage hook`'s own limit of 4 seconds, for a machine that is too busy to keep it.
_TIMEOUT = 5_000
# The first words of a summary.
_SUMMARY_OPENING = "<state_snapshot>"


def _extensions_path(machine: Machine) -> str:
    return f"{settings_path(machine).removesuffix('settings.json')}extensions/extension-enablement.json"


def _has_extension(enablement: str) -> bool:
    """Says whether an extension of Ullage's name is on in some folder. Each rule is a folder, after `!` one in which it
    is off."""
    try:
        extensions = as_object(msgspec.json.decode(enablement))
    except msgspec.DecodeError:
        return False
    rules = as_list(as_object(extensions.get("ullage")).get("overrides"))
    return any(isinstance(rule, str) and not rule.startswith("!") for rule in rules)


WIRING = Wiring(
    word="gemini-cli",
    files=(
        SettingsFile(
            path=settings_path,
            hooks=(
                HookPlace(event="BeforeAgent", timeout=_TIMEOUT, arguments=("--mark", _SUMMARY_OPENING)),
                HookPlace(event="AfterAgent", timeout=_TIMEOUT, for_notes=True),
            ),
            mcp_server=True,
        ),
    ),
    plugin=Plugin(path=_extensions_path, is_on=_has_extension, remedy="gemini extensions uninstall ullage"),
    summary_in_file=True,
)
