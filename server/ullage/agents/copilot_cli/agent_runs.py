"""Separates the conversations in an event log of Copilot CLI: the main one, and one for each sub-agent.

The events of a sub-agent have its id as `agentId`, and in older versions the call that started it as
`parentToolCallId`.
"""

from collections.abc import Iterable, Sequence

from ullage.formats.parsing import Document, Line
from ullage.formats.transcripts.format import Records
from ullage.formats.transcripts.imported import SkippedLine, choose_run
from ullage.model.json_values import as_object, as_text

# Types of records that come before the events: the session's facts, and the id of the conversation that is to be read.
WORKSPACE, CHOSEN = "workspace", "chosen"
_MAIN = ""
# Events about a sub-agent that belong to the conversation that started it.
_OF_PARENT = ("subagent.started", "subagent.completed", "subagent.failed")


def records(document: Document) -> Records:
    """Returns the events of the log, of which the reader takes those of one conversation: the one that `document.run`
    asks for, by default the main one.

    A record with the conversation's id comes before them, and the session's facts from `workspace.yaml`. The other
    conversations are listed as skipped. Raises `InvalidRequest` if there is no such conversation.
    """
    runs: dict[str, list[Line]] = {_MAIN: []}
    names: dict[str, str] = {}
    for line in document.lines:
        run = run_of(line)
        runs.setdefault(run, []).append(line)
        data = as_object((line.value or {}).get("data"))
        for key in (as_text((line.value or {}).get("agentId")), as_text(data.get("toolCallId"))):
            names.setdefault(key, as_text(data.get("agentDisplayName")) or as_text(data.get("agentName")))
    keys = list(runs)
    chosen = keys[choose_run([len(run) for run in runs.values()], document.run or 1, document.name)]
    head = [Line(number=1, value={"type": CHOSEN, "data": {"agentId": chosen}})]
    head += [_facts(companion) for companion in document.companions if chosen == _MAIN]
    others = [(number, key) for number, key in enumerate(keys, start=1) if key != chosen and runs[key]]
    skipped = [_describe(number, names.get(key, ""), runs[key]) for number, key in others]
    return Records(lines=(*head, *document.lines), skipped=tuple(skipped))


def companions(path: str) -> tuple[str, ...]:
    """Returns the path, relative to the log's folder, of the file with the session's facts."""
    return ("workspace.yaml",) if "/session-state/" in path and path.endswith("/events.jsonl") else ()


def _facts(workspace: Document) -> Line:
    """Returns the facts of `workspace.yaml`, a flat file of keys with values, as an event of type `WORKSPACE`."""
    return Line(number=1, value={"type": WORKSPACE, "data": read_pairs(line.text for line in workspace.lines)})


def read_pairs(lines: Iterable[str]) -> dict[str, str]:
    """Returns the keys and values in the lines of a YAML file without nesting, as texts without quotation marks."""
    pairs = (line.partition(":")[::2] for line in lines)
    return {key.strip(): value.strip().strip("\"'") for key, value in pairs}


def run_of(line: Line) -> str:
    """Returns the id of the sub-agent whose conversation an event belongs to; empty for the main conversation."""
    value = line.value or {}
    if as_text(value.get("type")) in _OF_PARENT:
        return _MAIN
    return as_text(value.get("agentId")) or as_text(as_object(value.get("data")).get("parentToolCallId"))


def _describe(number: int, name: str, lines: Sequence[Line]) -> SkippedLine:
    title = name or ("the main conversation" if number == 1 else "a sub-agent")
    return SkippedLine(
        line=lines[0].number, reason=f"run {number}: another conversation: {title}, {len(lines)} events", expected=True
    )
