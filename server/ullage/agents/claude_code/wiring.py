"""How Ullage is added to Claude Code. Measured with 2.1.197: when it starts a session again after a compaction, neither
the transcript nor a hook of the compaction's own has the summary yet. It is the last message of a sub-agent without a
type, which ends right before; that hook is awaited.

Measured with 2.1.316: a plugin that is installed for the user is named in the user's settings, and its hooks run in
addition to those of the settings."""

import re

import msgspec

from ullage.agents.claude_code.sessions import settings_pattern, state_path
from ullage.agents.machine import Machine
from ullage.agents.wiring import HookPlace, Plugin, SettingsFile, Steering, Wiring
from ullage.model.json_values import as_object

# The model's thoughts before the summary, which its next request does not have.
_ANALYSIS_ENDS = "</analysis>"
_ANALYSIS = re.compile(rf"<analysis>.*?{_ANALYSIS_ENDS}", re.DOTALL)
# Seconds: above `ullage hook`'s own limit of 4, for a machine that is too busy to keep it.
_TIMEOUT = 5


def _summary_in(text: str) -> str:
    # After its last end no analysis is looked for: each beginning would be tried up to the end of the text.
    thoughts, ends, summary = text.rpartition(_ANALYSIS_ENDS)
    return f"{_ANALYSIS.sub('', thoughts + ends)}{summary}".strip()


def _has_plugin(settings: str) -> bool:
    """Says whether a plugin of Ullage's name is on in the user's settings, from whichever marketplace."""
    try:
        enabled = as_object(as_object(msgspec.json.decode(settings)).get("enabledPlugins"))
    except msgspec.DecodeError:
        return False
    return any(name.partition("@")[0] == "ullage" and on is True for name, on in enabled.items())


def _project_settings(machine: Machine) -> tuple[str, ...]:
    folder = f"{machine.cwd}/.claude"
    return (f"{folder}/settings.json", f"{folder}/settings.local.json")


WIRING = Wiring(
    word="claude-code",
    files=(
        SettingsFile(
            path=settings_pattern,
            hooks=(
                HookPlace(event="PreCompact", timeout=_TIMEOUT),
                # What was given back is lost when the session is resumed, so it is given again then.
                HookPlace(event="SessionStart", matcher="compact|resume", timeout=_TIMEOUT),
                HookPlace(event="SubagentStop", timeout=_TIMEOUT),
                HookPlace(event="UserPromptSubmit", timeout=_TIMEOUT),
                HookPlace(event="Stop", timeout=_TIMEOUT, for_notes=True),
            ),
            status_line=True,
        ),
        SettingsFile(path=state_path, mcp_server=True),
    ),
    plugin=Plugin(
        path=settings_pattern,
        is_on=_has_plugin,
        in_projects=_project_settings,
        remedy="claude plugin uninstall ullage",
    ),
    summary_in=_summary_in,
    # Plain output of PreCompact is under "Additional Instructions" in the request for the summary. Seen with
    # 2.1.318, and 6,000 characters of it whole. Its summaries have 6,000 to 12,000, half of them the user's words and
    # the state of the work.
    steering=Steering(characters=6_000),
)
