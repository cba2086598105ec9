"""Converts the rows of `session_message`, in which opencode keeps what its server's second interface is asked, to the
shape of its older messages.

A row is one message whole: its type, its place (`seq`), and the rest as JSON. An answer is the answer to one request,
and a compaction is one row with the summary and the newest messages as text. Read from opencode's source
(`session-message.ts`, `to-llm-message.ts`) and from rows that version 1.18.33 wrote.
"""

from collections.abc import Iterable, Iterator

from ullage.formats.parsing import as_count
from ullage.formats.transcripts.several import parsed
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text

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
