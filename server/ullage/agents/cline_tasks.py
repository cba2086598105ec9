"""Reads tasks of Cline's classic extension and of Roo Code, which began as a copy of it.

`api_conversation_history.json` holds Anthropic's messages, and `ui_messages.json` what the user was shown, with the
usage of each request. Roo Code hides messages instead of removing them: each names the summary or the marker that took
its place. Cline says which range of messages it no longer sends.

A request in `ui_messages.json` is `{say: "api_req_started", text}`, whose text is JSON with the request's token counts.
"""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath

from ullage.agents.record_reader import LEFT_OUT, RecordReader, usage_in
from ullage.formats.parsing import Document, Line, as_count, as_timestamp, exclude_cache
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import read_blocks
from ullage.formats.transcripts.format import Records, file_named, incremental, parsed
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Block, ResourceBlock, Role, TextBlock, ThinkingBlock, join_texts
from ullage.model.usage import Usage

NAME = "cline-task"
_HISTORY, _SHOWN = "api_conversation_history.json", "ui_messages.json"
_FOLDER = re.compile(r"# Current (?:Working|Workspace) Directory \((.{1,4096}?)\)")
_MODEL = re.compile(r"<model>([^<\n]+)</model>")
# Fields that only these programs add to a message.
_OWN_FIELDS = {"modelInfo", "metrics", "isSummary", "condenseId", "condenseParent", "truncationParent"}
# Roo Code's fields, in a message or in the account of a request.
_ROO_FIELDS = {"isSummary", "condenseId", "condenseParent", "truncationParent", "isTruncationMarker", "apiProtocol"}


def matches(document: Document) -> bool:
    """Returns whether the file is the history of a task of Cline or Roo Code, judged by the file `ui_messages.json`
    next to it or by fields that only these programs write."""
    messages = _messages(document)
    if not messages or not all(item.get("role") in ("user", "assistant") for item in messages):
        return False
    shown = file_named(document, _SHOWN)
    return bool(shown and as_list(shown.value)) or any(
        _OWN_FIELDS & item.keys() or "<environment_details>" in join_texts(read_content(item)) for item in messages[:4]
    )


def records(document: Document) -> Records:
    """Returns a record with the facts of the task, then one per message. An answer's record has its request's token
    counts."""
    messages = _messages(document)
    shown = file_named(document, _SHOWN)
    ui_messages = as_objects(shown.value) if shown else []
    requests = _requests_of(messages, ui_messages)
    about = {
        name: as_object(found.value)
        for name in ("history_item.json", "task_metadata.json")
        if (found := file_named(document, name))
    }
    history = file_named(document, _HISTORY)
    path = PurePosixPath((document if document.value is not None or not history else history).name.replace("\\", "/"))
    fields = {key for value in (*messages, *requests.values()) for key in value}
    program = "Roo Code" if _ROO_FIELDS & fields or "history_item.json" in about else "Cline"
    prompt = next((as_text(item.get("text")) for item in ui_messages if item.get("text")), "")
    head = {**about, "folder": path.parent.name, "program": program, "prompt": prompt}
    lines = [
        Line(number=number, value={"message": message, "request": requests.get(number - 1)})
        for number, message in enumerate(messages, start=1)
    ]
    return Records(lines=(Line(number=1, value={"head": head}), *lines))


def _messages(document: Document) -> list[JsonObject]:
    found = file_named(document, _HISTORY) if document.value is None else document
    value = found.value if found else None
    return as_objects(value) or (
        as_objects(as_object(value).get("messages")) if as_object(value).get("version") == 2 else []
    )


class TaskReader(RecordReader):
    """Reads one task of Cline or Roo Code. Every message is complete when it is written, so no event is held back."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        super().__init__(builder)
        self._added: list[str] = []
        self._hidden: dict[str, list[str]] = {}
        self._dropped: set[str] = set()
        self._models: Sequence[JsonObject] = ()

    def _read(self, value: JsonObject, number: int) -> None:
        if "head" in value:
            self._take_head(as_object(value.get("head")))
        else:
            self._take_message(as_object(value.get("message")), as_object(value.get("request")), number)

    def _take_head(self, head: JsonObject) -> None:
        builder, task = self._builder, as_object(head.get("history_item.json"))
        builder.agent = as_text(head.get("program"))
        builder.session_id = as_text(task.get("id")) or as_text(head.get("folder"))
        builder.parent = as_text(task.get("parentTaskId"))
        builder.is_sub_agent = bool(builder.parent)
        builder.cwd = as_text(task.get("workspace"))
        title = (as_text(task.get("task")) or as_text(head.get("prompt"))).strip()
        builder.title = title.partition("\n")[0][:200]
        self._models = as_objects(as_object(head.get("task_metadata.json")).get("model_usage"))

    def _take_message(self, message: JsonObject, request: JsonObject, number: int) -> None:
        builder, timestamp = self._builder, as_timestamp(message.get("ts"))
        content = [*_reasoning(message), *read_content(message)]
        if not content or message.get("role") not in ("user", "assistant"):
            self._added.append("")
            builder.skip(number, f"message {number} has no content", expected=True)
        elif message.get("isSummary") is True:
            # Older versions sent the first message, too; newer ones name each summary and send it first.
            first = [] if message.get("condenseId") else [added for added in self._added[:1] if added]
            self._added.append("")
            builder.compact(join_texts(content), as_text(message.get("condenseId")), timestamp, leading=first)
        elif message.get("isTruncationMarker") is True:
            self._added.append("")
            self._drop(self._hidden.get(as_text(message.get("truncationId")), []), join_texts(content), timestamp)
        else:
            self._add(message, content, request)

    def _add(self, message: JsonObject, content: list[Block], request: JsonObject) -> None:
        builder, timestamp = self._builder, as_timestamp(message.get("ts"))
        left_out = [as_count(bound) for bound in as_list(request.get("deletedRange"))]
        if len(left_out) == 2:
            self._drop(self._added[left_out[0] : left_out[1] + 1], LEFT_OUT, timestamp)
        self._read_facts(message, content, timestamp)
        message_id = builder.add(Role(as_text(message.get("role"))), content, as_text(message.get("id")), timestamp)
        self._added.append(message_id)
        hidden = as_text(message.get("truncationParent"))
        if hidden:
            self._hidden.setdefault(hidden, []).append(message_id)
        builder.report(
            _usage_of(request, includes_cache=builder.agent == "Roo Code") or _own_usage(message), message_id
        )

    def _read_facts(self, message: JsonObject, content: list[Block], timestamp: int) -> None:
        builder, text = self._builder, join_texts(content)
        model = as_text(as_object(message.get("modelInfo")).get("modelId"))
        if message.get("role") == "assistant":
            used = [item for item in self._models if as_timestamp(item.get("ts")) <= timestamp or not timestamp]
            builder.use_model(model or (as_text(used[-1].get("model_id")) if used else ""))
            return
        folder, named = _FOLDER.search(text), _MODEL.search(text)
        builder.cwd = builder.cwd or (folder.group(1) if folder else "")
        builder.use_model(named.group(1) if named else "")

    def _drop(self, message_ids: Sequence[str], notice: str, timestamp: int) -> None:
        new = [message_id for message_id in message_ids if message_id and message_id not in self._dropped]
        self._dropped.update(new)
        self._builder.drop(new, notice, timestamp)


def read_content(message: JsonObject) -> tuple[Block, ...]:
    """Converts a message's content to blocks: Anthropic's blocks, and files that the user attached."""
    content = message.get("content")
    blocks: list[Block] = []
    for item in as_list(content) or [content]:
        part = as_object(item)
        if part.get("type") == "file" and "path" in part:
            blocks.append(ResourceBlock(uri=as_text(part.get("path")), text=as_text(part.get("content")) or None))
        elif item:
            blocks += read_blocks(item if isinstance(item, str) else [item])
    return tuple(block for block in blocks if not isinstance(block, TextBlock) or block.text)


def _reasoning(message: JsonObject) -> list[Block]:
    item = as_text(message.get("text")) if message.get("type") == "reasoning" else ""
    text = as_text(message.get("reasoning_content")) or item
    return [ThinkingBlock(thinking=text)] if text else []


def _own_usage(message: JsonObject) -> Usage:
    return usage_in(as_object(as_object(message.get("metrics")).get("tokens")), "prompt", "completion", "cached")


def _requests_of(messages: Sequence[JsonObject], ui_messages: Sequence[JsonObject]) -> dict[int, JsonObject]:
    """Returns the listed request of each answer, by the answer's index in `messages`. It has the request's token
    counts, and `deletedRange` if the range of messages that are no longer sent has changed.

    An answer is paired with the last request before its time if both have times. Otherwise answers and requests are
    paired from the end, because a request that failed has no answer, and the newest figures matter most.
    """
    requests = _read_requests(ui_messages)
    answers = [index for index, message in enumerate(messages) if message.get("role") == "assistant"]
    times = [as_timestamp(messages[index].get("ts")) for index in answers]
    if not all(times) or not all(request["ts"] for request in requests):
        return dict(zip(reversed(answers), reversed(requests), strict=False))
    paired: dict[int, JsonObject] = {}
    place = 0
    for index, time in zip(answers, times, strict=True):
        begun = [at for at in range(place, len(requests)) if requests[at]["ts"] <= time]
        if begun:
            paired[index] = requests[begun[-1]]
            place = begun[-1] + 1
    return paired


def _usage_of(request: JsonObject, *, includes_cache: bool) -> Usage | None:
    """Returns a request's token counts as `Usage`, or None if the request has none.

    `includes_cache` says that `tokensIn` counts the whole prompt; this is ignored if the cached tokens alone are more.
    """
    prompt, answer = as_count(request.get("tokensIn")), as_count(request.get("tokensOut"))
    read, written = as_count(request.get("cacheReads")), as_count(request.get("cacheWrites"))
    if not prompt + answer + read + written:
        return None
    return exclude_cache(
        prompt if includes_cache and prompt >= read + written else prompt + read + written, answer, read, written
    )


def _read_requests(ui_messages: Sequence[JsonObject]) -> list[JsonObject]:
    requests: list[JsonObject] = []
    left_out: list[object] = []
    for shown in ui_messages:
        now = as_list(shown.get("conversationHistoryDeletedRange"))
        if shown.get("say") != "api_req_started":
            continue
        counts = as_object(parsed(shown.get("text")))
        # A request that is still running has no counts yet.
        if "tokensIn" in counts or "tokensOut" in counts:
            changed = {"deletedRange": now} if now and now != left_out else {}
            requests.append({**counts, **changed, "ts": as_timestamp(shown.get("ts"))})
            left_out = now or left_out
    return requests


FORMAT = incremental(NAME, matches, TaskReader, records)
