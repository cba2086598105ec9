"""How Ullage is added to Qwen Code. Measured with 0.24.4: the answer of the hook `PreCompact` is a part of the
instructions for its summary, of which it takes 4,000 characters. The hook `SessionStart` runs after a compaction, but
its answer reaches no request; so what a compaction left out is given with the prompt after it, when the hook
`UserPromptSubmit` finds another summary in the agent's file. That hook runs at the results of tools as well. Its answer
is a part of the prompt, which the file keeps, so that a resumed session has it, too.
"""

from ullage.agents.machine import Machine
from ullage.agents.wiring import HookPlace, SettingsFile, Steering, Wiring

# Seconds, above `ullage hook`'s own limit of 4.
_TIMEOUT = 5
# The first words of a summary.
_SUMMARY_OPENING = "<state_snapshot>"


def settings_path(machine: Machine) -> str:
    """Returns the path of the file with the user's settings."""
    return f"{machine.folder('QWEN_HOME', '.qwen')}/settings.json"


WIRING = Wiring(
    word="qwen-code",
    files=(
        SettingsFile(
            path=settings_path,
            hooks=(
                HookPlace(event="PreCompact", timeout=_TIMEOUT),
                HookPlace(event="UserPromptSubmit", timeout=_TIMEOUT, arguments=("--mark", _SUMMARY_OPENING)),
                HookPlace(event="Stop", timeout=_TIMEOUT, for_notes=True),
            ),
            mcp_server=True,
        ),
    ),
    summary_in_file=True,
    steering=Steering(characters=4_000, is_answer=True),
)
