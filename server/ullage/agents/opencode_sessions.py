"""Reads opencode's sessions, and those of Kilo Code's CLI, which is built on it.

A message has parts: text, reasoning, tool calls with their results, and marks of the program. An answer may hold
several requests, each between `step-start` and `step-finish`. A compaction is a user's message with a `compaction` part
and the answer to it, which is the summary. In the newer table a compaction is a message of its own.

opencode keeps conversations in a database, before 2026 in folders of JSON files, and in exports. All of them hold the
same three things: sessions, messages, and the parts of messages.

The database of newer versions may hold messages in a table of their own, `session_message`: what its server's second
interface is asked. A row is one message whole: its type, its place (`seq`), and the rest as JSON. An answer is the
answer to one request, and a compaction is one row with the summary and the newest messages as text. Such rows are
converted to the shape of the older messages. Read from opencode's source (`session-message.ts`, `to-llm-message.ts`)
and from rows that version 1.18.33 wrote.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.inserted import by_program
from ullage.agents.record_reader import RecordReader
from ullage.formats.parsing import Document, as_count, as_timestamp, usage_beside
from ullage.formats.transcripts.chat import call_block, read_image_url, read_parts, result_block, thoughts
from ullage.formats.transcripts.format import (
    ListedConversation,
    Records,
    choose,
    incremental,
    parsed,
    records_of,
    rows_of,
)
from ullage.model.events import CompactionCause
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import Block, ResourceBlock, ResultPart, Role, TextBlock, ToolResultBlock
from ullage.model.usage import Usage

TABLES = ("session", "session_v2", "message", "part", "session_message")


class _Store(Struct, frozen=True):
    """Sessions by their ids, messages by the ids of their sessions, and parts by the ids of their messages."""

    sessions: dict[str, JsonObject]
    messages: dict[str, list[JsonObject]]
    parts: dict[str, list[JsonObject]]


def matches(document: Document) -> bool:
    """Returns whether the document is a database, a storage folder, a session's file or an export of opencode."""
    if document.lines and any({"project_id", "directory"} <= row.keys() for row in _session_rows(document)):
        return True
    value = as_object(document.value)
    if _is_export(value):
        return True
    found = (value, *(as_object(companion.value) for companion in document.companions))
    return any("sessionID" in item and "role" in item and "time" in item for item in found) or _is_session(value)


def records(document: Document) -> Records:
    """Returns a record with one session's facts, then one per message with its parts.

    `document.run` chooses the session; by default it is the newest one that is not a sub-agent's.
    """
    if document.lines and document.value is None:
        store = _from_rows(document)
    elif _is_export(document.value):
        store = _from_export(as_object(document.value))
    else:
        store = _from_files((document, *document.companions))
    found = [
        ListedConversation(
            id=session_id,
            title=as_text(session.get("title")),
            updated=as_count(as_object(session.get("time")).get("updated")),
            messages=len(store.messages.get(session_id, ())),
            is_child=bool(session.get("parentID")),
        )
        for session_id, session in store.sessions.items()
    ]
    wanted = as_text(as_object(document.value).get("id")) if _is_session(document.value) else ""
    at = next((at for at, known in enumerate(found) if known.id == wanted), -1)
    chosen, others = (at, ()) if at >= 0 else choose(found, document)
    session_id = found[chosen].id if found else ""
    # The CLI of Kilo Code is built on opencode.
    is_kilo = "kilo" in PurePosixPath(document.name.replace("\\", "/")).parts[-2:] or "kilo.db" in document.name
    head = {"session": store.sessions.get(session_id, {}), "program": "Kilo Code" if is_kilo else "opencode"}
    messages = store.messages.get(session_id, [])
    values = ({"info": info, "parts": store.parts.get(as_text(info.get("id")), [])} for info in messages)
    return records_of([head, *values], others)


def _is_export(value: Any) -> bool:
    messages = as_objects(as_object(value).get("messages"))
    return bool(messages) and all("info" in message and "parts" in message for message in messages)


def _is_session(value: Any) -> bool:
    return {"id", "projectID", "time"} <= as_object(value).keys()


def _session_rows(document: Document) -> Iterable[JsonObject]:
    """Returns the rows of the sessions, those of opencode 2 last: they decide where both have a session."""
    return [*rows_of(document, "session"), *rows_of(document, "session_v2")]


def _from_rows(document: Document) -> _Store:
    sessions: list[JsonObject] = []
    for row in _session_rows(document):
        time = {"created": row.get("time_created"), "updated": row.get("time_updated")}
        known = {"parentID": row.get("parent_id"), "revert": parsed(row.get("revert")), "time": time}
        sessions.append({**row, **known})
    # Where opencode 2 has written a session, what an earlier version wrote of it no longer counts.
    moved = {as_text(row.get("id")) for row in rows_of(document, "session_v2")} - {""}
    moved &= {as_text(row.get("session_id")) for row in rows_of(document, "session_message")}
    messages = [
        {**as_object(parsed(row.get("data"))), "id": row.get("id"), "sessionID": row.get("session_id")}
        for row in rows_of(document, "message")
        if as_text(row.get("session_id")) not in moved
    ]
    parts = [
        {**as_object(parsed(row.get("data"))), "id": row.get("id"), "messageID": row.get("message_id")}
        for row in rows_of(document, "part")
    ]
    known = {as_text(message.get("id")) for message in messages}
    newer: list[JsonObject] = []
    unread = (row for row in rows_of(document, "session_message") if as_text(row.get("id")) not in known)
    for message in converted(unread):
        info = as_object(message.get("info"))
        newer.append(info)
        parts += [{**part, "messageID": info.get("id")} for part in as_objects(message.get("parts"))]
    return _store(sessions, [*messages, *newer], parts)


def _from_export(value: JsonObject) -> _Store:
    session = as_object(value.get("info"))
    entries = as_objects(value.get("messages"))
    messages = [{**as_object(entry.get("info")), "sessionID": session.get("id")} for entry in entries]
    parts = [
        {**part, "messageID": as_object(entry.get("info")).get("id")}
        for entry in entries
        for part in as_objects(entry.get("parts"))
    ]
    return _store([session], messages, parts)


def _from_files(files: Iterable[Document]) -> _Store:
    sessions: list[JsonObject] = []
    messages: list[JsonObject] = []
    parts: list[JsonObject] = []
    for file in files:
        value = as_object(file.value)
        if _is_session(value):
            sessions.append(value)
        elif "role" in value and "sessionID" in value:
            messages.append(value)
        elif "type" in value:
            # A part's file lies in a folder with the id of its message.
            parts.append({"messageID": PurePosixPath(file.name).parent.name, **value})
    return _store(sessions, messages, parts)


def _store(
    sessions: Iterable[JsonObject],
    messages: Iterable[JsonObject],
    parts: Iterable[JsonObject],
) -> _Store:
    store = _Store({as_text(session.get("id")): session for session in sessions}, {}, {})
    ordered = sorted(messages, key=lambda info: as_count(as_object(info.get("time")).get("created")))
    for info in ordered:
        session_id = as_text(info.get("sessionID"))
        store.sessions.setdefault(session_id, {"id": session_id})
        store.messages.setdefault(session_id, []).append(info)
    for part in parts:
        store.parts.setdefault(as_text(part.get("messageID")), []).append(part)
    return store


# Types of rows that say what the user chose or what the program did; the model is not sent them.
_ROW_MARKS = {"agent-switched", "model-switched", "location-switched", "idle"}


def converted(rows: Iterable[JsonObject]) -> Iterator[JsonObject]:
    """Yields a message with its parts (`info` and `parts`) for each row, in the order in which the model is sent them.

    `info` has the role `compaction` for a compaction, `shell` for a command that the user ran, `mark` for a row that
    the model is not sent, and the row's type if that is not known. The times never decrease: a prompt that waited has
    the time at which the model got it.
    """
    latest: dict[str, int] = {}
    for row in sorted(rows, key=lambda row: as_count(row.get("seq"))):
        data = as_object(parsed(row.get("data")))
        time = as_object(data.get("time"))
        session_id = as_text(row.get("session_id"))
        created = as_count(time.get("created")) or as_count(row.get("time_created"))
        latest[session_id] = max(latest.get(session_id, 0), created)
        told = {"id": row.get("id"), "sessionID": session_id, "time": {**time, "created": latest[session_id]}}
        yield _convert(as_text(row.get("type")), data, told)


def _convert(kind: str, data: JsonObject, told: JsonObject) -> JsonObject:
    info, parts = {**told, "role": kind}, list[JsonObject]()
    model = as_text(as_object(data.get("model")).get("id"))
    match kind:
        case "user" | "synthetic" | "skill":
            # Written whole.
            info |= {"role": "user", "time": {"completed": told["time"]["created"], **told["time"]}}
            parts = [
                {**_text(data.get("text")), "synthetic": kind != "user"},
                *(_file(file) for file in as_objects(data.get("files"))),
            ]
        case "system":
            parts = [_text(data.get("text"))]
        case "shell":
            # What the model is sent of it, in opencode's words.
            output = as_text(data.get("output")) or as_text(as_object(data.get("output")).get("output"))
            shell = f"Shell command: {as_text(data.get('command'))}\n\n{output}"
            parts = [{**_text(shell), "synthetic": True}]
        case "assistant":
            info |= {key: data[key] for key in ("tokens", "error", "finish") if key in data} | {"modelID": model}
            parts = [_tool(part) if part.get("type") == "tool" else part for part in as_objects(data.get("content"))]
        case "compaction":
            # Versions without a status write the row when the compaction is done.
            info |= {"status": as_text(data.get("status")) or "completed", "reason": data.get("reason")}
            if info["status"] != "running":
                time = as_object(told.get("time"))
                info["time"] = {"completed": time.get("created"), **time}
            # The model is sent both: the summary, and the newest messages as text.
            parts = [_text(data.get(key)) for key in ("summary", "recent") if data.get(key)]
        case _ if kind in _ROW_MARKS:
            info |= {"role": "mark", "mark": kind, "modelID": model}
        case _:
            pass
    return {"info": info, "parts": parts}


def _tool(part: JsonObject) -> JsonObject:
    state, time = as_object(part.get("state")), as_object(part.get("time"))
    content = as_objects(state.get("content"))
    texts = [as_text(item.get("text")) for item in content if item.get("type") == "text"]
    files = [*content, *as_objects(state.get("attachments"))]
    told: JsonObject = {
        "status": state.get("status"),
        # While the call is being written, the input is the text so far.
        "input": as_object(state.get("input")),
        "attachments": [_file(item) for item in files if item.get("type") != "text"],
        "time": {"compacted": time.get("pruned")},
    }
    if state.get("status") == "completed":
        told["output"] = "\n".join(texts)
    elif state.get("status") == "error":
        error = state.get("error")
        told["error"] = "\n".join([as_text(error) or as_text(as_object(error).get("message")), *texts]).strip()
    return {"type": "tool", "callID": part.get("id"), "tool": part.get("name"), "state": told}


def _file(file: JsonObject) -> JsonObject:
    """Converts a file: `uri` has its content as a data URL or its place; newer versions keep the content apart, as
    Base64 in `data`, and the place in `source`."""
    source, data, mime = as_object(file.get("source")), as_text(file.get("data")), as_text(file.get("mime"))
    held = f"data:{mime};base64,{data}" if data and mime.startswith("image/") else ""
    uri = as_text(file.get("uri")) or held or as_text(source.get("uri"))
    return {"type": "file", "url": uri, "mime": mime, "filename": file.get("name")}


def _text(words: object) -> JsonObject:
    return {"type": "text", "text": as_text(words)}


NAME = "opencode"
# Parts that say what the program did besides the conversation.
_MARKS = {"step-start", "step-finish", "snapshot", "patch", "agent", "retry", "compaction"}
# Roles of messages that change until they are completed. The parts of a prompt are written one after the other.
_GROWING = {"assistant", "compaction", "shell", "user"}
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


class OpencodeReader(RecordReader):
    """Reads one session of opencode. The newest answer is held back until it is complete, because its row still
    changes, and the newest prompt until another message follows, because it may get more parts."""

    def _begin(self) -> None:
        self._held: tuple[JsonObject, int] | None = None
        self._revert = ""
        self._places: dict[str, _Place] = {}
        self._added: list[str] = []
        self._compaction: JsonObject = {}

    def _read(self, value: JsonObject, number: int) -> None:
        if "session" in value:
            self._take_head(as_object(value.get("session")), as_text(value.get("program")))
            return
        info = as_object(value.get("info"))
        if self._held and as_object(self._held[0].get("info")).get("id") != info.get("id"):
            self._flush()
        self._held = value, number
        if as_text(info.get("role")) not in _GROWING or as_object(info.get("time")).get("completed"):
            self._flush()

    def finish(self) -> None:
        """Adds the newest answer if it was held back, although it is incomplete. If the user has gone back to an
        earlier message, the context ends before that message."""
        self._flush()
        names = list(self._places)
        if self._revert in names:
            at = names.index(self._revert)
            # The user may take this back, and go back again, to this message or another one.
            edit_id = f"revert-{self._revert}-{self._builder.messages}"
            self._builder.rewind(self._places[names[at - 1]].tip if at else "", edit_id=edit_id)

    def is_complete(self) -> bool:
        """Returns whether no answer is being written."""
        return not self._held or as_object(self._held[0].get("info")).get("role") == "user"

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
            builder.skip(number, f"answer without content{': ' * bool(reason)}{reason}", expected=True)

    def _read_summary(self, info: JsonObject, parts: list[JsonObject], number: int) -> None:
        """Reads a compaction's summary and adds the compaction. Its usage is left out, because it is that of the
        request for the summary. A summary that failed is added as an answer outside the context."""
        builder, message_id, compaction = self._builder, as_text(info.get("id")), self._compaction
        content = [block for part in parts for block in _read_part(part)]
        texts = [block.text for block in content if isinstance(block, TextBlock)]
        done = info.get("finish") or as_object(info.get("time")).get("completed")
        if texts and done and not info.get("error"):
            # The messages that the compaction kept.
            names, first = list(self._places), as_text(compaction.get("tail_start_id"))
            kept = names[names.index(first) :] if first in names else []
            ids = [message_id for name in kept for message_id in self._places[name].message_ids]
            cause = _cause(by_hand=compaction.get("auto") is False, overflow=compaction.get("overflow") is True)
            builder.compact("\n".join(texts), message_id, _time(info), cause=cause, kept=ids)
        elif content:
            self._add_outside(Role.ASSISTANT, content, message_id, _time(info))
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
            if cleared := as_timestamp(as_object(state.get("time")).get("compacted")):
                step.cleared[len(step.results)] = cleared
            step.content.append(call_block(part.get("callID"), part.get("tool"), as_object(state.get("input"))))
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
            # A file that the user named, a reminder; but also the user's comment on a line of a file.
            is_comment = "opencodeComment" in as_object(part.get("metadata"))
            is_by_program = part.get("synthetic") is True and not is_comment
            yield TextBlock(text=text, provided=by_program("synthetic") if is_by_program else None)
        case "reasoning":
            yield from thoughts(text)
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


def _read_result(part: JsonObject, state: JsonObject) -> Iterator[ToolResultBlock]:
    failed = state.get("status") == "error"
    text = as_text(state.get("error")) if failed else as_text(state.get("output"))
    attached = [_read_file(file) for file in as_objects(state.get("attachments"))]
    if failed or "output" in state:
        yield result_block(part.get("callID"), [*read_parts(text), *attached], failed=failed)


def _usage(tokens: JsonObject) -> Usage:
    """Converts the token counts of one request. In the file `input` excludes the cache, and `output` the reasoning."""
    usage = usage_beside(tokens | as_object(tokens.get("cache")), "input", "output", "read", "write")
    reasoning = as_count(tokens.get("reasoning"))
    return replace(usage, output_tokens=usage.output_tokens + reasoning, reasoning_tokens=reasoning)


_KNOWN = incremental(NAME, matches, OpencodeReader, records, reads_folders=True)
FORMAT = replace(_KNOWN, is_complete=OpencodeReader.is_complete, may_take_back=True)
