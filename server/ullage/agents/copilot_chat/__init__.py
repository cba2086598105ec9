"""Reads VS Code's chat sessions (`…/workspaceStorage/*/chatSessions/*.json` and `.jsonl`), such as Copilot Chat's.

A session is a list of requests; its file is replayed (`session_log.py`). Copilot keeps what the model was sent and
answered in a request's `result.metadata`: `renderedUserMessage`, `toolCallRounds` (answers with calls),
`toolCallResults`, summaries, and the usage of the turn's last call. Other participants leave only what the user saw, in
`response`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from msgspec.structs import replace

from ullage.agents.agent import Agent, Sessions
from ullage.agents.copilot_chat.session_log import (
    HEAD,
    TAKEN_BACK,
    folder_of,
    is_log,
    is_session,
    records,
    replay_records,
)
from ullage.agents.machine import Machine, first_prompt
from ullage.agents.session_facts import Facts, common_facts
from ullage.formats.parsing import Document, Line, as_count, as_timestamp, exclude_cache, to_json
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import read_arguments
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
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Role

NAME = "vscode-chat"
# A model's name begins with its vendor. `auto` lets Copilot choose; the answer then names the model.
_VENDOR, _CHOSEN = "copilot/", "copilot/auto"


def matches(document: Document) -> bool:
    """Returns whether the file is a chat session of VS Code, as one JSON object or as a log of operations."""
    return is_session(document) or is_log(document)


def companions(path: str) -> tuple[str, ...]:
    """Returns the path, relative to the file's folder, of the `workspace.json` that names the folder of the session's
    workspace."""
    return ("../workspace.json",) if "/workspaceStorage/" in path and "/chatSessions/" in path else ()


# Values of `modelState` of a request that is being answered, was cancelled, or waits for the user (vscode,
# `ResponseModelState`). One that is being answered is stored as cancelled.
_UNFINISHED = (0, 2, 4)


class ChatReader:
    """Reads one chat session of VS Code: a record with the session's facts, then one per request. The newest request is
    held back while it is being answered."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        # Where the conversation continues after requests that the user took back.
        self._before: str | None = None
        self._growing: JsonObject = {}

    def take(self, record: Line) -> None:
        """Reads the record with the session's facts, or the next request with its answers."""
        value = record.value or {}
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

    def finish(self) -> None:
        """Adds the newest request if it was held back. Leaves the last requests out of the context if the user undid
        them."""
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
        self._use_model(request, metadata)
        self._builder.add(Role.USER, _read_prompt(request, metadata), as_text(request.get("requestId")), time)
        rounds = as_objects(metadata.get("toolCallRounds"))
        answer = self._take_rounds(rounds, metadata, time) if rounds else self._take_response(request, time)
        prompt = as_count(metadata.get("promptTokens")) or as_count(request.get("promptTokens"))
        # `completionTokens` adds up all calls of the turn.
        output = as_count(metadata.get("outputTokens"))
        output = output or (as_count(request.get("completionTokens")) if len(rounds) <= 1 else 0)
        if answer and prompt:
            self._builder.report(exclude_cache(prompt, output, 0), answer)

    def _use_model(self, request: JsonObject, metadata: JsonObject) -> None:
        served = [as_text(one.get("modelId")) for one in as_objects(metadata.get("toolCallRounds"))]
        names = (as_text(metadata.get("resolvedModel")), *served, as_text(request.get("modelId")))
        name = next((name for name in names if name and name != _CHOSEN), "")
        self._builder.use_model(name.removeprefix(_VENDOR))

    def _take_rounds(self, rounds: Sequence[JsonObject], metadata: JsonObject, time: int) -> str:
        """Adds the answers of a request with the results of their calls, and the summaries after them. Returns the id
        of the last answer, empty if there is none. `time` is Unix milliseconds."""
        results = as_object(metadata.get("toolCallResults"))
        summaries = {as_text(one.get("toolCallRoundId")): one for one in _summaries(metadata)}
        answer = ""
        for one in rounds:
            at = as_timestamp(one.get("timestamp")) or time
            calls = as_objects(one.get("toolCalls"))
            content = _read_round(one, calls)
            if content:
                answer = self._builder.add(Role.ASSISTANT, content, as_text(one.get("id")), at)
            found = [_read_result(as_text(call.get("id")), results) for call in calls if call.get("id") in results]
            if found:
                self._builder.add(Role.USER, found, timestamp=at)
            summary = summaries.get(as_text(one.get("id")), {"text": one.get("summary")})
            if text := as_text(summary.get("text")):
                before = as_count(summary.get("contextLengthBefore"))
                self._builder.compact(text, f"summary-{as_text(one.get('id'))}", at, before=before)
        return answer

    def _take_response(self, request: JsonObject, time: int) -> str:
        """Adds the answer of a request as the user saw it, for requests of which nothing else was kept. Returns its id,
        empty if there was no answer."""
        response = request.get("response")
        parts = [response] if isinstance(response, str) else as_list(response)
        content = [block for part in parts for block in _read_shown(part)]
        if not content:
            return ""
        answer = self._builder.add(Role.ASSISTANT, content, as_text(request.get("responseId")), time)
        results = [
            ToolResultBlock(tool_use_id=block.id, content=_read_outcome(as_object(part)))
            for part in parts
            for block in _read_shown(part)
            if isinstance(block, ToolUseBlock)
        ]
        if results:
            self._builder.add(Role.USER, results, timestamp=time)
        return answer


def _summaries(metadata: JsonObject) -> list[JsonObject]:
    return as_objects(metadata.get("summaries")) or [as_object(metadata.get("summary"))]


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
    thinking, text = "".join(_texts(as_object(one.get("thinking")).get("text"))), as_text(one.get("response"))
    content: list[Block] = [ThinkingBlock(thinking=thinking)] if thinking else []
    content += [TextBlock(text=text)] if text else []
    for call in calls:
        arguments = read_arguments(call.get("arguments"))
        content.append(ToolUseBlock(id=as_text(call.get("id")), name=as_text(call.get("name")), input=arguments))
    return content


def _read_result(call: str, results: JsonObject) -> ToolResultBlock:
    parts = as_list(as_object(results[call]).get("content"))
    texts = ("".join(_texts(as_object(part).get("value", part))) for part in parts)
    return ToolResultBlock(tool_use_id=call, content=tuple(TextBlock(text=text) for text in texts if text))


def _read_shown(part: Any) -> list[Block]:
    """Converts one part of an answer as the user saw it to blocks; empty for parts without a text, such as progress."""
    shown = {"value": part} if isinstance(part, str) else as_object(part)
    match shown.get("kind"):
        case None | "markdownContent" | "markdownVuln":
            text = as_text(shown.get("value")) or as_text(as_object(shown.get("content")).get("value"))
            return [TextBlock(text=text)] if text else []
        case "thinking":
            text = "".join(_texts(shown.get("value")))
            return [ThinkingBlock(thinking=text)] if text else []
        case "inlineReference":
            uri = _uri(shown.get("inlineReference"))
            return [TextBlock(text=as_text(shown.get("name")) or uri)] if uri else []
        case "textEditGroup":
            return [TextBlock(text=to_json({"edited": _uri(shown.get("uri")), "edits": shown.get("edits")}))]
        case "toolInvocationSerialized":
            given = as_object(as_object(shown.get("toolSpecificData")).get("rawInput"))
            command = as_object(as_object(shown.get("toolSpecificData")).get("commandLine"))
            given = given or ({"command": line} if (line := as_text(command.get("original"))) else {})
            # The model calls a tool by its id in VS Code without the prefix of Copilot's extension.
            name = as_text(shown.get("toolId")).removeprefix("copilot_")
            return [ToolUseBlock(id=as_text(shown.get("toolCallId")), name=name, input=given)]
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


FORMAT = replace(incremental(NAME, matches, ChatReader, records), is_complete=ChatReader.is_complete)


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for VS Code's chat sessions: those of each workspace, and those of windows without one."""
    users = machine.editor_folders("User")
    folders = ("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions")
    return tuple(f"{user}/{folder}/*.json*" for user in users for folder in folders)


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session. Its folder is in the file `workspace.json` of its workspace."""
    facts = common_facts(path, [as_object(record.get("v", record)) for record in records])
    return replace(facts, cwd=next((folder for record in records if (folder := folder_of(record))), ""))


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns the session's title, or else the first line of the first prompt in these records. Returns "" if they
    contain neither."""
    session = replay_records([record for record in records if not folder_of(record)])
    messages = (as_object(request).get("message") for request in as_objects(session.get("requests")))
    return as_text(session.get("customTitle")) or first_prompt(messages)


AGENT = Agent(
    name="Copilot Chat",
    short="Chat",
    formats=(FORMAT,),
    companions=companions,
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of, fact_files=companions),
)
