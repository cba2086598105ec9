"""Replays VS Code's file of a chat session.

Older versions write the session as one JSON object. Since 1.109 the file is a log of operations on that object: `kind`
0 sets the whole, 1 sets the value at the path `k`, 2 adds the list `v` at the path, after cutting the list there to
length `i`, and 3 deletes the value at the path (microsoft/vscode, `objectMutationLog.ts`).
"""

from collections.abc import Iterable
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from ullage.formats.parsing import Document, Line
from ullage.formats.transcripts.builder import SkippedLine
from ullage.formats.transcripts.format import Records
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text

# Keys of the records that are made of the session: its own facts, and requests that the user took back.
HEAD, TAKEN_BACK = "session", "takenBack"
_WHOLE, _SET, _PUSH, _DELETE = range(4)


class _Replay:
    """A session while its log is replayed. `removed` maps a place in the list of requests to the requests removed from
    it."""

    def __init__(self, session: JsonObject) -> None:
        self.session = session
        self.removed: dict[int, list[JsonObject]] = {}


def is_log(document: Document) -> bool:
    """Returns whether the file is a log of operations on a session."""
    return any(value.get("kind") == _WHOLE and _is_session(as_object(value.get("v"))) for value in document.objects)


def is_session(document: Document) -> bool:
    """Returns whether the file is a session as one JSON object."""
    return _is_session(as_object(document.value))


def replay_records(values: Iterable[JsonObject]) -> JsonObject:
    """Returns the session object that a log's operations produce. If the only value is a session itself, returns
    that."""
    lines = [Line(number=number, value=value) for number, value in enumerate(values, start=1)]
    if len(lines) == 1 and lines[0].value is not None and _is_session(lines[0].value):
        return lines[0].value
    return _replay(lines)[0].session


def records(document: Document) -> Records:
    """Returns a record with the session's facts, then one for each request, in order.

    Requests that the user undid are marked, and come before those that replaced them.
    """
    replay, skipped = _replay(document.lines) if is_log(document) else (_Replay(as_object(document.value)), ())
    head = {key: value for key, value in replay.session.items() if key != "requests"}
    values: list[JsonObject] = [{HEAD: head | {"folder": _folder(document.companions)}}]
    requests = as_objects(replay.session.get("requests"))
    for index in range(max([len(requests), *(place + 1 for place in replay.removed)], default=0)):
        values += [request | {TAKEN_BACK: True} for request in replay.removed.get(index, ())]
        values += requests[index : index + 1]
    lines = tuple(Line(number=number, value=value) for number, value in enumerate(values, start=1))
    return Records(lines=lines, skipped=skipped)


def _is_session(session: JsonObject) -> bool:
    known = ("sessionId", "responderUsername", "initialLocation")
    return isinstance(session.get("requests"), list) and any(key in session for key in known)


def _replay(lines: Iterable[Line]) -> tuple[_Replay, tuple[SkippedLine, ...]]:
    replay = _Replay({})
    skipped: list[SkippedLine] = []
    for line in lines:
        if line.value is None:
            skipped.append(SkippedLine(line=line.number, reason=line.problem, expected=line.comment))
        elif not _apply(replay, line.value):
            reason = f"unknown operation {line.value.get('kind')!r} at {line.value.get('k')!r}"
            skipped.append(SkippedLine(line=line.number, reason=reason, expected=False))
    return replay, tuple(skipped)


def _apply(replay: _Replay, operation: JsonObject) -> bool:
    kind, path, value = operation.get("kind"), as_list(operation.get("k")), operation.get("v")
    if kind == _WHOLE:
        replay.session = as_object(value)
        return True
    holder = _find(replay.session, path[:-1]) if path else None
    if holder is None:
        return False
    if kind == _PUSH:
        return _push(replay, holder, path, as_list(value), operation.get("i"))
    if kind == _SET:
        return _set(holder, path[-1], value)
    return kind == _DELETE and _delete(holder, path[-1])


def _find(value: Any, path: list[Any]) -> Any:
    """Returns the value at a path of keys and indices, or None if there is none."""
    for key in path:
        if isinstance(value, dict):
            value = cast("JsonObject", value).get(str(key))
        elif isinstance(value, list) and isinstance(key, int) and 0 <= key < len(cast("list[Any]", value)):
            value = cast("list[Any]", value)[key]
        else:
            return None
    return value


def _push(replay: _Replay, holder: Any, path: list[Any], added: list[Any], length: Any) -> bool:
    found = _find(holder, path[-1:])
    if found is None:
        return _set(holder, path[-1], added)
    if not isinstance(found, list):
        return False
    items = cast("list[Any]", found)
    if isinstance(length, int):
        if path == ["requests"] and length < len(items):
            replay.removed.setdefault(length, []).extend(as_objects(items[length:]))
        del items[length:]
    items.extend(added)
    return True


def _set(holder: Any, key: Any, value: Any) -> bool:
    if isinstance(holder, dict):
        cast("JsonObject", holder)[str(key)] = value
        return True
    items = cast("list[Any]", holder) if isinstance(holder, list) else None
    if items is None or not isinstance(key, int) or not 0 <= key <= len(items):
        return False
    items[key : key + 1] = [value]
    return True


def _delete(holder: Any, key: Any) -> bool:
    if isinstance(holder, dict):
        cast("JsonObject", holder).pop(str(key), None)
        return True
    if not isinstance(holder, list) or not isinstance(key, int):
        return False
    del cast("list[Any]", holder)[key : key + 1]
    return True


def _folder(companions: Iterable[Document]) -> str:
    """Returns the folder of the workspace, from its `workspace.json`."""
    return next((folder for companion in companions if (folder := folder_of(as_object(companion.value)))), "")


def folder_of(workspace: JsonObject) -> str:
    """Returns the path of the folder in the object of a `workspace.json`, or "" if it contains no folder on this
    machine."""
    uri = urlsplit(as_text(workspace.get("folder")))
    return unquote(uri.path) if uri.scheme == "file" else ""
