"""Reads Gemini CLI's conversations (`~/.gemini/tmp/PROJECT/chats/session-*`) and its checkpoints.

A `.jsonl` file is a log: a header, messages (the last line with an id counts), `$set` for facts about the conversation
or its whole context, and `$rewindTo`, which takes a message and all after it away. A `.json` file is one object with
`messages`. A checkpoint is a list of the API's contents, bare or under `history` or `clientHistory`.
"""

import re
from pathlib import PurePosixPath

from msgspec.structs import replace

from ullage.agents.gemini_cli.context import Context, Entry
from ullage.formats.parsing import Document, Line, as_count, as_timestamp
from ullage.formats.provider_usage import exclude_cache
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.format import Records, incremental
from ullage.formats.transcripts.google_parts import PartReader
from ullage.model.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Role
from ullage.model.usage import Usage

NAME = "gemini-cli"
_ANSWERS = {"gemini", "model", "assistant"}
# What the program shows to its user and never sends to the model.
_NOTICES = {"info", "error", "warning"}
_FACTS = {
    *("sessionId", "projectHash", "startTime", "start_time", "lastUpdated", "kind", "directories", "summary", "meta"),
    *("memoryScratchpad", "activeExtensionName", "messages", "parent"),
    *("authType", "toolCall", "commitHash", "filePath", "messageId"),
}
_HISTORIES = ("messages", "clientHistory", "history")
_FOLDER = re.compile(r"Workspace Directories:\*\*[^\S\n]*\n\s*+- (.+)|working in the directory: (.+)")
# The folder of a sub-agent's file is named after its parent's conversation.
_CONVERSATION_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def matches(document: Document) -> bool:
    """Returns whether the file is one of Gemini CLI's logs, conversations or checkpoints."""
    history = _history(document)
    if history:
        typed = as_objects(as_object(document.value).get("messages"))
        return all(
            as_text(item.get("type")) in {"user", *_ANSWERS, *_NOTICES}
            if typed
            else isinstance(item.get("parts"), list)
            for item in as_objects(history)
        )
    return any(
        "$rewindTo" in value
        or isinstance(value.get("$set"), dict)
        or (value.get("type") in ("user", "gemini") and "content" in value and "timestamp" in value and "id" in value)
        for value in document.objects
    )


def records(document: Document) -> Records:
    """Returns the lines of a log, or for a conversation in one JSON object a record with its facts, then one per
    message."""
    history = _history(document)
    if history:
        head = {key: value for key, value in as_object(document.value).items() if key not in _HISTORIES}
        messages = [Line(number=number, value=as_object(item)) for number, item in enumerate(history, start=1)]
        return Records(lines=(Line(number=1, value={"$set": head}), *messages))
    folder = PurePosixPath(document.name.replace("\\", "/")).parent.name
    subagent = any(value.get("kind") == "subagent" for value in document.objects[:1])
    parent = folder if subagent and _CONVERSATION_ID.fullmatch(folder) else ""
    return Records(
        lines=(Line(number=1, value={"$set": {"parent": parent}}), *document.lines) if parent else document.lines
    )


def _history(document: Document) -> list[JsonObject]:
    found = [as_objects(document.value), *(as_objects(as_object(document.value).get(key)) for key in _HISTORIES)]
    return max(found, key=bool)


class GeminiReader:
    """Reads one conversation of Gemini CLI. The newest answer is held back, because its calls and results come in a
    later line with the same id. If the earlier line has text, the calls become a message of their own, so that the text
    can be added before the calls have ended."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._parts = PartReader()
        self._context = Context(builder)
        self._answer: JsonObject = {}
        self._results: list[ToolResultBlock] = []
        self._result_time = 0
        # The ids of the answers whose usage was added. A line that adds calls repeats it.
        self._reported: set[str] = set()
        builder.agent = "Gemini CLI"

    def take(self, record: Line) -> None:
        """Reads the next line of a log, or the next message of a conversation."""
        value = record.value
        if value is None:
            self._builder.skip_unread(record)
        elif "$rewindTo" in value:
            self._settle()
            self._context.rewind(as_text(value.get("$rewindTo")))
        elif "$set" in value:
            self._set(as_object(value.get("$set")), record.number)
        elif self._kind(value):
            self._take_message(value, record.number)
        elif "sessionId" in value:
            self._set(value, record.number)
        else:
            self._builder.skip(record.number, f"unknown line with the keys {', '.join(value)}", expected=False)

    def finish(self) -> None:
        """Adds the answer that was held back, and its results."""
        self._settle()

    def is_complete(self) -> bool:
        """Returns whether nothing is held back but an answer that has text and no calls yet."""
        return not self._results and (not self._answer or _has_ended(self._answer))

    @staticmethod
    def _kind(value: JsonObject) -> str:
        return as_text(value.get("type")) or as_text(value.get("role"))

    def _take_message(self, value: JsonObject, number: int) -> None:
        kind = self._kind(value)
        if kind in _ANSWERS:
            if not value.get("id") or value.get("id") != self._answer.get("id"):
                self._settle()
            elif _has_ended(self._answer) and not _has_ended(value):
                self._flush()
            self._answer = value
        elif kind == "user":
            self._add_user(value, number)
        elif kind in _NOTICES:
            self._builder.skip(number, f"{kind}: shown to the user, not sent to the model", expected=True)
        else:
            self._builder.skip(number, f"unknown kind of message {kind!r}", expected=False)

    def _set(self, facts: JsonObject, number: int) -> None:
        builder = self._builder
        builder.session_id = as_text(facts.get("sessionId")) or builder.session_id
        builder.title = as_text(facts.get("summary")) or builder.title
        builder.parent = as_text(facts.get("parent")) or builder.parent
        builder.is_sub_agent = bool(builder.parent) or builder.is_sub_agent or facts.get("kind") == "subagent"
        builder.cwd = builder.cwd or next((as_text(folder) for folder in as_list(facts.get("directories"))), "")
        builder.use_model(as_text(as_object(facts.get("meta")).get("model")))
        unknown = sorted(set(facts) - _FACTS)
        if unknown:
            builder.skip(number, f"unknown facts about the conversation: {', '.join(unknown)}", expected=False)
        elif "messages" not in facts:
            builder.skip(number, "facts about the conversation", expected=True)
        if "messages" in facts:
            self._flush()
            entries = [self._read_entry(item) for item in as_objects(facts.get("messages"))]
            self._context.replace(entries)
            brought = {result for entry in entries for result in entry.results}
            self._results = [block for block in self._results if block.tool_use_id not in brought]

    def _read_entry(self, value: JsonObject) -> Entry:
        """Converts a message of a context that the log writes again. Its token counts are left out, because they may be
        old."""
        role = Role.USER if self._kind(value) == "user" else Role.ASSISTANT
        blocks = self._parts.read(value.get("content", value.get("parts")))
        if role is Role.ASSISTANT:
            called = {block.id for block in blocks if isinstance(block, ToolUseBlock)}
            blocks += [call for call in _calls(value) if call.id not in called]
        elif not self._builder.cwd:
            found = _FOLDER.search(join_texts(blocks))
            self._builder.cwd = (found.group(1) or found.group(2)).strip() if found else ""
        return Entry(id=as_text(value.get("id")), role=role, blocks=tuple(blocks), timestamp=_time(value))

    def _add_user(self, value: JsonObject, number: int) -> None:
        self._flush()
        entry = self._read_entry(value)
        self._results = [block for block in self._results if block.tool_use_id not in entry.results]
        self._settle()
        if entry.blocks:
            self._context.add(entry)
        else:
            self._builder.skip(number, "message without content", expected=True)

    def _settle(self) -> None:
        """Adds the answer that was held back, then a message with those of its results that no later message
        contained."""
        self._flush()
        if self._results:
            entry = Entry(id="", role=Role.USER, blocks=tuple(self._results), timestamp=self._result_time)
            self._results = []
            self._context.add(entry)

    def _flush(self) -> None:
        value, self._answer = self._answer, {}
        if not value:
            return
        blocks: list[Block] = [*_thoughts(value), *self._parts.read(value.get("content", value.get("parts")))]
        blocks += _calls(value)
        self._builder.use_model(as_text(value.get("model")))
        entry = Entry(id=as_text(value.get("id")), role=Role.ASSISTANT, blocks=tuple(blocks), timestamp=_time(value))
        message_id = self._context.add(entry)
        if message_id and as_text(value.get("id")) not in self._reported:
            self._reported.add(as_text(value.get("id")) or message_id)
            self._builder.report(_usage(as_object(value.get("tokens"))), message_id)
        calls = as_objects(value.get("toolCalls"))
        self._results += [block for call in calls for block in self._read_results(call)]
        self._result_time = max((as_timestamp(call.get("timestamp")) for call in calls), default=_time(value))

    def _read_results(self, call: JsonObject) -> list[ToolResultBlock]:
        results = [block for block in self._parts.read(call.get("result")) if isinstance(block, ToolResultBlock)]
        failed = call.get("status") in ("error", "cancelled")
        if not results and (failed or call.get("resultDisplay")):
            text = as_text(call.get("resultDisplay")) or as_text(call.get("status"))
            results = [ToolResultBlock(tool_use_id=as_text(call.get("id")), content=(TextBlock(text=text),))]
        return [
            ToolResultBlock(tool_use_id=r.tool_use_id, content=r.content, is_error=failed or r.is_error)
            for r in results
        ]


def _has_ended(value: JsonObject) -> bool:
    """Returns whether an answer may be complete: it has text and no calls."""
    return bool(value.get("content")) and not value.get("toolCalls")


def _time(value: JsonObject) -> int:
    return as_timestamp(value.get("timestamp", value.get("ts")))


def _thoughts(value: JsonObject) -> list[Block]:
    thoughts = [
        "\n".join(text for text in (as_text(thought.get("subject")), as_text(thought.get("description"))) if text)
        for thought in as_objects(value.get("thoughts"))
    ]
    text = "\n\n".join(thought for thought in thoughts if thought)
    return [ThinkingBlock(thinking=text)] if text else []


def _calls(value: JsonObject) -> list[ToolUseBlock]:
    return [
        ToolUseBlock(id=as_text(call.get("id")), name=as_text(call.get("name")), input=as_object(call.get("args")))
        for call in as_objects(value.get("toolCalls"))
    ]


def _usage(tokens: JsonObject) -> Usage:
    """Converts the token counts of one request. In the log `input` includes `cached`, and `output` excludes
    `thoughts`."""
    thoughts = as_count(tokens.get("thoughts"))
    prompt = as_count(tokens.get("input")) + as_count(tokens.get("tool"))
    usage = exclude_cache(prompt, as_count(tokens.get("output")) + thoughts, as_count(tokens.get("cached")))
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_input_tokens=usage.cache_read_input_tokens,
        reasoning_tokens=thoughts,
    )


FORMAT = replace(incremental(NAME, matches, GeminiReader, records), is_complete=GeminiReader.is_complete)
