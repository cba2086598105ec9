"""Reads opencode's sessions, and those of Kilo Code's CLI, which is built on it.

A message has parts: text, reasoning, tool calls with their results, and marks of the program. An answer may hold
several requests, each between `step-start` and `step-finish`. A compaction is a user's message with a `compaction` part
and the answer to it, which is the summary. In the newer table a compaction is a message of its own.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.opencode.sources import matches, records
from ullage.formats.parsing import Line, as_count, as_timestamp
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import read_image_url
from ullage.formats.transcripts.format import incremental
from ullage.model.blocks import (
    Block,
    ResourceBlock,
    ResultPart,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.edits import CompactionCause
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import Role
from ullage.model.usage import Usage

NAME = "opencode"
# Parts that say what the program did besides the conversation.
_MARKS = {"step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction"}
# Roles of messages whose rows change until they are completed.
_GROWING = {"assistant", "compaction", "shell"}
# What opencode sends in the place of a result that it has cleared.
CLEARED = "[Old tool result content cleared]"

_MADE_OF_TIME = re.compile(r"(New|Child) session - \d{4}-\d{2}-\d{2}T[\d:.]+Z")


def given_title(title: str) -> str:
    """Returns a session's title, or "" for the one that opencode makes of the time until a model has written
    another."""
    return "" if _MADE_OF_TIME.fullmatch(title) else title


class _Step(Struct):
    """The answer to one request: its blocks, the results of its calls, the results that were cleared since (the time,
    in Unix milliseconds, by the index in `results`), and the request's token counts."""

    content: list[Block]
    results: list[ToolResultBlock]
    cleared: dict[int, int]
    tokens: JsonObject


class _Place(Struct, frozen=True):
    """A message of the session: the ids of the messages that it became in the transcript, and the builder's tip right
    after it."""

    message_ids: tuple[str, ...]
    tip: str


class OpencodeReader:
    """Reads one session of opencode. The newest answer is held back until it is complete, because its row still
    changes."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._held: tuple[JsonObject, int] | None = None
        self._revert = ""
        self._places: dict[str, _Place] = {}
        self._added: list[str] = []
        self._compaction: JsonObject = {}

    def take(self, record: Line) -> None:
        """Reads the record with the session's facts, or a message with its parts."""
        value = record.value or {}
        if "session" in value:
            self._take_head(as_object(value.get("session")), as_text(value.get("program")))
            return
        info = as_object(value.get("info"))
        if self._held and as_object(self._held[0].get("info")).get("id") != info.get("id"):
            self._flush()
        self._held = value, record.number
        if as_text(info.get("role")) not in _GROWING or as_object(info.get("time")).get("completed"):
            self._flush()

    def finish(self) -> None:
        """Adds the newest answer if it was held back, although it is incomplete. If the user has gone back to an
        earlier message, the context ends before that message."""
        self._flush()
        self._go_back()

    def is_complete(self) -> bool:
        """Returns whether no answer is being written."""
        return not self._held

    def _go_back(self) -> None:
        names = list(self._places)
        if self._revert in names:
            at = names.index(self._revert)
            # The user may take this back, and go back again, to this message or another one.
            self._builder.rewind(
                self._places[names[at - 1]].tip if at else "", edit_id=f"revert-{self._revert}-{self._builder.messages}"
            )

    def _take_head(self, session: JsonObject, program: str) -> None:
        builder = self._builder
        builder.agent = program
        builder.session_id = as_text(session.get("id"))
        builder.parent = as_text(session.get("parentID"))
        builder.is_sub_agent = bool(builder.parent)
        builder.cwd = as_text(session.get("directory"))
        builder.title = given_title(as_text(session.get("title")))
        builder.version = as_text(session.get("version"))
        self._revert = as_text(as_object(session.get("revert")).get("messageID"))

    def _flush(self) -> None:
        if not self._held:
            return
        (value, number), self._held = self._held, None
        info, parts = as_object(value.get("info")), as_objects(value.get("parts"))
        for part in parts:
            kind = as_text(part.get("type"))
            if kind not in _MARKS | {"text", "reasoning", "tool", "file", "subtask"}:
                self._builder.skip(number, f"unknown part of a message {kind!r}", expected=False)
        match info.get("role"):
            case "user" | "shell":
                self._read_prompt(info, parts, number)
            case "assistant":
                self._read_answer(info, parts, number)
            case "system":
                content = [block for part in parts for block in _read_part(part)]
                self._add(Role.SYSTEM, content, as_text(info.get("id")), _time(info))
            case "compaction":
                self._read_compaction(info, parts, number)
            case "mark":
                self._builder.use_model(as_text(info.get("modelID")))
                self._builder.skip(number, f"{info.get('mark')} of the program", expected=True)
            case role:
                self._builder.skip(number, f"message of unknown role {role!r}", expected=False)
        self._places[as_text(info.get("id"))] = _Place(tuple(self._added), self._builder.tip)
        self._added = []

    def _add(self, role: Role, content: Sequence[Block], message_id: str, timestamp: int) -> str:
        self._added.append(self._builder.add(role, content, message_id, timestamp))
        return self._added[-1]

    def _read_prompt(self, info: JsonObject, parts: list[JsonObject], number: int) -> None:
        # The model that is asked, which the answer names too.
        self._builder.use_model(as_text(as_object(info.get("model")).get("modelID")))
        content = [block for part in parts for block in _read_part(part)]
        if content:
            self._add(Role.USER, content, as_text(info.get("id")), _time(info))
        compactions = [part for part in parts if part.get("type") == "compaction"]
        self._compaction = compactions[0] if compactions else {}
        if not content and not self._compaction:
            self._builder.skip(number, "prompt without content", expected=True)

    def _read_answer(self, info: JsonObject, parts: list[JsonObject], number: int) -> None:
        builder, message_id = self._builder, as_text(info.get("id"))
        if info.get("summary") is True:
            self._read_summary(info, parts, number)
            return
        builder.use_model(as_text(info.get("modelID")))
        steps = _steps(parts, as_object(info.get("tokens")))
        for step in steps:
            answer = self._add(Role.ASSISTANT, step.content, message_id, _time(info))
            builder.report(_usage(step.tokens), answer, as_timestamp(as_object(info.get("time")).get("completed")))
            if step.results:
                results = self._add(Role.USER, step.results, f"{message_id}-results", _time(info))
                if step.cleared:
                    builder.clear_results(results, tuple(step.cleared), CLEARED, max(step.cleared.values()))
        if not steps:
            error = as_object(info.get("error"))
            reason = as_text(as_object(error.get("data")).get("message")) or as_text(error.get("name"))
            builder.skip(
                number, f"answer without content: {reason}" if reason else "answer without content", expected=True
            )

    def _read_summary(self, info: JsonObject, parts: list[JsonObject], number: int) -> None:
        """Reads a compaction's summary and adds the compaction. Its usage is left out, because it is that of the
        request for the summary. A summary that failed is added as an answer outside the context."""
        builder = self._builder
        message_id, compaction = as_text(info.get("id")), self._compaction
        content = [block for part in parts for block in _read_part(part)]
        texts = [block.text for block in content if isinstance(block, TextBlock)]
        done = info.get("finish") or as_object(info.get("time")).get("completed")
        if texts and done and not info.get("error"):
            first = as_text(compaction.get("tail_start_id"))
            cause = _cause(by_hand=compaction.get("auto") is False, overflow=compaction.get("overflow") is True)
            builder.compact("\n".join(texts), message_id, _time(info), cause=cause, kept=self._since(first))
        elif content:
            # The model said it, and it never came into the context.
            before = builder.tip
            builder.add(Role.ASSISTANT, content, message_id, _time(info))
            builder.rewind(before, _time(info))
        else:
            builder.skip(number, "compaction that came to nothing", expected=True)

    def _read_compaction(self, info: JsonObject, parts: list[JsonObject], number: int) -> None:
        """Reads a compaction of the newer table, after which the model is sent its text instead of all messages."""
        texts = [text for part in parts if (text := as_text(part.get("text")))]
        if info.get("status") != "completed" or not texts:
            self._builder.skip(number, "compaction that came to nothing", expected=True)
            return
        cause = _cause(by_hand=info.get("reason") == "manual", overflow=info.get("reason") == "overflow")
        self._builder.compact("\n\n".join(texts), as_text(info.get("id")), _time(info), cause=cause)

    def _since(self, first: str) -> list[str]:
        """Returns the ids, in the transcript, of the session's messages from `first` on, which a compaction kept. Empty
        if `first` is unknown."""
        names = list(self._places)
        kept = names[names.index(first) :] if first in names else []
        return [message_id for name in kept for message_id in self._places[name].message_ids]


def _cause(*, by_hand: bool, overflow: bool) -> CompactionCause:
    if by_hand:
        return CompactionCause.BY_HAND
    return CompactionCause.OVERFLOW if overflow else CompactionCause.THRESHOLD


def _time(info: JsonObject) -> int:
    return as_timestamp(as_object(info.get("time")).get("created"))


def _steps(parts: Iterable[JsonObject], tokens: JsonObject) -> list[_Step]:
    """Divides the parts of an answer by request. `tokens` are the answer's own counts, which are those of its last
    request."""
    steps = [_Step([], [], {}, {})]
    for part in parts:
        if part.get("type") == "step-start" and steps[-1].content:
            steps.append(_Step([], [], {}, {}))
        step = steps[-1]
        if part.get("type") == "step-finish":
            step.tokens = as_object(part.get("tokens"))
        elif part.get("type") == "tool":
            state = as_object(part.get("state"))
            cleared = as_timestamp(as_object(state.get("time")).get("compacted"))
            if cleared:
                step.cleared[len(step.results)] = cleared
            step.content.append(_read_call(part))
            step.results += _read_result(part, state)
        else:
            step.content += _read_part(part)
    with_content = [step for step in steps if step.content]
    if with_content:
        last = with_content[-1]
        last.tokens = last.tokens or steps[-1].tokens or tokens
    return with_content


def _read_part(part: JsonObject) -> Iterator[Block]:
    text = as_text(part.get("text"))
    match part.get("type"):
        case "text" if text and part.get("ignored") is not True:
            yield TextBlock(text=text)
        case "reasoning" if text:
            yield ThinkingBlock(thinking=text)
        case "subtask":
            yield TextBlock(text=as_text(part.get("prompt")))
        case "file":
            yield _read_file(part)
        case _:
            pass


def _read_file(part: JsonObject) -> ResultPart:
    url, kind = as_text(part.get("url")), as_text(part.get("mime"))
    if kind.startswith("image/"):
        return read_image_url(url)
    return ResourceBlock(uri=url or as_text(part.get("filename")), mime_type=kind or None)


def _read_call(part: JsonObject) -> ToolUseBlock:
    state = as_object(part.get("state"))
    return ToolUseBlock(
        id=as_text(part.get("callID")), name=as_text(part.get("tool")), input=as_object(state.get("input"))
    )


def _read_result(part: JsonObject, state: JsonObject) -> Iterator[ToolResultBlock]:
    failed = state.get("status") == "error"
    text = as_text(state.get("error")) if failed else as_text(state.get("output"))
    attached = [_read_file(file) for file in as_objects(state.get("attachments"))]
    if failed or "output" in state:
        content: list[ResultPart] = [TextBlock(text=text)] if text else []
        yield ToolResultBlock(tool_use_id=as_text(part.get("callID")), content=(*content, *attached), is_error=failed)


def _usage(tokens: JsonObject) -> Usage:
    """Converts the token counts of one request. In the file `input` excludes the cache, and `output` the reasoning."""
    cache, reasoning = as_object(tokens.get("cache")), as_count(tokens.get("reasoning"))
    return Usage(
        input_tokens=as_count(tokens.get("input")),
        output_tokens=as_count(tokens.get("output")) + reasoning,
        cache_read_input_tokens=as_count(cache.get("read")),
        cache_creation_input_tokens=as_count(cache.get("write")),
        reasoning_tokens=reasoning,
    )


_KNOWN = incremental(NAME, matches, OpencodeReader, records, reads_folders=True)
FORMAT = replace(_KNOWN, is_complete=OpencodeReader.is_complete, may_take_back=True)
