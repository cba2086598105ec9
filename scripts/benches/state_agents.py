"""Reads the files of each agent for the state bench: which agent's they are, and its records as `Event`s.

Agents whose compactions are read: Claude Code (`state_records`), Codex, pi, Copilot CLI, Kimi, Qwen Code, Gemini CLI.
Files of others hold none (or hold it elsewhere) and yield nothing.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from benches.state_records import (
    CALL,
    COMPACTED,
    RESULT,
    SAID,
    TYPED,
    Event,
    Record,
    Recording,
    as_dict,
    as_list,
    read_claude,
    text_of,
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
            folder = next(
                (
                    str(r.get("cwd") or as_dict(r.get("payload")).get("cwd") or "")
                    for _, r in records
                    if r.get("cwd") or as_dict(r.get("payload")).get("cwd")
                ),
                "",
            )
            return Recording(path=path, agent=agent, folder=folder, events=events)
    return None


def _records(path: Path) -> Iterator[tuple[int, Record]]:
    with path.open("rb") as file:
        for number, line in enumerate(file):
            try:
                yield number, _DECODE(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue


# Codex


def _codex(records: Sequence[tuple[int, Record]]) -> Iterator[Event]:
    told = any(as_dict(r.get("payload")).get("type") == "user_message" for _, r in records)
    for number, record in records:
        payload = as_dict(record.get("payload"))
        kind = payload.get("type")
        if record.get("type") == "compacted":
            kept = [as_dict(each) for each in as_list(payload.get("replacement_history"))]
            words = [_typed_of(each) for each in kept if each.get("role") == "user"]
            yield Event(
                kind=COMPACTED,
                line=number,
                text=str(payload.get("message") or ""),
                kept="\n".join(f"User: {each}" for each in words if each),
            )
        elif kind == "user_message" and (text := typed_text(str(payload.get("message", "")))):
            yield Event(kind=TYPED, line=number, text=text)
        elif record.get("type") != "response_item":
            continue
        elif kind == "message" and payload.get("role") == "user" and not told:
            if text := _typed_of(payload):
                yield Event(kind=TYPED, line=number, text=text)
        elif kind == "message" and payload.get("role") == "assistant":
            yield Event(kind=SAID, line=number, text=text_of(payload.get("content")))
        elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
            yield Event(
                kind=CALL,
                line=number,
                id=str(payload.get("call_id")),
                name=str(payload.get("name") or "shell"),
                input=_arguments(payload.get("arguments") or payload.get("input") or payload.get("action")),
            )
        elif kind in ("function_call_output", "custom_tool_call_output"):
            text, code = _codex_output(payload.get("output"))
            yield Event(
                kind=RESULT,
                line=number,
                id=str(payload.get("call_id")),
                text=text,
                failed=None if code is None else code != 0,
            )


def _typed_of(payload: Record) -> str:
    return typed_text(
        "\n".join(typed_text(str(as_dict(part).get("text", ""))) for part in as_list(payload.get("content")))
    )


def _arguments(given: object) -> dict[str, Any]:
    if isinstance(given, str):
        try:
            return _DECODE(given)
        except msgspec.DecodeError:
            return {"input": given}
    return as_dict(given)


def _codex_output(output: object) -> tuple[str, int | None]:
    if not isinstance(output, str):
        output = text_of(output) or str(as_dict(output).get("content", ""))
    whole = _arguments(output)
    if "output" in whole:
        code = as_dict(whole.get("metadata")).get("exit_code")
        return str(whole["output"]), int(code) if code is not None else None
    code = re.search(r"exited with code (-?\d+)|^Exit code: (-?\d+)", output, re.MULTILINE)
    return output, int(code[1] or code[2]) if code else None


# Others: pi, Copilot CLI, Kimi, Qwen Code, Gemini CLI


def _pi(records: Sequence[tuple[int, Record]]) -> Iterator[Event]:
    for number, record in records:
        if record.get("type") == "compaction":
            yield Event(kind=COMPACTED, line=number, text=str(record.get("summary", "")))
        elif record.get("type") == "message":
            yield from _pi_message(number, as_dict(record.get("message")))


def _pi_message(number: int, message: Record) -> Iterator[Event]:
    text = text_of(message.get("content"))
    match message.get("role"):
        case "user" if typed := typed_text(text):
            yield Event(kind=TYPED, line=number, text=typed)
        case "assistant":
            if text:
                yield Event(kind=SAID, line=number, text=text)
            for part in map(as_dict, as_list(message.get("content"))):
                if part.get("type") == "toolCall":
                    name, given = str(part.get("name")), as_dict(part.get("arguments"))
                    yield Event(kind=CALL, line=number, id=str(part.get("id")), name=name, input=given)
        case "toolResult":
            called, failed = str(message.get("toolCallId")), bool(message.get("isError"))
            yield Event(kind=RESULT, line=number, id=called, text=text, failed=failed)
        case _:
            pass


def _copilot(records: Sequence[tuple[int, Record]]) -> Iterator[Event]:
    for number, record in records:
        data = as_dict(record.get("data"))
        match record.get("type"):
            case "user.message":
                if text := typed_text(str(data.get("content", ""))):
                    yield Event(kind=TYPED, line=number, text=text)
            case "assistant.message":
                if data.get("content"):
                    yield Event(kind=SAID, line=number, text=str(data["content"]))
            case "tool.execution_start":
                yield Event(
                    kind=CALL,
                    line=number,
                    id=str(data.get("toolCallId")),
                    name=str(data.get("toolName")),
                    input=as_dict(data.get("arguments")),
                )
            case "tool.execution_complete":
                yield Event(
                    kind=RESULT,
                    line=number,
                    id=str(data.get("toolCallId")),
                    text=str(as_dict(data.get("result")).get("content", "")),
                    failed=data.get("success") is False,
                )
            case "session.compaction_complete" if data.get("summaryContent"):
                yield Event(kind=COMPACTED, line=number, text=str(data["summaryContent"]))
            case _:
                pass


def _kimi(records: Sequence[tuple[int, Record]]) -> Iterator[Event]:
    for number, record in records:
        event = as_dict(record.get("event"))
        if record.get("type") == "turn.prompt" and as_dict(record.get("origin")).get("kind") == "user":
            if text := typed_text(text_of(record.get("input"))):
                yield Event(kind=TYPED, line=number, text=text)
        elif record.get("type") == "context.apply_compaction":
            yield Event(
                kind=COMPACTED, line=number, text=str(record.get("contextSummary") or record.get("summary") or "")
            )
        elif event.get("type") == "content.part" and as_dict(event.get("part")).get("type") == "text":
            yield Event(kind=SAID, line=number, text=str(as_dict(event["part"]).get("text", "")))
        elif event.get("type") == "tool.call":
            yield Event(
                kind=CALL,
                line=number,
                id=str(event.get("toolCallId")),
                name=str(event.get("name")),
                input=_arguments(event.get("args")),
            )
        elif event.get("type") == "tool.result":
            result = as_dict(event.get("result"))
            yield Event(
                kind=RESULT,
                line=number,
                id=str(event.get("toolCallId")),
                text=text_of(result.get("output")),
                failed=bool(result.get("isError")),
            )


def _qwen(records: Sequence[tuple[int, Record]]) -> Iterator[Event]:
    for number, record in records:
        parts = [as_dict(part) for part in as_list(as_dict(record.get("message")).get("parts"))]
        if record.get("subtype") == "chat_compression":
            history = [as_dict(each) for each in as_list(as_dict(record.get("systemPayload")).get("compressedHistory"))]
            texts = [text_of(each.get("parts")) for each in history]
            yield Event(kind=COMPACTED, line=number, text=texts[0] if texts else "", kept="\n".join(texts[1:]))
        text = typed_text("\n".join(str(part.get("text", "")) for part in parts))
        if text and record.get("type") == "user" and record.get("provenance", "real_user") == "real_user":
            yield Event(kind=TYPED, line=number, text=text)
        yield from _google_parts(number, parts, is_agent=record.get("type") == "assistant")


def _google_parts(number: int, parts: Iterable[Record], *, is_agent: bool) -> Iterator[Event]:
    for part in parts:
        if is_agent and part.get("text") and not part.get("thought"):
            yield Event(kind=SAID, line=number, text=str(part["text"]))
        if call := as_dict(part.get("functionCall")):
            yield Event(
                kind=CALL,
                line=number,
                id=str(call.get("id")),
                name=str(call.get("name")),
                input=as_dict(call.get("args")),
            )
        if answer := as_dict(part.get("functionResponse")):
            response = as_dict(answer.get("response"))
            yield Event(
                kind=RESULT,
                line=number,
                id=str(answer.get("id")),
                text=str(response.get("output") or response.get("error") or ""),
                failed="error" in response,
            )


def _gemini(records: Sequence[tuple[int, Record]]) -> Iterator[Event]:
    seen: set[str] = set()
    for number, record in records:
        replaced = [as_dict(each) for each in as_list(as_dict(record.get("$set")).get("messages"))]
        texts = [text_of(each.get("content")) for each in replaced]
        at = next((i for i, text in enumerate(texts) if "<state_snapshot>" in text), None)
        if at is not None:
            yield Event(kind=COMPACTED, line=number, text=texts[at], kept="\n".join(texts[at + 1 :]))
        if record.get("type") == "user" and str(record.get("id")) not in seen:
            seen.add(str(record.get("id")))
            if text := typed_text(text_of(record.get("content"))):
                yield Event(kind=TYPED, line=number, text=text)
        elif record.get("type") == "gemini":
            if record.get("content"):
                yield Event(kind=SAID, line=number, text=text_of(record.get("content")))
            for call in map(as_dict, as_list(record.get("toolCalls"))):
                if str(call.get("id")) not in seen:
                    seen.add(str(call.get("id")))
                    yield Event(
                        kind=CALL,
                        line=number,
                        id=str(call.get("id")),
                        name=str(call.get("name")),
                        input=as_dict(call.get("args")),
                    )
                    yield Event(
                        kind=RESULT,
                        line=number,
                        id=str(call.get("id")),
                        text=str(call.get("result", "")),
                        failed=call.get("status") == "error",
                    )


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
