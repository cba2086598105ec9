"""How Ullage is added to Codex. Measured with 0.166 and 0.169: right after a compaction its file has the summary, and
the hook `SessionStart` of source `compact` runs before the next request, after a `/compact` with the next prompt. What
the hook gives back is a developer message that the file keeps, so that a resumed session has it, too.

Codex runs no hook before the user has trusted it. When Codex itself writes `config.toml`, comments stay, but CR LF
becomes LF and a byte order mark goes.
"""

import tomllib
from collections.abc import Collection

from ullage.agents.machine import Machine
from ullage.agents.wiring import Approval, HookInFile, HookPlace, SettingsFile, Wiring
from ullage.model.json_values import as_object

# Variables that say where sessions are. Codex gives an MCP server only a few others, unless its entry names them.
WITHHELD = ("CODEX_HOME", "XDG_DATA_HOME")
# Seconds: above `ullage hook`'s own limit of 4, for a machine that is too busy to keep it.
_TIMEOUT = 5
# The names of events in the keys under which Codex keeps what the user trusts.
_EVENTS = {
    "PreCompact": "pre_compact",
    "SessionStart": "session_start",
    "UserPromptSubmit": "user_prompt_submit",
    "Stop": "stop",
}


def _folder(machine: Machine) -> str:
    return machine.folder("CODEX_HOME", ".codex")


def _hooks_path(machine: Machine) -> str:
    return f"{_folder(machine)}/hooks.json"


def _config_path(machine: Machine) -> str:
    return f"{_folder(machine)}/config.toml"


def _is_trusted(config: str, hooks: Collection[HookInFile]) -> bool:
    """Says whether the user has trusted these hooks. Codex keeps a hash of each under its place; what it hashes is its
    own, so a hook that has changed since is not noticed here."""
    try:
        states = as_object(as_object(tomllib.loads(config.removeprefix("\ufeff")).get("hooks")).get("state"))
    except tomllib.TOMLDecodeError:
        return False
    return all(
        any(as_object(states.get(f"{path}:{place}")).get("trusted_hash") for path in hook.paths)
        for hook in hooks
        if (place := f"{_EVENTS.get(hook.event, hook.event)}:{hook.group}:{hook.number}")
    )


WIRING = Wiring(
    word="codex",
    files=(
        SettingsFile(
            path=_hooks_path,
            hooks=(
                HookPlace(event="PreCompact", timeout=_TIMEOUT),
                HookPlace(event="SessionStart", matcher="compact", timeout=_TIMEOUT),
                HookPlace(event="UserPromptSubmit", timeout=_TIMEOUT),
                HookPlace(event="Stop", timeout=_TIMEOUT, for_notes=True),
            ),
        ),
        SettingsFile(
            path=_config_path,
            syntax="toml",
            mcp_server=True,
            mcp_variables=WITHHELD,
        ),
    ),
    approval=Approval(
        path=_config_path,
        is_given=_is_trusted,
        remedy="start `codex` in a terminal and choose *Trust all and continue* where it asks about hooks",
    ),
    summary_in_file=True,
)
