"""What agents' files record, for the state bench; nothing is shared with Ullage.

Each agent's records become `Event`s in the order of the file: what a user typed, what the agent said, calls with
their results, and the agent's own compactions. Records of side chains (sub-agents) and of branches that a user has
abandoned are left out. What a harness puts into a user's turn is not typed: reminders, command output, skills'
texts, notifications of background tasks.

Agents whose compactions are read: Claude Code, Codex, pi, Copilot CLI, Kimi, Qwen Code, Gemini CLI. Files of others
hold none (or hold it elsewhere) and yield nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
from msgspec import Struct

TYPED, SAID, CALL, RESULT, COMPACTED = "typed", "said", "call", "result", "compacted"

Record = Mapping[str, Any]

# The tags in which harnesses wrap what they add to a user's turn.
_INSERTED = re.compile(
    r"<(system-reminder|system_reminder|local-command-\w+|bash-(?:input|stdout|stderr)|command-\w+|task-notification"
    r"|agent-notification|ide_\w+|environment_context|user_instructions|user_action|INSTRUCTIONS|session_context"
    r"|hook_context|user-prompt-submit-hook|[\w.-]+:[\w-]*context|turn_aborted|permissions instructions"
    r"|skills?_instructions|collaboration_mode|subagent_notification|skill)\b[^>]*>.*?(?:</\1[^>]*>|\Z)",
    re.DOTALL,
)
_INSERTED_START = re.compile(
    r"\s*(?:\[Request interrupted by user|Caveat: The messages below|This session is being continued from"
    r"|# AGENTS\.md instructions|Base directory for this skill:|Another language model started to solve"
    r"|Operation stopped by hook:|Stop hook feedback:|API Error|Read the output file to retrieve the result:)"
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
_ANSWERED = re.compile(r'"=\s*"([^"]+)"')


class Event(Struct, frozen=True, kw_only=True):
    """One thing that a file records.

    `line` is its record's number, from 0. `text` is what was typed or said, a result's text, or a summary. A call has
    `id`, `name` and `input`; its result the same `id`, and `failed` if the record has it. `refuses` marks words that
    were typed when a call was rejected or the agent interrupted. `kept` is what a compaction keeps next to its
    summary. `of` is what else a result's record says of it.
    """

    kind: str
    line: int
    text: str = ""
    id: str = ""
    name: str = ""
    input: Mapping[str, Any] = {}
    failed: bool | None = None
    refuses: bool = False
    kept: str = ""
    of: Mapping[str, Any] = {}


def rendered(event: Event) -> str:
    """Returns an event as a context has it, of a call and of its result the beginning."""
    if event.kind == CALL:
        return f"Call {event.name}: {msgspec.json.encode(dict(event.input)).decode()[:_MOST_OF_RESULT]}"
    if event.kind == RESULT:
        return f"Result: {event.text[:_MOST_OF_RESULT]}"
    return {TYPED: "User: ", SAID: "Agent: "}.get(event.kind, "") + event.text


class Recording(Struct, frozen=True, kw_only=True):
    """One conversation: its agent, its folder, and its events."""

    path: Path
    agent: str
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


def called(line: int, call_id: object, name: object, given: object) -> Event:
    """Returns a call of a tool, whose input may be JSON in a text."""
    return Event(kind=CALL, line=line, id=str(call_id), name=str(name), input=arguments(given))


def arguments(given: object) -> dict[str, Any]:
    """Returns a call's input. What is no JSON is a text."""
    if not isinstance(given, str):
        return as_dict(given)
    try:
        return msgspec.json.decode(given, type=dict[str, Any])
    except msgspec.DecodeError:
        return {"input": given}


def as_dict(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def text_of(content: object) -> str:
    """Returns the text of a message's or a result's content, in any of the shapes that agents use."""
    if isinstance(content, str):
        return content
    parts = [as_dict(part) for part in as_list(content)]
    return "\n".join(str(part["text"]) for part in parts if isinstance(part.get("text"), str))


# Claude Code


def read_claude(records: Sequence[tuple[int, Record]]) -> Iterator[Event]:
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
        for event in _claude_record(number, record, interrupted):
            if event.kind == TYPED:
                interrupted = False
                seen.add(event.text)
            yield event
        interrupted = interrupted or _interrupts(record)


def _interrupts(record: Record) -> bool:
    return record.get("type") == "user" and "[Request interrupted by user" in str(record.get("message"))[:200]


def _claude_record(number: int, record: Record, interrupted: bool) -> Iterator[Event]:
    content = as_dict(record.get("message")).get("content")
    if record.get("isCompactSummary"):
        yield Event(kind=COMPACTED, line=number, text=text_of(content))
    elif record.get("type") == "assistant":
        for block in map(as_dict, as_list(content)):
            if block.get("type") == "text":
                yield from said(number, str(block.get("text", "")))
            if block.get("type") == "tool_use":
                yield called(number, block.get("id"), block.get("name"), as_dict(block.get("input")))
    elif record.get("type") == "user" and not record.get("isMeta"):
        yield from _claude_turn(number, record, interrupted)


def _claude_turn(number: int, record: Record, interrupted: bool) -> Iterator[Event]:
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
            elif text.startswith("User has answered your questions:"):
                for answer in _ANSWERED.findall(text):
                    yield Event(kind=TYPED, line=number, text=answer)


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
    """Reads a file. Returns None if it is no known agent's."""
    try:
        records = [*_records(path)]
    except OSError:
        return None
    for agent, (is_its, read) in _AGENTS.items():
        if any(is_its(record) for _, record in records):
            events = tuple(read(records))
            folders = (record.get("cwd") or as_dict(record.get("payload")).get("cwd") for _, record in records)
            folder = str(next((folder for folder in folders if folder), ""))
            return Recording(path=path, agent=agent, folder=folder, events=events)
    return None


def _records(path: Path) -> Iterator[tuple[int, Record]]:
    with path.open("rb") as file:
        for number, line in enumerate(file):
            try:
                yield number, _DECODE(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue


def _dicts(values: object) -> list[dict[str, Any]]:
    return [as_dict(value) for value in as_list(values)]


def _result(line: int, call_id: object, text: str, failed: bool | None) -> Event:
    return Event(kind=RESULT, line=line, id=str(call_id), text=text, failed=failed)


def _compacted(line: int, text: object, kept: str = "") -> Event:
    return Event(kind=COMPACTED, line=line, text=str(text or ""), kept=kept)


def _kept(events: Sequence[Event]) -> str:
    return "\n\n".join(map(rendered, events))


# Codex


def _codex(records: Sequence[tuple[int, Record]]) -> Iterator[Event]:
    told = any(as_dict(r.get("payload")).get("type") == "user_message" for _, r in records)
    for number, record in records:
        payload = as_dict(record.get("payload"))
        kind, role = payload.get("type"), payload.get("role")
        if record.get("type") == "compacted":
            kept = [_typed_of(one) for one in _dicts(payload.get("replacement_history")) if one.get("role") == "user"]
            yield _compacted(number, payload.get("message"), "\n".join(f"User: {one}" for one in kept if one))
        elif kind == "user_message" and typed_text(str(payload.get("message", ""))):
            yield from typed(number, str(payload["message"]))
        elif record.get("type") != "response_item":
            continue
        elif kind == "message" and role == "user" and not told:
            if text := _typed_of(payload):
                yield Event(kind=TYPED, line=number, text=text)
        elif kind == "message" and role == "assistant":
            yield Event(kind=SAID, line=number, text=text_of(payload.get("content")))
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            given = payload.get("arguments") or payload.get("input") or payload.get("action")
            yield called(number, payload.get("call_id"), payload.get("name") or "shell", given)
        elif kind in ("function_call_output", "custom_tool_call_output"):
            text, code = _codex_output(payload.get("output"))
            yield _result(number, payload.get("call_id"), text, None if code is None else code != 0)


def _typed_of(payload: Record) -> str:
    return typed_text("\n".join(typed_text(str(part.get("text", ""))) for part in _dicts(payload.get("content"))))


def _codex_output(output: object) -> tuple[str, int | None]:
    if not isinstance(output, str):
        output = text_of(output) or str(as_dict(output).get("content", ""))
    whole = arguments(output)
    if "output" in whole:
        code = as_dict(whole.get("metadata")).get("exit_code")
        return str(whole["output"]), int(code) if code is not None else None
    code = re.search(r"exited with code (-?\d+)|^Exit code: (-?\d+)", output, re.MULTILINE)
    return output, int(code[1] or code[2]) if code else None


# Others: pi, Copilot CLI, Kimi, Qwen Code, Gemini CLI


def _pi(records: Sequence[tuple[int, Record]]) -> Iterator[Event]:
    """Yields the events. A compaction keeps the messages from the entry on that it names."""
    places = {record.get("id"): number for number, record in records}
    found: list[Event] = []
    for number, record in records:
        if record.get("type") == "compaction":
            first = places.get(record.get("firstKeptEntryId"), number)
            kept = [event for event in found if event.line >= first and event.kind != COMPACTED]
            found.append(_compacted(number, record.get("summary"), _kept(kept)))
        found += _pi_message(number, record)
    yield from found


def _pi_message(number: int, record: Record) -> Iterator[Event]:
    message = as_dict(record.get("message"))
    text = text_of(message.get("content"))
    match record.get("type"), message.get("role"):
        case "message", "user":
            yield from typed(number, text)
        case "message", "assistant":
            if text:
                yield Event(kind=SAID, line=number, text=text)
            for part in _dicts(message.get("content")):
                if part.get("type") == "toolCall":
                    yield called(number, part.get("id"), part.get("name"), as_dict(part.get("arguments")))
        case "message", "toolResult":
            yield _result(number, message.get("toolCallId"), text, bool(message.get("isError")))
        case _:
            pass


def _copilot(records: Sequence[tuple[int, Record]]) -> Iterator[Event]:
    for number, record in records:
        data = as_dict(record.get("data"))
        match record.get("type"):
            case "user.message":
                yield from typed(number, str(data.get("content", "")))
            case "assistant.message":
                yield from said(number, str(data.get("content") or ""))
            case "tool.execution_start":
                yield called(number, data.get("toolCallId"), data.get("toolName"), as_dict(data.get("arguments")))
            case "tool.execution_complete":
                text = str(as_dict(data.get("result")).get("content", ""))
                yield _result(number, data.get("toolCallId"), text, data.get("success") is False)
            case "session.compaction_complete" if data.get("summaryContent"):
                yield _compacted(number, data["summaryContent"])
            case _:
                pass


def _kimi(records: Sequence[tuple[int, Record]]) -> Iterator[Event]:
    """Yields the events. A compaction keeps so many of the user's messages, some of them from the beginning."""
    prompts: list[Event] = []
    for number, record in records:
        event = as_dict(record.get("event"))
        part, result = as_dict(event.get("part")), as_dict(event.get("result"))
        if record.get("type") == "turn.prompt" and as_dict(record.get("origin")).get("kind") == "user":
            own = [*typed(number, text_of(record.get("input")))]
            prompts += own
            yield from own
        elif record.get("type") == "context.apply_compaction":
            many, first = int(record.get("keptUserMessageCount") or 0), int(record.get("keptHeadUserMessageCount") or 0)
            kept = [*prompts[:first], *prompts[max(first, len(prompts) - many + first) :]]
            yield _compacted(number, record.get("contextSummary") or record.get("summary"), _kept(kept))
        elif event.get("type") == "content.part" and part.get("type") == "text":
            yield Event(kind=SAID, line=number, text=str(part.get("text", "")))
        elif event.get("type") == "tool.call":
            yield called(number, event.get("toolCallId"), event.get("name"), event.get("args"))
        elif event.get("type") == "tool.result":
            text, failed = text_of(result.get("output")), bool(result.get("isError"))
            yield _result(number, event.get("toolCallId"), text, failed)


def _qwen(records: Sequence[tuple[int, Record]]) -> Iterator[Event]:
    for number, record in records:
        parts = _dicts(as_dict(record.get("message")).get("parts"))
        if record.get("subtype") == "chat_compression":
            history = _dicts(as_dict(record.get("systemPayload")).get("compressedHistory"))
            texts = [text_of(each.get("parts")) for each in history] or [""]
            yield _compacted(number, texts[0], "\n".join(texts[1:]))
        if record.get("type") == "user" and record.get("provenance", "real_user") == "real_user":
            yield from typed(number, "\n".join(str(part.get("text", "")) for part in parts))
        for part in parts:
            if record.get("type") == "assistant" and part.get("text") and not part.get("thought"):
                yield Event(kind=SAID, line=number, text=str(part["text"]))
            if call := as_dict(part.get("functionCall")):
                yield called(number, call.get("id"), call.get("name"), as_dict(call.get("args")))
            if answer := as_dict(part.get("functionResponse")):
                response = as_dict(answer.get("response"))
                text = str(response.get("output") or response.get("error") or "")
                yield _result(number, answer.get("id"), text, "error" in response)


def _gemini(records: Sequence[tuple[int, Record]]) -> Iterator[Event]:
    seen: set[str] = set()

    def is_new(one: Record) -> bool:
        is_seen = str(one.get("id")) in seen
        seen.add(str(one.get("id")))
        return not is_seen

    for number, record in records:
        messages = _dicts(as_dict(record.get("$set")).get("messages"))
        texts = [text_of(each.get("content")) for each in messages]
        at = next((i for i, text in enumerate(texts) if "<state_snapshot>" in text), None)
        if at is not None:
            yield _compacted(number, texts[at], _kept([*_gemini_kept(number, messages[at + 1 :])]))
        if record.get("type") == "user" and is_new(record):
            yield from typed(number, text_of(record.get("content")))
        elif record.get("type") == "gemini":
            if record.get("content"):
                yield Event(kind=SAID, line=number, text=text_of(record.get("content")))
            for call in filter(is_new, _dicts(record.get("toolCalls"))):
                yield called(number, call.get("id"), call.get("name"), as_dict(call.get("args")))
                yield _result(number, call.get("id"), str(call.get("result", "")), call.get("status") == "error")


def _gemini_kept(number: int, messages: Sequence[Record]) -> Iterator[Event]:
    for message in messages:
        if message.get("type") == "user":
            yield from typed(number, text_of(message.get("content")))
        for part in _dicts(message.get("content")):
            if message.get("type") == "gemini" and part.get("text"):
                yield Event(kind=SAID, line=number, text=str(part["text"]))
            if call := as_dict(part.get("functionCall")):
                yield called(number, call.get("id"), call.get("name"), as_dict(call.get("args")))
            if answer := as_dict(part.get("functionResponse")):
                yield _result(number, answer.get("id"), str(as_dict(answer.get("response")).get("output", "")), None)


_Reader = Callable[[Sequence[tuple[int, Record]]], Iterator[Event]]
_AGENTS: dict[str, tuple[Callable[[Record], bool], _Reader]] = {
    "Claude Code": (lambda r: "isSidechain" in r or r.get("subtype") == "compact_boundary", read_claude),
    "Codex": (lambda r: r.get("type") == "session_meta" and bool(as_dict(r.get("payload"))), _codex),
    "pi": (lambda r: r.get("type") == "compaction" and "firstKeptEntryId" in r, _pi),
    "Copilot CLI": (lambda r: r.get("type") == "session.compaction_complete", _copilot),
    "Kimi": (lambda r: r.get("type") == "context.apply_compaction", _kimi),
    "Qwen Code": (lambda r: r.get("subtype") == "chat_compression", _qwen),
    "Gemini CLI": (lambda r: "projectHash" in r, _gemini),
}
