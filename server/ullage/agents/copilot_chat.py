"""Reads VS Code's chat sessions (`…/workspaceStorage/*/chatSessions/*.json` and `.jsonl`), such as Copilot Chat's.

A session is a list of requests; its file is replayed. Copilot keeps what the model was sent and
answered in a request's `result.metadata`: `renderedUserMessage`, `toolCallRounds` (answers with calls),
`toolCallResults`, summaries, and the usage of the turn's last call. Other participants leave only what the user saw, in
`response`.

Older versions write the session as one JSON object. Since 1.109 the file is a log of operations on that object: `kind`
0 sets the whole, 1 sets the value at the path `k`, 2 adds the list `v` at the path, after cutting the list there to
length `i`, and 3 deletes the value at the path (microsoft/vscode, `objectMutationLog.ts`).
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from ullage.agents.agent import Agent, Facts, Sessions, common_facts, first_prompt
from ullage.agents.machine import Machine
from ullage.agents.record_reader import RecordReader
from ullage.formats.parsing import Document, Line, as_count, as_timestamp, exclude_cache
from ullage.formats.transcripts.builder import SkippedLine
from ullage.formats.transcripts.chat import call_block, read_parts, result_block, text_block, thoughts
from ullage.formats.transcripts.format import Records, incremental, records_of
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Block, ResourceBlock, ResultPart, Role, TextBlock, ToolResultBlock, ToolUseBlock

# Keys of the records that are made of the session: its own facts, and requests that the user took back.
HEAD, TAKEN_BACK = "session", "takenBack"
_WHOLE, _SET, _PUSH, _DELETE = range(4)


class _Replay:
    """A session while its log is replayed. `removed` maps a place in the list of requests to the requests removed from
    it."""

    def __init__(self, session: JsonObject) -> None:
        self.session = session
        self.removed: dict[int, list[JsonObject]] = {}


def _is_log(document: Document) -> bool:
    return any(value.get("kind") == _WHOLE and _is_session(as_object(value.get("v"))) for value in document.objects)


def _records(document: Document) -> Records:
    """Returns a record with the session's facts, then one for each request, in order.

    Requests that the user undid are marked, and come before those that replaced them.
    """
    replay, skipped = _replay(document.lines) if _is_log(document) else (_Replay(as_object(document.value)), ())
    head = {key: value for key, value in replay.session.items() if key != "requests"}
    folders = (folder_of(as_object(companion.value)) for companion in document.companions)
    values: list[JsonObject] = [{HEAD: head | {"folder": next(filter(None, folders), "")}}]
    requests = as_objects(replay.session.get("requests"))
    for index in range(max([len(requests), *(place + 1 for place in replay.removed)], default=0)):
        values += [request | {TAKEN_BACK: True} for request in replay.removed.get(index, ())]
        values += requests[index : index + 1]
    return records_of(values, skipped, first=1)


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


def folder_of(workspace: JsonObject) -> str:
    """Returns the path of the folder in the object of a `workspace.json`, or "" if it contains no folder on this
    machine."""
    uri = urlsplit(as_text(workspace.get("folder")))
    return unquote(uri.path) if uri.scheme == "file" else ""


NAME = "vscode-chat"
# A model's name begins with its vendor. `auto` lets Copilot choose; the answer then names the model.
_VENDOR, _CHOSEN = "copilot/", "copilot/auto"


def _matches(document: Document) -> bool:
    return _is_session(as_object(document.value)) or _is_log(document)


def _companions(path: str) -> tuple[str, ...]:
    # The `workspace.json` names the folder of the workspace.
    return ("../workspace.json",) if "/workspaceStorage/" in path and "/chatSessions/" in path else ()


# Values of `modelState` of a request that is being answered, was cancelled, or waits for the user (vscode,
# `ResponseModelState`). One that is being answered is stored as cancelled.
_UNFINISHED = (0, 2, 4)


class ChatReader(RecordReader):
    """Reads one chat session of VS Code: a record with the session's facts, then one per request. The newest request is
    held back while it is being answered."""

    def _begin(self) -> None:
        # Where the conversation continues after requests that the user took back.
        self._before: str | None = None
        self._growing: JsonObject = {}

    def _read(self, value: JsonObject, number: int) -> None:  # noqa: ARG002
        if HEAD in value:
            self._take_facts(as_object(value[HEAD]))
            return
        self._end_growing()
        if as_object(value.get("modelState")).get("value") in _UNFINISHED and not value.get("result"):
            self._growing = value
        else:
            self._take(value)

    def _take(self, value: JsonObject) -> None:
        taken_back = bool(value.get(TAKEN_BACK) or value.get("isHidden") or value.get("shouldBeRemovedOnSend"))
        if taken_back and self._before is None:
            self._before = self._builder.tip
        elif not taken_back:
            self._go_back()
        self._take_request(value)

    def _flush(self) -> None:
        self._end_growing()
        self._go_back()

    def is_complete(self) -> bool:
        """Returns whether no answer is being written."""
        return not self._growing

    def _end_growing(self) -> None:
        value, self._growing = self._growing, {}
        if value:
            self._take(value)

    def _go_back(self) -> None:
        before, self._before = self._before, None
        if before is not None:
            self._builder.rewind(before)

    def _take_facts(self, session: JsonObject) -> None:
        self._builder.agent = as_text(session.get("responderUsername")) or "Copilot Chat"
        self._builder.session_id = as_text(session.get("sessionId"))
        self._builder.title = as_text(session.get("customTitle"))
        self._builder.cwd = as_text(session.get("folder"))
        model = as_object(as_object(session.get("inputState")).get("selectedModel"))
        self._builder.window(as_count(as_object(model.get("metadata")).get("maxInputTokens")) or None)

    def _take_request(self, request: JsonObject) -> None:
        metadata = as_object(as_object(request.get("result")).get("metadata"))
        time = as_timestamp(request.get("timestamp"))
        rounds = as_objects(metadata.get("toolCallRounds"))
        served = (as_text(one.get("modelId")) for one in rounds)
        names = (as_text(metadata.get("resolvedModel")), *served, as_text(request.get("modelId")))
        self._builder.use_model(next((n for n in names if n not in ("", _CHOSEN)), "").removeprefix(_VENDOR))
        self._builder.add(Role.USER, _read_prompt(request, metadata), as_text(request.get("requestId")), time)
        answer = self._take_rounds(rounds, metadata, time) if rounds else self._take_response(request, time)
        prompt = as_count(metadata.get("promptTokens")) or as_count(request.get("promptTokens"))
        # `completionTokens` adds up all calls of the turn.
        output = as_count(metadata.get("outputTokens"))
        output = output or (as_count(request.get("completionTokens")) if len(rounds) <= 1 else 0)
        if answer and prompt:
            self._builder.report(exclude_cache(prompt, output, 0), answer)

    def _take_rounds(self, rounds: Sequence[JsonObject], metadata: JsonObject, time: int) -> str:
        """Adds the answers of a request with the results of their calls, and the summaries after them. Returns the id
        of the last answer, empty if there is none. `time` is Unix milliseconds."""
        results = as_object(metadata.get("toolCallResults"))
        written = as_objects(metadata.get("summaries")) or [as_object(metadata.get("summary"))]
        summaries = {as_text(one.get("toolCallRoundId")): one for one in written}
        answer = ""
        for one in rounds:
            at = as_timestamp(one.get("timestamp")) or time
            calls = as_objects(one.get("toolCalls"))
            if content := _read_round(one, calls):
                answer = self._builder.add(Role.ASSISTANT, content, as_text(one.get("id")), at)
            if found := [_read_result(as_text(call.get("id")), results) for call in calls if call.get("id") in results]:
                self._builder.add(Role.USER, found, timestamp=at)
            summary = summaries.get(as_text(one.get("id")), {"text": one.get("summary")})
            if text := as_text(summary.get("text")):
                before = as_count(summary.get("contextLengthBefore"))
                self._builder.compact(text, f"summary-{as_text(one.get('id'))}", at, before=before)
        return answer

    def _take_response(self, request: JsonObject, time: int) -> str:
        """Adds the answer of a request as the user saw it, for requests without other kept parts. Returns its id,
        empty if there was no answer."""
        response = request.get("response")
        parts = [response] if isinstance(response, str) else as_list(response)
        content = [block for part in parts for block in _read_shown(part)]
        if not content:
            return ""
        answer = self._builder.add(Role.ASSISTANT, content, as_text(request.get("responseId")), time)
        results = [
            result_block(block.id, _read_outcome(as_object(part)))
            for part in parts
            for block in _read_shown(part)
            if isinstance(block, ToolUseBlock)
        ]
        if results:
            self._builder.add(Role.USER, results, timestamp=time)
        return answer


def _read_prompt(request: JsonObject, metadata: JsonObject) -> list[Block]:
    """Returns the user's message as the model was sent it or, if that wasn't kept, as it was typed, with the attached
    files."""
    context = [*as_list(metadata.get("renderedGlobalContext")), *as_list(metadata.get("renderedUserMessage"))]
    rendered: list[Block] = [TextBlock(text=text) for text in _texts(context)]
    if rendered:
        return rendered
    message = request.get("message")
    text = as_text(message) or as_text(as_object(message).get("text"))
    variables = as_objects(as_object(request.get("variableData")).get("variables"))
    return [TextBlock(text=text), *(ResourceBlock(uri=uri) for one in variables if (uri := _uri(one.get("value"))))]


def _read_round(one: JsonObject, calls: Iterable[JsonObject]) -> list[Block]:
    thinking = "".join(_texts(as_object(one.get("thinking")).get("text")))
    made = (call_block(call.get("id"), call.get("name"), call.get("arguments")) for call in calls)
    return [*thoughts(thinking), *read_parts(as_text(one.get("response"))), *made]


def _read_result(call: str, results: JsonObject) -> ToolResultBlock:
    parts = as_list(as_object(results[call]).get("content"))
    texts = ("".join(_texts(as_object(part).get("value", part))) for part in parts)
    return result_block(call, [TextBlock(text=text) for text in texts if text])


def _read_shown(part: Any) -> list[Block]:
    """Converts one part of an answer as the user saw it to blocks; empty for parts without a text, such as progress."""
    shown = {"value": part} if isinstance(part, str) else as_object(part)
    match shown.get("kind"):
        case None | "markdownContent" | "markdownVuln":
            return [*read_parts(as_text(shown.get("value")) or as_text(as_object(shown.get("content")).get("value")))]
        case "thinking":
            return [*thoughts("".join(_texts(shown.get("value"))))]
        case "inlineReference":
            uri = _uri(shown.get("inlineReference"))
            return [TextBlock(text=as_text(shown.get("name")) or uri)] if uri else []
        case "textEditGroup":
            return [text_block({"edited": _uri(shown.get("uri")), "edits": shown.get("edits")})]
        case "toolInvocationSerialized":
            given = as_object(as_object(shown.get("toolSpecificData")).get("rawInput"))
            command = as_object(as_object(shown.get("toolSpecificData")).get("commandLine"))
            given = given or ({"command": line} if (line := as_text(command.get("original"))) else {})
            # The model calls a tool by its id in VS Code without the prefix of Copilot's extension.
            name = as_text(shown.get("toolId")).removeprefix("copilot_")
            return [call_block(shown.get("toolCallId"), name, given)]
        case _:
            return []


def _read_outcome(shown: JsonObject) -> tuple[ResultPart, ...]:
    details = as_object(shown.get("resultDetails")).get("output")
    texts = [*_texts(details), *_texts(shown.get("pastTenseMessage"))]
    return tuple(TextBlock(text=text) for text in texts[:1])


def _texts(value: Any) -> Iterator[str]:
    """Yields all texts in a value, in order: strings, the fields `text` and `value` of parts, and the texts of rendered
    nodes."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _texts(item)
    elif isinstance(value, dict):
        part = as_object(cast("Any", value))
        for key in ("text", "value", "node", "children"):
            yield from _texts(part.get(key))


def _uri(value: Any) -> str:
    """Returns the address that a reference has: a string as it is, or the path of a VS Code URI, also of one with a
    range."""
    if isinstance(value, str):
        return value
    place = as_object(value)
    return (
        as_text(place.get("fsPath")) or as_text(place.get("path")) or (_uri(place["uri"]) if place.get("uri") else "")
    )


FORMAT = replace(incremental(NAME, _matches, ChatReader, _records), is_complete=ChatReader.is_complete)


def _patterns(machine: Machine) -> tuple[str, ...]:
    # Those of each workspace, and those of windows without one.
    users = machine.editor_folders("User")
    folders = ("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions")
    return tuple(f"{user}/{folder}/*.json*" for user in users for folder in folders)


def _facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    facts = common_facts(path, [as_object(record.get("v", record)) for record in records])
    return replace(facts, cwd=next((folder for record in records if (folder := folder_of(record))), ""))


def _title_of(records: Sequence[JsonObject]) -> str:
    own = [record for record in records if not folder_of(record)]
    is_whole = len(own) == 1 and _is_session(own[0])
    session = own[0] if is_whole else _replay(records_of(own).lines)[0].session
    messages = (as_object(request).get("message") for request in as_objects(session.get("requests")))
    return as_text(session.get("customTitle")) or first_prompt(messages)


AGENT = Agent(
    name="Copilot Chat",
    short="Chat",
    formats=(FORMAT,),
    companions=_companions,
    sessions=Sessions(patterns=_patterns, title_of=_title_of, facts=_facts_of, fact_files=_companions),
)
