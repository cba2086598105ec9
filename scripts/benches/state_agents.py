"""Reads the files of each agent for the state bench: which agent's they are, and its records as `Event`s.

Agents whose compactions are read: Claude Code (`state_records`), Codex, pi, Copilot CLI, Kimi, Qwen Code, Gemini CLI.
Files of others hold none (or hold it elsewhere) and yield nothing.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benches.state_records import (
    COMPACTED,
    RESULT,
    SAID,
    TYPED,
    Event,
    Record,
    Recording,
    arguments,
    as_dict,
    as_list,
    called,
    read_claude,
    rendered,
    said,
    text_of,
    typed,
    typed_text,
)

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
