"""The places in which opencode keeps conversations: a database, folders of JSON files (before 2026), and exports.

All of them hold the same three things: sessions, messages, and the parts of messages.

The database of newer versions may hold messages in a table of their own, `session_message`: what its server's second
interface is asked. A row is one message whole: its type, its place (`seq`), and the rest as JSON. An answer is the
answer to one request, and a compaction is one row with the summary and the newest messages as text. Such rows are
converted to the shape of the older messages. Read from opencode's source (`session-message.ts`, `to-llm-message.ts`)
and from rows that version 1.18.33 wrote.
"""

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct

from ullage.formats.parsing import Document, Line, as_count
from ullage.formats.transcripts.format import ListedConversation, Records, choose, parsed, rows_of
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text

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
    store = _read_store(document)
    found = [_describe(store, session_id) for session_id in store.sessions]
    wanted = as_text(as_object(document.value).get("id")) if _is_session(document.value) else ""
    at = next((at for at, known in enumerate(found) if known.id == wanted), -1)
    chosen, others = (at, ()) if at >= 0 else choose(found, document)
    session_id = found[chosen].id if found else ""
    # The CLI of Kilo Code is built on opencode.
    is_kilo = "kilo" in PurePosixPath(document.name.replace("\\", "/")).parts[-2:] or "kilo.db" in document.name
    head = {"session": store.sessions.get(session_id, {}), "program": "Kilo Code" if is_kilo else "opencode"}
    messages = [{"info": info, "parts": _parts(store, info)} for info in store.messages.get(session_id, [])]
    lines = tuple(Line(number=number, value=value) for number, value in enumerate([head, *messages]))
    return Records(lines=lines, skipped=others)


def _is_export(value: Any) -> bool:
    messages = as_objects(as_object(value).get("messages"))
    return bool(messages) and all("info" in message and "parts" in message for message in messages)


def _is_session(value: Any) -> bool:
    return {"id", "projectID", "time"} <= as_object(value).keys()


def _parts(store: _Store, info: JsonObject) -> list[JsonObject]:
    return store.parts.get(as_text(info.get("id")), [])


def _describe(store: _Store, session_id: str) -> ListedConversation:
    session = store.sessions[session_id]
    return ListedConversation(
        id=session_id,
        title=as_text(session.get("title")),
        updated=as_count(as_object(session.get("time")).get("updated")),
        messages=len(store.messages.get(session_id, ())),
        is_child=bool(session.get("parentID")),
    )


def _read_store(document: Document) -> _Store:
    if document.lines and document.value is None:
        return _from_rows(document)
    if _is_export(document.value):
        return _from_export(as_object(document.value))
    return _from_files((document, *document.companions))


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
_MARKS = {"agent-switched", "model-switched", "location-switched", "idle"}


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
            info["role"] = "user"
            parts = [_text(data.get("text")), *(_file(file) for file in as_objects(data.get("files")))]
        case "system":
            parts = [_text(data.get("text"))]
        case "shell":
            # What the model is sent of it, in opencode's words.
            output = as_text(data.get("output")) or as_text(as_object(data.get("output")).get("output"))
            parts = [_text(f"Shell command: {as_text(data.get('command'))}\n\n{output}")]
        case "assistant":
            info |= {key: data[key] for key in ("tokens", "error", "finish") if key in data} | {"modelID": model}
            parts = list(_answer(data))
        case "compaction":
            info |= _compaction(data, as_object(told.get("time")))
            # The model is sent both: the summary, and the newest messages as text.
            parts = [_text(data.get(key)) for key in ("summary", "recent") if data.get(key)]
        case _ if kind in _MARKS:
            info |= {"role": "mark", "mark": kind, "modelID": model}
        case _:
            pass
    return {"info": info, "parts": parts}


def _compaction(data: JsonObject, time: JsonObject) -> JsonObject:
    # Versions without a status write the row when the compaction is done.
    status = as_text(data.get("status")) or "completed"
    if status != "running":
        time = {"completed": time.get("created"), **time}
    return {"status": status, "reason": data.get("reason"), "time": time}


def _answer(data: JsonObject) -> Iterator[JsonObject]:
    for part in as_objects(data.get("content")):
        yield _tool(part) if part.get("type") == "tool" else part


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
