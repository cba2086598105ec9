"""What Ullage knows about Claude Code: what it does behind the proxy, and how Ullage is added to it.

Behind the proxy, its ACP adapter adds the model's and the tool's name in `_meta`.

Measured with 2.1.197: when it starts a session again after a compaction, neither the transcript nor a hook of the
compaction's own has the summary yet. It is the last message of a sub-agent without a type, which ends right before;
that hook is awaited.

Measured with 2.1.316: a plugin that is installed for the user is named in the user's settings, and its hooks run in
addition to those of the settings.
"""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from ullage.agents.agent import AcpAgent, Agent, Sessions
from ullage.agents.claude_code.compaction import OWN_CONTEXT, SETTINGS
from ullage.agents.claude_code.entries import INSERTED
from ullage.agents.claude_code.log import FORMAT
from ullage.agents.claude_code.session_writer import WRITER
from ullage.agents.claude_code.sessions import (
    MARKS,
    RETENTION,
    companions,
    facts_of,
    is_sub_agent,
    kept_beside,
    patterns,
    running_patterns,
    settings_pattern,
    state_path,
    title_of,
)
from ullage.agents.machine import Machine
from ullage.agents.running import Processes, running_in_record
from ullage.agents.wiring import HookPlace, Plugin, SettingsFile, Steering, Wiring
from ullage.model.json_values import as_object, as_text


def _model(update: Mapping[str, Any]) -> str:
    return as_text(as_object(update.get("_meta")).get("_claude/model"))


def _tool(call: Mapping[str, Any]) -> str:
    return as_text(as_object(as_object(call.get("_meta")).get("claudeCode")).get("toolName"))


def _compaction_call(update: Mapping[str, Any]) -> bool:
    # To a client without ACP's updates of compactions, the adapter reports one as a call of this tool.
    return _tool(update) == "compact"


ACP = AcpAgent(compact_command="compact", model_in_usage=_model, tool_in_call=_tool, compaction_call=_compaction_call)

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

AGENT = Agent(
    name="Claude Code",
    short="CC",
    formats=(FORMAT,),
    companions=companions,
    kept_beside=kept_beside,
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of, is_sub_agent=is_sub_agent, marks=MARKS),
    processes=Processes(patterns=running_patterns, running_in=running_in_record),
    session_variable="CLAUDE_CODE_SESSION_ID",
    folder_variable="CLAUDE_PROJECT_DIR",
    writer=WRITER,
    retention=RETENTION,
    own_context=OWN_CONTEXT,
    own_settings=SETTINGS,
    takes_focus=True,
    acp=ACP,
    inserted=INSERTED,
    wiring=WIRING,
)
