"""What Ullage knows about Claude Code: where its sessions are, what it does behind the proxy, and how
Ullage is added to it.

Behind the proxy, its ACP adapter adds the model's and the tool's name in `_meta`.

Measured with 2.1.197: when it starts a session again after a compaction, neither the transcript nor a hook of the
compaction's own has the summary yet. It is the last message of a sub-agent without a type, which ends right before;
that hook is awaited.

Measured with 2.1.316: a plugin that is installed for the user is named in the user's settings, and its hooks run in
addition to those of the settings.

It deletes transcripts at its start, by the time of their last change.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec

from ullage.agents.agent import AcpAgent, Agent, Processes, Retention, Sessions, first_prompt, last_text
from ullage.agents.claude_code.compaction import OWN_CONTEXT, SETTINGS
from ullage.agents.claude_code.entries import mark_of
from ullage.agents.claude_code.reader import FORMAT, MARKS
from ullage.agents.claude_code.session_writer import WRITER
from ullage.agents.machine import Machine
from ullage.agents.wiring import GuideForm, HookPlace, HooksOff, Plugin, SettingsFile, Wiring
from ullage.model.json_values import JsonObject, as_list, as_object, as_text

_SESSION_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SUB_AGENTS = "*/subagents/**/agent-*.jsonl"


def _patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for Claude Code's session files, in a folder per project, and for the files of sub-agents.

    Versions up to 2.1 write sub-agents' files (`agent-*.jsonl`) into the project's folder. Sub-agents of a workflow
    have a folder of their own in `subagents`. Claude Desktop's Cowork gives each of its sessions a home of its own, and
    that of its agent lies one folder deeper. Some versions 1.0 had their home in `~/.config`.
    """
    cowork = f"{machine.settings}/Claude/local-agent-mode-sessions/*/*"
    desktop = (f"{cowork}/local_*/.claude", f"{cowork}/agent/local_*/.claude")
    places = [f"{home}/projects/*" for home in (_home(machine), machine.folder("", ".config/claude"), *desktop)]
    return tuple(f"{place}/{files}" for place in places for files in ("*.jsonl", _SUB_AGENTS))


def _settings_pattern(machine: Machine) -> str:
    return f"{_home(machine)}/settings.json"


def running_patterns(machine: Machine) -> tuple[str, ...]:
    """Returns a glob pattern for the files that exist while Claude Code runs: `PID.json` with its `pid`, `sessionId`,
    `cwd` and `status`."""
    return (f"{_home(machine)}/sessions/*.json",)


def _companions(path: str) -> tuple[str, ...]:
    session = _session_in(path)
    return (f"{session}/subagents/**/agent-*.jsonl",) if session else ()


def _kept_beside(path: str) -> tuple[str, ...]:
    # Sub-agents' files, and long results of tools.
    session = _session_in(path)
    return (f"{session}/**/*",) if session else ()


def _session_in(path: str) -> str:
    file = PurePosixPath(path)
    return file.stem if file.suffix == ".jsonl" and _SESSION_ID.fullmatch(file.stem) else ""


def _side(path: str) -> tuple[str, str] | None:
    # It is asked of thousands of files.
    if "/agent-" not in path or not (file := PurePosixPath(path)).name.startswith("agent-"):
        return None
    # The folder around `subagents` is named after the session that started it, also if that was by a workflow.
    parent = next((folder.parent.name for folder in file.parents if folder.name == "subagents"), "")
    return file.name.partition(".")[0].removeprefix("agent-"), parent


def _title_of(records: Sequence[JsonObject]) -> str:
    # The user's, else the model's.
    known = {as_text(record.get("uuid")) for record in records}
    # A summary that belongs to a line of another file is the title of another conversation.
    own = [record for record in records if record.get("type") == "summary" and as_text(record.get("leafUuid")) in known]
    named = last_text(records, "customTitle") or last_text(records, "aiTitle") or last_text(own, "summary")
    typed = (record for record in records if record.get("type") == "user" and mark_of(record) is None)
    said = [as_object(record.get("message")) for record in typed]
    return named or first_prompt(message.get("content") for message in said)


def _home(machine: Machine) -> str:
    return machine.folder("CLAUDE_CONFIG_DIR", ".claude")


def _days_in(settings: JsonObject) -> float | None:
    days = settings.get("cleanupPeriodDays")
    return float(days) if isinstance(days, int | float) and not isinstance(days, bool) else None


# The default is in the documentation ("Settings"). A period of 0 makes Claude Code write no transcripts at all, so a
# hundred years are what "never" is.
RETENTION = Retention(
    patterns=lambda machine: (_settings_pattern(machine),),
    days_in=_days_in,
    default=30,
    setting='"cleanupPeriodDays": 36500',
)


def _tool(call: Mapping[str, Any]) -> str:
    return as_text(as_object(as_object(call.get("_meta")).get("claudeCode")).get("toolName"))


ACP = AcpAgent(
    compact_command="compact",
    model_in_usage=lambda update: as_text(as_object(update.get("_meta")).get("_claude/model")),
    tool_in_call=_tool,
    # To a client without ACP's updates of compactions, the adapter reports one as a call of this tool.
    compaction_call=lambda update: _tool(update) == "compact",
)

# The model's thoughts before the summary, which its next request does not have.
_ANALYSIS_ENDS = "</analysis>"
_ANALYSIS = re.compile(rf"<analysis>.*?{_ANALYSIS_ENDS}", re.DOTALL)


def _summary_in(text: str) -> str:
    # After its last end no analysis is looked for: each beginning would be tried up to the end of the text.
    thoughts, ends, summary = text.rpartition(_ANALYSIS_ENDS)
    return f"{_ANALYSIS.sub('', thoughts + ends)}{summary}".strip()


def _has_plugin(settings: str) -> bool:
    """Says whether a plugin of Ullage's name is on in the user's settings, from whichever marketplace."""
    try:
        enabled = as_object(as_object(msgspec.json.decode(settings)).get("enabledPlugins"))
    except (msgspec.DecodeError, RecursionError):
        return False
    return any(name.partition("@")[0] == "ullage" and on is True for name, on in enabled.items())


def _project_settings(machine: Machine) -> tuple[str, ...]:
    return machine.in_project(".claude/settings.json", ".claude/settings.local.json")


def _managed_settings(machine: Machine) -> tuple[tuple[str, ...], ...]:
    """Returns the sources of an organisation's settings, as Anthropic's docs have their order ("Deploy managed
    settings"): its server, what administrators have set, the files of this machine, and what users may set."""
    managed = machine.for_all_users("claude-code", "ClaudeCode", "Program Files/ClaudeCode")
    # Names and places of 2.1.318, which reads the profile of the user before that of the machine.
    profile, policy = "com.anthropic.claudecode.plist", "SOFTWARE/Policies/ClaudeCode/Settings"
    user = PurePosixPath(machine.home).name
    profiles = (f"/Library/Managed Preferences/{user}/{profile}", f"/Library/Managed Preferences/{profile}")
    return (
        (_settings_pattern(machine).replace("settings.json", "remote-settings.json"),),
        *(((f"HKLM/{policy}",),) if machine.system == "win32" else ()),
        *([(one,) for one in profiles] if machine.system == "darwin" else ()),
        (f"{managed}/managed-settings.json", f"{managed}/managed-settings.d/*.json"),
        *(((f"HKCU/{policy}",),) if machine.system == "win32" else ()),
    )


def _hooks_off_by(path: str, settings: JsonObject) -> str | None:
    """Says what keeps hooks of the user's settings from running, as the descriptions of these settings in 2.1.318 have
    it. The last two count in managed settings alone."""
    if PurePosixPath(path).name not in ("settings.json", "settings.local.json"):
        locked = settings.get("strictPluginOnlyCustomization")
        if locked is True or "hooks" in as_list(locked):
            return "strictPluginOnlyCustomization"
        if settings.get("allowManagedHooksOnly") is True:
            return "allowManagedHooksOnly"
    is_off = settings.get("disableAllHooks")
    return None if is_off is None else "" if is_off in (False, "false") else "disableAllHooks"


WIRING = Wiring(
    word="claude-code",
    files=(
        SettingsFile(
            path=_settings_pattern,
            hooks=(
                HookPlace(event="PreCompact"),
                # What was given back is lost when the session is resumed, so it is given again then.
                HookPlace(event="SessionStart", matcher="compact|resume"),
                HookPlace(event="SubagentStop"),
                HookPlace(event="UserPromptSubmit"),
                HookPlace(event="Stop", for_notes=True),
            ),
            status_line=True,
        ),
        # The file in which it keeps its state has the user's MCP servers, too.
        SettingsFile(path=lambda machine: f"{machine.folder('CLAUDE_CONFIG_DIR', '')}/.claude.json", mcp_server=True),
    ),
    plugin=Plugin(
        path=_settings_pattern,
        is_on=_has_plugin,
        in_projects=_project_settings,
        remedy="claude plugin uninstall ullage",
    ),
    hooks_off=HooksOff(
        layers=lambda machine: (_settings_pattern(machine), *_project_settings(machine)),
        off_by=_hooks_off_by,
        managed=_managed_settings,
    ),
    summary_in=_summary_in,
    # Plain output of PreCompact is under "Additional Instructions" in the request for the summary. Seen with
    # 2.1.318, and 6,000 characters of it whole. Its summaries have 6,000 to 12,000, half of them the user's words and
    # the state of the work.
    guide=GuideForm(characters=6_000),
)

AGENT = Agent(
    name="Claude Code",
    short="CC",
    formats=(FORMAT,),
    companions=_companions,
    kept_beside=_kept_beside,
    sessions=Sessions(patterns=_patterns, title_of=_title_of, side=_side, marks=MARKS),
    processes=Processes(patterns=running_patterns),
    session_variable="CLAUDE_CODE_SESSION_ID",
    folder_variable="CLAUDE_PROJECT_DIR",
    writer=WRITER,
    retention=RETENTION,
    own_context=OWN_CONTEXT,
    own_settings=SETTINGS,
    takes_focus=True,
    acp=ACP,
    wiring=WIRING,
)
