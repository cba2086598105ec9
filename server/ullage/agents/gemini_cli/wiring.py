"""How Ullage is added to Gemini CLI. Measured with 0.61: it compresses after its hook `BeforeAgent`, and the hook
`PreCompress` runs at every prompt, whether it compresses or not. So what a compression left out is given with the
prompt after it, when the hook `BeforeAgent` finds another summary in the agent's file. It is a part of that prompt,
which the file keeps, so that a resumed session has it, too."""

from ullage.agents.gemini_cli.compaction_settings import settings_path
from ullage.agents.wiring import HookPlace, SettingsFile, Wiring

# Milliseconds: above `ullage hook`'s own limit of 4 seconds, for a machine that is too busy to keep it.
_TIMEOUT = 5_000
# The first words of a summary.
_SUMMARY_OPENING = "<state_snapshot>"

WIRING = Wiring(
    word="gemini-cli",
    files=(
        SettingsFile(
            path=settings_path,
            hooks=(HookPlace(event="BeforeAgent", timeout=_TIMEOUT, arguments=("--mark", _SUMMARY_OPENING)),),
            mcp_server=True,
        ),
    ),
    summary_in_file=True,
)
