"""Where Claude Code keeps its sessions, how their titles are found, and after how long it deletes them.

It deletes transcripts at its start, by the time of their last change.
"""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from ullage.agents.agent import Retention
from ullage.agents.machine import Machine, first_prompt, last_text
from ullage.agents.session_facts import Facts, common_facts, side_of
from ullage.model.json_values import JsonObject, as_object, as_text

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9-]")
# A compaction, in early versions without a boundary, and the answer to `/context`, which says the window.
MARKS = (b'"compact_boundary"', b'"isCompactSummary"', b"**Tokens:**")
_SESSION_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SUB_AGENTS = "*/subagents/**/agent-*.jsonl"
# Characters. The folder of a longer path has a hash after so many.
_LONGEST_NAME = 200


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for Claude Code's session files, in a folder per project, and for the files of sub-agents.

    Versions up to 2.1 write sub-agents' files (`agent-*.jsonl`) into the project's folder. Sub-agents of a workflow
    have a folder of their own in `subagents`. Claude Desktop's Cowork gives each of its sessions a home of its own.
    """
    cowork = f"{machine.settings}/Claude/local-agent-mode-sessions/*/*/local_*/.claude"
    places = [f"{home}/projects/*" for home in (_home(machine), cowork)]
    return tuple(f"{place}/{files}" for place in places for files in ("*.jsonl", _SUB_AGENTS))


def project_pattern(machine: Machine, cwd: str) -> str:
    """Returns a glob pattern for the folder in which Claude Code keeps the sessions of the project at `cwd`.

    Each character of the path other than letters, digits and `-` becomes `-`. Longer names than 200 characters are cut
    and end in a hash, for which the pattern has a wildcard.
    """
    name = _NOT_IN_NAMES.sub("-", cwd)
    name = f"{name[:_LONGEST_NAME]}-*" if len(name) > _LONGEST_NAME else name
    return f"{_home(machine)}/projects/{name}"


def settings_pattern(machine: Machine) -> str:
    """Returns a glob pattern for the file with the user's settings."""
    return f"{_home(machine)}/settings.json"


def state_path(machine: Machine) -> str:
    """Returns the path of the file that Claude Code keeps its state in, and the user's MCP servers."""
    return f"{machine.folder('CLAUDE_CONFIG_DIR', '')}/.claude.json"


def running_patterns(machine: Machine) -> tuple[str, ...]:
    """Returns a glob pattern for the files that exist while Claude Code runs: `PID.json` with its `pid`, `sessionId`,
    `cwd` and `status`."""
    return (f"{_home(machine)}/sessions/*.json",)


def companions(path: str) -> tuple[str, ...]:
    """Returns a glob pattern, relative to a session file's folder, for the files of the session's sub-agents. Empty if
    the path is not that of a session file."""
    session = _session_in(path)
    return (f"{session}/subagents/**/agent-*.jsonl",) if session else ()


def kept_beside(path: str) -> tuple[str, ...]:
    """Returns a glob pattern for all files in the folder of a session: sub-agents' and long results of tools. Empty if
    the path is not that of a session file."""
    session = _session_in(path)
    return (f"{session}/**/*",) if session else ()


def _session_in(path: str) -> str:
    file = PurePosixPath(path)
    return file.stem if file.suffix == ".jsonl" and _SESSION_ID.fullmatch(file.stem) else ""


def is_sub_agent(path: str) -> bool:
    """Returns whether a file is a sub-agent's: its name begins with `agent-`."""
    return path.rpartition("/")[2].startswith("agent-")


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session or of a sub-agent's conversation. The name of a sub-agent's file has its id, and
    the folder around `subagents` is named after the session that started it, also if that was by a workflow."""
    facts = common_facts(path, records)
    if not is_sub_agent(path):
        return facts
    file = PurePosixPath(path)
    parent = next((folder.parent.name for folder in file.parents if folder.name == "subagents"), "")
    return side_of(facts, file.name.partition(".")[0].removeprefix("agent-"), parent)


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns a session's title from these of its records: the user's, else the model's, else the first line of the
    first prompt. Empty if they have none of these."""
    known = {as_text(record.get("uuid")) for record in records}
    # A summary that belongs to a line of another file is the title of another conversation.
    own = [record for record in records if record.get("type") == "summary" and as_text(record.get("leafUuid")) in known]
    named = last_text(records, "customTitle") or last_text(records, "aiTitle") or last_text(own, "summary")
    typed = (record for record in records if record.get("type") == "user" and record.get("isMeta") is not True)
    said = [as_object(record.get("message")) for record in typed]
    return named or first_prompt(message.get("content") for message in said)


def _home(machine: Machine) -> str:
    return machine.folder("CLAUDE_CONFIG_DIR", ".claude")


def _retention_files(machine: Machine) -> tuple[str, ...]:
    return (settings_pattern(machine),)


def _days_in(settings: JsonObject) -> float | None:
    days = settings.get("cleanupPeriodDays")
    return float(days) if isinstance(days, int | float) and not isinstance(days, bool) else None


# The default is in the documentation ("Settings"). A period of 0 makes Claude Code write no transcripts at all, so a
# hundred years are what "never" is.
RETENTION = Retention(patterns=_retention_files, days_in=_days_in, default=30, setting='"cleanupPeriodDays": 36500')
