"""What Ullage knows about Gemini CLI: where its conversations are, and its settings.

It deletes its conversations from version 0.61 on at the latest, seen in its source (`general.sessionRetention`). Behind
the proxy its answer to a prompt contains a quota with the sum of the turn's requests.

Measured with 0.61: it compresses after its hook `BeforeAgent`, and the hook `PreCompress` runs at every prompt, whether
it compresses or not. So what a compression left out is given with the prompt after it, when the hook `BeforeAgent`
finds another summary in the agent's file. It is a part of that prompt, which the file keeps, so that a resumed session
has it, too. `AfterAgent` runs when the answer is in the file.

An extension's hooks run in addition to those of the settings. If both name one MCP server, the model gets its words
twice.

Reads Gemini CLI's conversations (`~/.gemini/tmp/PROJECT/chats/session-*`) and its checkpoints.

A `.jsonl` file is a log: a header, messages (the last line with an id counts), `$set` for facts about the conversation
or its whole context, and `$rewindTo`, which takes a message and all after it away. A `.json` file is one object with
`messages`. A checkpoint is a list of the API's contents, bare or under `history` or `clientHistory`.

The log writes the whole context again when a conversation is resumed (the same messages), and after a compaction (a
summary, and the messages that were kept, under new ids). Both are compared with what is known, so that no message is
added twice. Seen with 0.61: when the user cancels a call, each message is a line again under a new id before the whole
context is, and messages of one role that followed each other are one; a resume or a rewind then leaves the first one
out.
"""

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import (
    AcpAgent,
    Agent,
    Facts,
    Occupancy,
    Retention,
    Sessions,
    common_facts,
    first_prompt,
    in_folder,
    last_text,
    prompt_and_answer,
)
from ullage.agents.inserted import marked_typed
from ullage.agents.machine import Machine
from ullage.agents.own_context import Exists, OwnContext, OwnPrompt, OwnSettings, Reading, chosen_names, inner, share
from ullage.agents.record_reader import LEFT_OUT, RecordReader
from ullage.agents.wiring import HookPlace, HooksOff, Plugin, SettingsFile, Wiring
from ullage.formats.parsing import Document, Line, as_count, as_timestamp, exclude_cache, to_json
from ullage.formats.transcripts.builder import TranscriptBuilder, kept_place
from ullage.formats.transcripts.chat import PartReader, call_block, result_block, thoughts
from ullage.formats.transcripts.format import Records, file_named, incremental
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Block, Role, TextBlock, ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.usage import Usage

NAME = "gemini-cli"

# The first words of the summary that a compaction puts in the place of older messages.
_SUMMARY_OPENING = "<state_snapshot>"
# What the program itself answers to that summary. A model may have left out the words above.
_ACKNOWLEDGED = "Got it. Thanks for the additional context!"
# The first words of the message in which the program describes the machine and the folder.
_SURROUNDINGS = ("<session_context>", "This is the Gemini CLI. We are setting up the context for our chat")


class Entry(Struct, frozen=True, kw_only=True):
    """A message as the log has it. `id` is the id in the log; it may be empty."""

    id: str
    role: Role
    blocks: tuple[Block, ...]
    timestamp: int = 0

    @property
    def is_summary(self) -> bool:
        return self.role is Role.USER and join_texts(self.blocks).lstrip().startswith(_SUMMARY_OPENING)

    @property
    def plain(self) -> tuple[Block, ...]:
        """The blocks without marks of what the user typed, which copies lack."""
        return tuple(TextBlock(text=block.text) if isinstance(block, TextBlock) else block for block in self.blocks)

    @property
    def is_surroundings(self) -> bool:
        """Whether it is the message in which the program describes the machine and the folder."""
        return self.role is Role.USER and join_texts(self.blocks).startswith(_SURROUNDINGS)

    @property
    def results(self) -> list[str]:
        """The ids of the calls whose results the message holds."""
        return [block.tool_use_id for block in self.blocks if isinstance(block, ToolResultBlock)]

    @property
    def likeness(self) -> str:
        """A text by which two copies of one message under different ids are recognised: its results' ids, or its text
        and calls."""
        if self.results:
            return to_json(self.results)
        calls = [(block.name, block.input) for block in self.blocks if isinstance(block, ToolUseBlock)]
        return to_json([self.role, join_texts(self.blocks), calls])


class _Known(Struct, frozen=True):
    """A message that is in the context: the ids that the log has used for it, the message, its ids in the transcript
    (several if it was added in parts), and the place right after it, as `TranscriptBuilder.tip` gives it."""

    ids: frozenset[str]
    entry: Entry
    message_ids: tuple[str, ...]
    place: str


class Context:
    """The messages that the model is sent, while a log is read. Adds new messages to a builder, and makes the builder's
    context equal to the log's."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._known: list[_Known] = []
        # The context before messages were last taken away: a program that starts writes its first message alone, and
        # then the whole context that it resumes.
        self._earlier: list[_Known] = []
        self._acknowledgements: set[str] = set()
        # The log's ids of all messages that were added, so that a new one is not looked for.
        self._added: set[str] = set()

    def add(self, entry: Entry) -> str:
        """Adds a message to the transcript or, if its beginning was added before, its new blocks. Returns the added
        message's id, empty if nothing is new."""
        # The newest message is written again in parts, and all messages when a conversation is resumed.
        is_old = entry.id in self._added
        old = next((known for known in reversed(self._known) if entry.id in known.ids), None) if is_old else None
        self._added |= {entry.id} - {""}
        blocks = tuple(block for block in entry.blocks if old is None or block not in old.entry.blocks)
        if not blocks:
            return ""
        message_id = self._builder.add(entry.role, blocks, entry.id, entry.timestamp)
        if old is not None and old is self._known[-1]:
            self._known[-1] = _Known(old.ids, entry, (*old.message_ids, message_id), message_id)
        else:
            self._known.append(_Known(frozenset({entry.id} - {""}), entry, (message_id,), message_id))
        return message_id

    def begins_with(self, entry: Entry) -> bool:
        """Returns whether a message under a new id repeats the first one of the context, or begins with it."""
        if not self._known or entry.id in self._added:
            return False
        first = self._known[0].entry
        return entry.role is first.role and entry.plain[: len(first.blocks)] == first.plain

    def rewind(self, to: str) -> None:
        """Leaves the message with the log's id `to` and all later ones out of the context; all messages if the id is
        unknown."""
        self._keep(next((at for at, known in enumerate(self._known) if to in known.ids), 0))

    def replace(self, entries: Sequence[Entry]) -> None:
        """Makes `entries` the context. The log writes them after a compaction, or repeats them when the conversation is
        resumed or the user goes back. Messages that are known stay in their order what they are."""
        listed = (entry for entry in entries if entry.id not in self._acknowledgements)
        entries = [part for entry in listed for part in _parted(entry, self._known)]
        found = _find(entries, self._known)
        earlier = _find(entries, self._earlier)
        if _common(earlier) > _common(found):
            found = earlier
            self._known, self._earlier = self._earlier, []
            self._builder.rewind(self._known[-1].place)
        for entry, place in zip(entries, found, strict=True):
            if place >= 0:
                known = self._known[place]
                if entry.id in known.ids:
                    self._mask(known, entry)
                said = entry if entry.id in known.ids else known.entry
                self._known[place] = replace(known, ids=known.ids | {entry.id}, entry=said)
        summary = next((at for at, place in enumerate(found) if place < 0 and _is_summary(entries, at)), -1)
        if summary >= 0:
            self._compact(entries, found, summary)
            return
        places = list(dict.fromkeys(place for place in found if place >= 0))
        end = len(found) - found[::-1].index(places[-1]) if places else 0
        strange = [entry for entry, place in zip(entries[:end], found[:end], strict=True) if place < 0]
        if places == sorted(places) and all(entry.is_surroundings for entry in strange):
            self._keep(places[-1] + 1 if places else 0)
            self._leave_out(places)
            new = entries[end:]
        else:
            common = _common(found)
            self._keep(common)
            new = [entry for entry, place in zip(entries, found, strict=True) if not 0 <= place < common]
        for entry in new:
            self.add(entry)

    def _leave_out(self, places: Sequence[int]) -> None:
        """Leaves the messages that are at none of these places of the context out of it."""
        gone = [known for place, known in enumerate(self._known) if place not in places]
        if gone:
            self._builder.drop([message_id for known in gone for message_id in known.message_ids], LEFT_OUT)
            self._known = [known for known in self._known if known not in gone]
            self._earlier = []

    def _mask(self, known: _Known, entry: Entry) -> None:
        """Clears those results of a known message that differ in the log's new copy, because the program replaced them
        by a notice to make room."""
        for at, (old, new) in enumerate(zip(known.entry.blocks, entry.blocks, strict=False)):
            if isinstance(old, ToolResultBlock) and isinstance(new, ToolResultBlock) and old.content != new.content:
                self._builder.clear_results(known.message_ids[-1], [at], join_texts(new.content), entry.timestamp)

    def _compact(self, entries: Sequence[Entry], found: Sequence[int], summary: int) -> None:
        marker = entries[summary]
        before = [self._known[place] for place in dict.fromkeys(found[:summary]) if place >= 0]
        after = [self._known[place] for place in sorted(set(found[summary:])) if place >= 0]
        edit_id = self._builder.compact(
            join_texts(marker.blocks),
            marker.id,
            marker.timestamp,
            leading=[message_id for known in before for message_id in known.message_ids],
            kept=[message_id for known in after for message_id in known.message_ids],
        )
        place = kept_place(edit_id, before[-1].message_ids[-1]) if before else edit_id
        kept = [replace(known, place=kept_place(edit_id, known.message_ids[-1])) for known in after]
        self._known = [*before, _Known(frozenset({marker.id}), marker, (edit_id,), place), *kept]
        # What was taken away before a compaction is not resumed after it.
        self._earlier = []
        fresh = (entry for entry, place in zip(entries, found, strict=True) if place < 0 and entry is not marker)
        # The surroundings were left out before, and stand before the summary.
        new = [entry for entry in fresh if not entry.is_surroundings]
        # The program answers its own summary: no model said that. Whatever else is new was said.
        if new and new[0].role is Role.ASSISTANT:
            self._acknowledgements.add(new.pop(0).id)
        for entry in new:
            self.add(entry)

    def _keep(self, count: int) -> None:
        if count < len(self._known):
            self._builder.rewind(self._known[count - 1].place if count else "")
            self._earlier, self._known = self._known, self._known[:count]


def _is_summary(entries: Sequence[Entry], at: int) -> bool:
    entry, after = entries[at], entries[at + 1 : at + 2]
    is_answered = any(one.role is Role.ASSISTANT and join_texts(one.blocks) == _ACKNOWLEDGED for one in after)
    return entry.is_summary or (entry.role is Role.USER and is_answered)


def _parted(entry: Entry, context: Sequence[_Known]) -> list[Entry]:
    """Returns a user's message in the parts that are messages of the context after each other, or else the message
    itself."""
    for start in range(len(context) if len(entry.blocks) > 1 and entry.role is Role.USER else 0):
        parts: list[Entry] = []
        rest = entry.plain
        for known in (one.entry for one in context[start:]):
            if known.role is not Role.USER or not known.blocks or rest[: len(known.blocks)] != known.plain:
                break
            part_id = f"{entry.id}+{len(parts)}" if parts else entry.id
            parts.append(replace(entry, id=part_id, blocks=known.blocks))
            rest = rest[len(known.blocks) :]
        if len(parts) > 1 and not rest:
            return parts
    return [entry]


def _find(entries: Sequence[Entry], context: Sequence[_Known]) -> list[int]:
    """Returns the index of each entry in the context, -1 if it is not there.

    Compares ids, then the content. Goes from the end, because a compaction keeps the later of two equal messages.
    """
    by_id = {known_id: at for at, known in enumerate(context) for known_id in known.ids}
    alike: dict[str, list[int]] = {}
    if any(entry.id not in by_id for entry in entries):
        for at, known in enumerate(context):
            alike.setdefault(known.entry.likeness, []).append(at)
    found: list[int] = []
    last = len(context)
    for entry in reversed(entries):
        place = by_id.get(entry.id, -1)
        if place < 0 and not entry.is_summary:
            # The log has a result twice: under its own id and under that of the call.
            end = last + 1 if entry.results else last
            place = max((at for at in alike.get(entry.likeness, ()) if at < end), default=-1)
        last = place if place >= 0 else last
        found.append(place)
    return found[::-1]


def _common(found: Sequence[int]) -> int:
    """Returns how many messages at the beginning of the context are found, in their order and without a gap. `found` is
    the result of `_find`."""
    places = list(dict.fromkeys(place for place in found if place >= 0))
    return next((at for at, place in enumerate(places) if place != at), len(places))


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
_ROOT = ".project_root"
# The folder of a sub-agent's file is named after its parent's conversation.
_CONVERSATION_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _matches(document: Document) -> bool:
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


def _records(document: Document) -> Records:
    """Returns the lines of a log, or for a conversation in one JSON object a record with its facts, then one per
    message. What its place says of the conversation is in a record before them."""
    history = _history(document)
    folder = PurePosixPath(document.name.replace("\\", "/")).parent.name
    subagent = any(value.get("kind") == "subagent" for value in document.objects[:1])
    parent = {"parent": folder} if subagent and _CONVERSATION_ID.fullmatch(folder) and not history else {}
    root = file_named(document, _ROOT)
    place = {"directories": [line.text.strip() for line in root.lines[:1]]} if root else {}
    lines = document.lines
    if history:
        head = {key: value for key, value in as_object(document.value).items() if key not in _HISTORIES}
        messages = [Line(number=number, value=as_object(item)) for number, item in enumerate(history, start=1)]
        lines = (Line(number=1, value={"$set": head}), *messages)
    return Records(lines=(Line(number=1, value={"$set": {**place, **parent}}), *lines) if place or parent else lines)


def _history(document: Document) -> list[JsonObject]:
    value = as_object(document.value)
    return max(as_objects(document.value), *(as_objects(value.get(key)) for key in _HISTORIES), key=bool)


class GeminiReader(RecordReader):
    """Reads one conversation of Gemini CLI. The newest answer is held back, because its calls and results come in a
    later line with the same id. If the earlier line has text, the calls become a message of their own, so that the text
    can be added before the calls have ended."""

    agent = "Gemini CLI"

    def _begin(self) -> None:
        self._parts = PartReader()
        self._context = Context(self._builder)
        self._answer: JsonObject = {}
        self._results: list[ToolResultBlock] = []
        self._result_time = 0
        # The ids of the answers whose usage was added. A line that adds calls repeats it.
        self._reported: set[str] = set()
        # Lines that repeat the context from its first message on, until the log writes the whole context.
        self._again: list[tuple[JsonObject, int]] = []

    def _read(self, value: JsonObject, number: int) -> None:
        if "$rewindTo" in value:
            self._flush()
            self._context.rewind(as_text(value.get("$rewindTo")))
        elif "$set" in value:
            self._set(as_object(value.get("$set")), number)
        elif self._kind(value):
            self._take_message(value, number)
        elif "sessionId" in value:
            self._set(value, number)
        else:
            self._builder.skip(number, f"unknown line with the keys {', '.join(value)}", expected=False)

    def is_complete(self) -> bool:
        """Returns whether nothing is held back but an answer that has text and no calls yet."""
        return not (self._results or self._again) and (not self._answer or _has_ended(self._answer))

    @staticmethod
    def _kind(value: JsonObject) -> str:
        return as_text(value.get("type")) or as_text(value.get("role"))

    def _take_message(self, value: JsonObject, number: int) -> None:
        # An answer that a model gives has its name.
        is_copy = self._kind(value) not in _NOTICES and "model" not in value and isinstance(value.get("content"), list)
        if is_copy and (self._again or self._context.begins_with(self._read_entry(value))):
            if not self._again:
                self._flush()
            self._again.append((value, number))
            return
        self._end_again()
        self._take_new(value, number)

    def _end_again(self) -> None:
        """Adds the lines that were held back although the log has not written the whole context after them."""
        again, self._again = self._again, []
        for value, number in again:
            self._take_new(value, number)

    def _take_new(self, value: JsonObject, number: int) -> None:
        kind = self._kind(value)
        if kind in _ANSWERS:
            if not value.get("id") or value.get("id") != self._answer.get("id"):
                self._flush()
            elif _has_ended(self._answer) and not _has_ended(value):
                self._end_answer()
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
            listed = as_objects(facts.get("messages"))
            if [value.get("id") for value, _ in self._again] == [value.get("id") for value in listed]:
                self._again = []
            self._end_again()
            self._end_answer()
            entries = [self._read_entry(item) for item in listed]
            self._context.replace(entries)
            brought = {result for entry in entries for result in entry.results}
            self._results = [block for block in self._results if block.tool_use_id not in brought]

    def _read_entry(self, value: JsonObject) -> Entry:
        """Converts a message of a context that the log writes again. Its token counts are left out, because they may be
        old."""
        role = Role.USER if self._kind(value) == "user" else Role.ASSISTANT
        blocks = self._parts.read(value.get("content", value.get("parts")))
        if role is Role.USER:
            blocks = [*marked_typed(blocks, join_texts(self._parts.read(value.get("displayContent"))))]
        if role is Role.ASSISTANT:
            called = {block.id for block in blocks if isinstance(block, ToolUseBlock)}
            blocks += [call for call in _calls(value) if call.id not in called]
        elif not self._builder.cwd:
            found = _FOLDER.search(join_texts(blocks))
            self._builder.cwd = (found.group(1) or found.group(2)).strip() if found else ""
        return Entry(id=as_text(value.get("id")), role=role, blocks=tuple(blocks), timestamp=_time(value))

    def _add_user(self, value: JsonObject, number: int) -> None:
        self._end_answer()
        entry = self._read_entry(value)
        self._results = [block for block in self._results if block.tool_use_id not in entry.results]
        self._flush()
        if entry.blocks:
            self._context.add(entry)
        else:
            self._builder.skip(number, "message without content", expected=True)

    def _flush(self) -> None:
        """Adds the answer that was held back, then a message with those of its results that no later message
        contained."""
        self._end_again()
        self._end_answer()
        if self._results:
            entry = Entry(id="", role=Role.USER, blocks=tuple(self._results), timestamp=self._result_time)
            self._results = []
            self._context.add(entry)

    def _end_answer(self) -> None:
        value, self._answer = self._answer, {}
        if not value:
            return
        blocks: list[Block] = [*_thoughts(value), *self._parts.read(value.get("content", value.get("parts")))]
        blocks += _calls(value)
        self._builder.use_model(as_text(value.get("model")))
        entry = Entry(id=as_text(value.get("id")), role=Role.ASSISTANT, blocks=tuple(blocks), timestamp=_time(value))
        message_id, usage = self._context.add(entry), _usage(as_object(value.get("tokens")))
        if message_id and entry.id not in self._reported:
            self._reported.add(entry.id or message_id)
            self._builder.report(usage, message_id)
        elif not blocks and usage.total:
            # Its calls are written when they have ended.
            self._builder.report_answer(as_text(value.get("model")), usage, entry.timestamp)
        calls = as_objects(value.get("toolCalls"))
        self._results += [block for call in calls for block in self._read_results(call)]
        self._result_time = max((as_timestamp(call.get("timestamp")) for call in calls), default=_time(value))

    def _read_results(self, call: JsonObject) -> list[ToolResultBlock]:
        results = [block for block in self._parts.read(call.get("result")) if isinstance(block, ToolResultBlock)]
        failed = call.get("status") in ("error", "cancelled")
        if not results and (failed or call.get("resultDisplay")):
            text = as_text(call.get("resultDisplay")) or as_text(call.get("status"))
            results = [result_block(call.get("id"), (TextBlock(text=text),))]
        return [replace(result, is_error=failed or result.is_error) for result in results]


def _has_ended(value: JsonObject) -> bool:
    return bool(value.get("content")) and not value.get("toolCalls")


def _time(value: JsonObject) -> int:
    return as_timestamp(value.get("timestamp", value.get("ts")))


def _thoughts(value: JsonObject) -> list[Block]:
    said = [
        "\n".join(text for text in (as_text(thought.get("subject")), as_text(thought.get("description"))) if text)
        for thought in as_objects(value.get("thoughts"))
    ]
    return [*thoughts("\n\n".join(filter(None, said)))]


def _calls(value: JsonObject) -> list[ToolUseBlock]:
    made = as_objects(value.get("toolCalls"))
    return [call_block(call.get("id"), call.get("name"), as_object(call.get("args"))) for call in made]


def _usage(tokens: JsonObject) -> Usage:
    """Converts the token counts of one request. In the log `input` includes `cached`, and `output` excludes
    `thoughts`."""
    thoughts = as_count(tokens.get("thoughts"))
    prompt = as_count(tokens.get("input")) + as_count(tokens.get("tool"))
    usage = exclude_cache(prompt, as_count(tokens.get("output")) + thoughts, as_count(tokens.get("cached")))
    return replace(usage, reasoning_tokens=thoughts)


FORMAT = replace(incremental(NAME, _matches, GeminiReader, _records), is_complete=GeminiReader.is_complete)


# Per project, those of sub-agents one folder deeper, and saved checkpoints.
_PLACES = ("chats/session-*.json*", "chats/*/*.jsonl", "checkpoint-*.json")
_PATTERNS = in_folder("GEMINI_CLI_HOME", "", *(f".gemini/tmp/*/{place}" for place in _PLACES))


def _companions(path: str) -> tuple[str, ...]:
    # The file has the folder of the project. It is in the project's folder, a sub-agent's conversation two below.
    _, place, inside = path.rpartition("/.gemini/tmp/")
    return ("../" * (inside.count("/") - 1) + _ROOT,) if place else ()


def _side(path: str) -> tuple[str, str] | None:
    # It is in a folder of its own in `chats`, named after the main conversation.
    folder = PurePosixPath(path).parent
    return ("", folder.name) if folder.parent.name == "chats" else None


def _facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    # The folder is in the file `.project_root`, or in the first record of the conversation.
    roots = (as_text(record.get("text")).strip() for record in records if record.get("file") == _ROOT)
    heads = (as_list(as_object(record.get("$set", record)).get("directories")) for record in records)
    folders = (as_text(folder) for folders in heads for folder in folders)
    facts = common_facts(path, records)
    return replace(
        facts,
        cwd=next(roots, "") or next(folders, ""),
        session_id=facts.session_id or (PurePosixPath(path).stem if _side(path) else ""),
        is_side=facts.is_side or any(record.get("kind") == "subagent" for record in records),
    )


def _title_of(records: Sequence[JsonObject]) -> str:
    facts = [as_object(record.get("$set", record)) for record in records]
    # A resumed conversation begins with all of its messages in one record.
    said = [message for fact in facts for message in (fact, *as_objects(fact.get("messages")))]
    prompts = (
        message.get("displayContent") or message.get("content") for message in said if message.get("type") == "user"
    )
    return last_text(facts, "summary") or first_prompt(prompts)


_AGE = re.compile(r"(\d+)([hdwm])")
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30}


def _days_in(settings: JsonObject) -> float | None:
    retention = as_object(as_object(settings.get("general")).get("sessionRetention"))
    if retention.get("enabled") is False:
        return math.inf
    age = _AGE.fullmatch(as_text(retention.get("maxAge")))
    return int(age[1]) * _DAYS[age[2]] if age else None


RETENTION = Retention(
    patterns=lambda machine: (settings_path(machine),),
    days_in=_days_in,
    default=30,
    setting='"general": {"sessionRetention": {"enabled": false}}',
)


def settings_path(machine: Machine) -> str:
    """Returns the path of the file with the user's settings."""
    return f"{machine.folder('GEMINI_CLI_HOME', '')}/.gemini/settings.json"


def _files(machine: Machine) -> tuple[str, ...]:
    return (settings_path(machine), *machine.in_project(".gemini/settings.json"))


def _read(reading: Reading) -> None:
    for file in reading.files:
        reading.number("share", "model.compressionThreshold", inner(file, "model", "compressionThreshold"))


SETTINGS = OwnSettings(files=_files, read=_read, known=frozenset({"compressionThreshold"}), servers="mcpServers")


def _own_files(machine: Machine, settings: Sequence[JsonObject], _: Exists) -> list[str]:
    # Those of the project are in the first message of the log.
    folder = settings_path(machine).removesuffix("/settings.json")
    return [f"{folder}/{name}" for name in chosen_names(settings, ("GEMINI.md",))]


def _skills(machine: Machine, _: Exists) -> tuple[str, ...]:
    return machine.skills(settings_path(machine).removesuffix("/settings.json"), ".gemini")


def _occupancy(result: Mapping[str, Any]) -> Occupancy | None:
    quota = as_object(as_object(result.get("_meta")).get("quota"))
    used = prompt_and_answer(as_object(quota.get("token_count")))
    models = as_objects(quota.get("model_usage"))
    if used is None:
        return None
    return Occupancy(used=used, model=as_text(models[-1].get("model")) if models else "", summed=True)


ACP = AcpAgent(compact_command="compress", occupancy_in_answer=_occupancy)

# Milliseconds.
_TIMEOUT = 5_000


def _extensions_path(machine: Machine) -> str:
    return f"{settings_path(machine).removesuffix('settings.json')}extensions/extension-enablement.json"


def _has_extension(enablement: str) -> bool:
    """Says whether an extension of Ullage's name is on in some folder. Each rule is a folder, after `!` one in which it
    is off."""
    try:
        extensions = as_object(msgspec.json.decode(enablement))
    except (msgspec.DecodeError, RecursionError):
        return False
    rules = as_list(as_object(extensions.get("ullage")).get("overrides"))
    return any(isinstance(rule, str) and not rule.startswith("!") for rule in rules)


def _settings_layers(machine: Machine) -> tuple[str, ...]:
    usual = machine.for_all_users("gemini-cli", "GeminiCli", "ProgramData/gemini-cli")
    system = machine.variables.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH") or f"{usual}/settings.json"
    return (*_files(machine), system)


def _hooks_off_by(_: str, settings: JsonObject) -> str | None:
    is_on = as_object(settings.get("hooksConfig")).get("enabled")
    return {False: "hooksConfig.enabled = false", True: ""}.get(is_on) if isinstance(is_on, bool) else None


WIRING = Wiring(
    word="gemini-cli",
    files=(
        SettingsFile(
            path=settings_path,
            hooks=(
                HookPlace(event="BeforeAgent", timeout=_TIMEOUT, arguments=("--mark", _SUMMARY_OPENING)),
                HookPlace(event="AfterAgent", timeout=_TIMEOUT, for_notes=True),
            ),
            mcp_server=True,
        ),
    ),
    plugin=Plugin(path=_extensions_path, is_on=_has_extension, remedy="gemini extensions uninstall ullage"),
    hooks_off=HooksOff(layers=_settings_layers, off_by=_hooks_off_by),
    windows_shell="powershell",
    summary_in_file=True,
)

AGENT = Agent(
    name="Gemini CLI",
    short="Gemini",
    formats=(FORMAT,),
    companions=_companions,
    sessions=Sessions(patterns=_PATTERNS, title_of=_title_of, facts=_facts_of, fact_files=_companions, side=_side),
    retention=RETENTION,
    # Half of the window, measured by trial.
    own_context=OwnContext(threshold=share(0.5)),
    own_prompt=OwnPrompt(files=_own_files, skills=_skills),
    own_settings=SETTINGS,
    acp=ACP,
    wiring=WIRING,
)
