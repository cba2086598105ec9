"""What files of Claude Code record, for the state bench; nothing is shared with Ullage.

Records become `Event`s in the order of the file: what a user typed, what the agent said, calls with their results, and
the agent's own compactions. Records of side chains (sub-agents) and of branches that a user has abandoned are left
out. What the program puts into a user's turn is not typed: reminders, command output, skills' texts, notifications of
background tasks.

Other agents are not measured: the few recordings in which one compacts hold nothing that is asked but words of the
user, and that a brief has those is tested with the agents themselves (`tests/e2e/test_given_back.py`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

TYPED, SAID, CALL, RESULT, COMPACTED = "typed", "said", "call", "result", "compacted"

Record = Mapping[str, Any]

# The tags in which the program and its extensions wrap what they add to a user's turn.
_INSERTED = re.compile(
    r"<(system-reminder|local-command-\w+|bash-(?:input|stdout|stderr)|command-\w+|task-notification|agent-notification"
    r"|ide_\w+|user-prompt-submit-hook)\b[^>]*>.*?(?:</\1[^>]*>|\Z)",
    re.DOTALL,
)
_INSERTED_START = re.compile(
    r"\s*(?:\[Request interrupted by user|Caveat: The messages below|This session is being continued from"
    r"|Base directory for this skill:|Operation stopped by hook:|Stop hook feedback:|API Error"
    r"|Read the output file to retrieve the result:)"
)
# What Claude Code appends to a plan that the user approved.
_APPENDED = re.compile(r"\n\s*If you need specific details from before exiting plan mode .*", re.DOTALL)
_COMMAND_ARGUMENTS = re.compile(
    r"<command-name>/?([^<]*)</command-name>.*?<command-args>([^<]+)</command-args>", re.DOTALL
)
# Commands that only steer the program; what is after them is nothing for the agent.
_STEERING = frozenset({"exit", "clear", "model", "config", "resume", "mcp", "login", "cost", "context", "quit"})
_MOST_OF_RESULT = 600
_REFUSED = re.compile(r"the user said:\s*\n(.*)", re.DOTALL)


class Event(Struct, frozen=True, kw_only=True):
    """One thing that a file records.

    `line` is its record's number, from 0. `text` is what was typed or said, a result's text, or a summary. A call has
    `id`, `name` and `input`; its result the same `id`, and `failed` if the record has it. `refuses` marks words that
    were typed when a call was rejected or the agent interrupted. `of` is what else a result's record says of it.
    """

    kind: str
    line: int
    text: str = ""
    id: str = ""
    name: str = ""
    input: Mapping[str, Any] = {}
    failed: bool | None = None
    refuses: bool = False
    of: Mapping[str, Any] = {}


def rendered(event: Event) -> str:
    """Returns an event as a context has it, of a call and of its result the beginning."""
    if event.kind == CALL:
        return f"Call {event.name}: {msgspec.json.encode(dict(event.input)).decode()[:_MOST_OF_RESULT]}"
    if event.kind == RESULT:
        return f"Result: {event.text[:_MOST_OF_RESULT]}"
    return {TYPED: "User: ", SAID: "Agent: "}.get(event.kind, "") + event.text


class Recording(Struct, frozen=True, kw_only=True):
    """One conversation: its folder, and its events."""

    path: Path
    folder: str
    events: tuple[Event, ...]


def typed_text(text: str) -> str:
    """Returns what a user typed of a user's turn; empty if a harness wrote it all."""
    if found := _COMMAND_ARGUMENTS.search(text):
        return "" if found[1].strip() in _STEERING else found[2].strip()
    left = _APPENDED.sub("", _INSERTED.sub("", text)).strip()
    return "" if _INSERTED_START.match(left) else left


def typed(line: int, text: str, *, refuses: bool = False) -> Iterator[Event]:
    """Yields what a user typed of a user's turn, if there is anything."""
    if own := typed_text(text):
        yield Event(kind=TYPED, line=line, text=own, refuses=refuses)


def said(line: int, text: str) -> Iterator[Event]:
    """Yields what the agent said, if there is anything."""
    if text.strip():
        yield Event(kind=SAID, line=line, text=text)


def as_dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_of(content: object) -> str:
    """Returns the text of a message's or a result's content: a text, or a list of parts."""
    if isinstance(content, str):
        return content
    parts = [as_dict(part) for part in as_list(content)]
    return "\n".join(str(part["text"]) for part in parts if isinstance(part.get("text"), str))


# Events


def _events(records: Sequence[tuple[int, Record]]) -> Iterator[Event]:
    live = _live_chain(records)
    given = _delivered(records)
    interrupted = False
    seen: set[str] = set()
    for number, record in records:
        if number in given and not record.get("isSidechain"):
            text = typed_text(str(record.get("content") or ""))
            if text and text not in seen and not text.startswith("/"):
                seen.add(text)
                yield Event(kind=TYPED, line=number, text=text)
        if record.get("isSidechain") or (live is not None and record.get("uuid") not in live):
            continue
        for event in _record(number, record, interrupted):
            if event.kind == TYPED:
                interrupted = False
                seen.add(event.text)
            yield event
        interrupted = interrupted or _interrupts(record)


def _interrupts(record: Record) -> bool:
    return record.get("type") == "user" and "[Request interrupted by user" in str(record.get("message"))[:200]


def _record(number: int, record: Record, interrupted: bool) -> Iterator[Event]:
    content = as_dict(record.get("message")).get("content")
    if record.get("isCompactSummary"):
        yield Event(kind=COMPACTED, line=number, text=text_of(content))
    elif record.get("type") == "assistant":
        for block in map(as_dict, as_list(content)):
            if block.get("type") == "text":
                yield from said(number, str(block.get("text", "")))
            if block.get("type") == "tool_use":
                given = as_dict(block.get("input"))
                yield Event(kind=CALL, line=number, id=str(block.get("id")), name=str(block.get("name")), input=given)
    elif record.get("type") == "user" and not record.get("isMeta"):
        yield from _turn(number, record, interrupted)


def _turn(number: int, record: Record, interrupted: bool) -> Iterator[Event]:
    content = as_dict(record.get("message")).get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else [*map(as_dict, as_list(content))]
    for block in blocks:
        if block.get("type") == "text":
            yield from typed(number, str(block.get("text", "")), refuses=interrupted)
        elif block.get("type") == "tool_result":
            text = text_of(block.get("content"))
            rejected = text.startswith("The user doesn't want to proceed with this tool use")
            failed, of = bool(block.get("is_error")), as_dict(record.get("toolUseResult"))
            called_by = str(block.get("tool_use_id"))
            yield Event(kind=RESULT, line=number, id=called_by, text=text, failed=failed, refuses=rejected, of=of)
            if rejected and (words := _REFUSED.search(text)):
                reason = words[1].split("\n\nNote: The user's next message")[0].strip()
                yield Event(kind=TYPED, line=number, text=reason, refuses=True)


def _delivered(records: Sequence[tuple[int, Record]]) -> set[int]:
    """Returns the records of words that were typed while the agent worked, and given to it in between: taken from the
    queue ("remove") and neither sent as a turn ("dequeue") nor undone for editing ("popAll")."""
    queued: list[int] = []
    given: set[int] = set()
    for number, record in records:
        if record.get("type") != "queue-operation":
            continue
        match record.get("operation"):
            case "enqueue" if record.get("content"):
                queued.append(number)
            case "remove" if queued:
                given.add(queued.pop(0))
            case "dequeue" if queued:
                queued.pop(0)
            case "popAll":
                queued.clear()
            case _:
                pass
    return given


def _live_chain(records: Sequence[tuple[int, Record]]) -> set[str] | None:
    """Returns the ids of the records on the way from the last one to the first, with parallel calls and their results
    next to it. None if the chain is broken: then all records count."""
    by_id = {str(r["uuid"]): r for _, r in records if r.get("uuid") and not r.get("isSidechain")}
    if not by_id:
        return None
    live: set[str] = set()
    order = [str(r["uuid"]) for _, r in records if r.get("uuid") in by_id]
    before = dict(zip(order[1:], order, strict=False))
    at = next(
        str(r["uuid"])
        for _, r in reversed(records)
        if r.get("uuid") in by_id and r.get("type") in ("user", "assistant")
    )
    while at in by_id and at not in live:
        live.add(at)
        record = by_id[at]
        at = str(record.get("parentUuid") or record.get("logicalParentUuid") or "")
        if record.get("subtype") == "compact_boundary" and at not in by_id:
            at = before.get(str(record["uuid"]), "")
    turns = [r for r in by_id.values() if r.get("type") in ("user", "assistant")]
    answers = {as_dict(by_id[each].get("message")).get("id") for each in live} - {None}
    live |= {str(r["uuid"]) for r in turns if as_dict(r.get("message")).get("id") in answers}
    for record in turns:
        is_result = any(
            as_dict(b).get("type") == "tool_result" for b in as_list(as_dict(record.get("message")).get("content"))
        )
        if is_result and record.get("parentUuid") in live:
            live.add(str(record["uuid"]))
    return live if 2 * len([r for r in turns if r["uuid"] in live]) > len(turns) else None


_DECODE = msgspec.json.Decoder(dict[str, Any]).decode


def read_recording(path: Path) -> Recording | None:
    """Reads a file. Returns None if it is not Claude Code's."""
    try:
        records = [*_records(path)]
    except OSError:
        return None
    if not any("isSidechain" in record or record.get("subtype") == "compact_boundary" for _, record in records):
        return None
    folder = next((str(record["cwd"]) for _, record in records if record.get("cwd")), "")
    return Recording(path=path, folder=folder, events=tuple(_events(records)))


def _records(path: Path) -> Iterator[tuple[int, Record]]:
    with path.open("rb") as file:
        for number, line in enumerate(file):
            try:
                yield number, _DECODE(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
