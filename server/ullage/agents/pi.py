"""What Ullage knows about pi: where its sessions are, its settings, where it compacts, and how Ullage is added to it.

The settings about compaction are `compaction.enabled` and `compaction.reserveTokens`, for a single model also
`compaction.modelOverrides`. An override of the user's own file counts more than the reserve of a project's.
`models.json` has the windows of models that the user added or changed.

Ullage is added by an extension (`pi_plugin.js`), since the settings know no hooks, and as an MCP server, which pi has
since 1.0. Measured with 0.73.1 and 1.5.2: a compaction comes after a turn or before a prompt, and its summary is in the
file at once. The extension stores the brief with that prompt. Nothing can be added to the request for its summary: an
extension may only cancel a compaction or replace the whole summary (`SessionBeforeCompactResult` of 1.5.2).

Reads pi's sessions (`~/.pi/agent/sessions/FOLDER/TIME_ID.jsonl`), and those of programs built on it.

A session is a header and entries. Since version 2 of the format each entry names its parent, so that entries form a
tree; the newest entry is where the conversation continues. Entries of version 1 have no ids and follow each other.

pi puts summaries, and commands that the user ran, into the user's messages. The texts are those that pi sends a model;
its record has their parts.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import AcpAgent, Agent, Facts, Sessions, common_facts, first_prompt, last_text
from ullage.agents.inserted import PI_CAME_BACK, PI_COMPACTED, PI_LEFT_OUT, by_program
from ullage.agents.machine import Machine
from ullage.agents.own_context import OwnContext, OwnSettings, Reading, before_end, inner
from ullage.agents.record_reader import RecordReader
from ullage.agents.wiring import GuideForm, McpPlace, SettingsFile, Wiring
from ullage.formats.parsing import Document, as_count, as_timestamp, usage_beside
from ullage.formats.transcripts.builder import ImportedTranscript, TranscriptBuilder
from ullage.formats.transcripts.chat import call_block, picture, read_parts, result_block, text_block
from ullage.formats.transcripts.format import Ends, from_end, incremental
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import NO_SUMMARY, Block, Role, TextBlock, ThinkingBlock, ToolDefinition, ToolUseBlock

NAME = "pi"


# Entries about the program, its display and its other requests.
_OWN_ENTRIES = {"thinking_level_change", "label", "custom", "usage"}
# Entries that are no messages and change the context.
_EDITS = {"compaction", "context_edit"}
# How pi writes the summaries that have a role of their own.
_SUMMARIES = {
    "branchSummary": (f"{PI_CAME_BACK}\n\n<summary>\n", "</summary>"),
    "compactionSummary": (f"{PI_COMPACTED}\n\n<summary>\n", "\n</summary>"),
}
# The fields of a usage: new input, output, read from the cache, written to it.
_COUNTS = ("input", "output", "cacheRead", "cacheWrite")
# Requests that ended so have no usage, or one that stops in the middle and is only paid for.
_UNFINISHED = {"aborted", "error"}


def _matches(document: Document) -> bool:
    first = document.objects[0] if document.objects else {}
    return first.get("type") == "session" and isinstance(first.get("cwd"), str) and "timestamp" in first


class _Entry(Struct, frozen=True):
    """An entry of the tree: the id of its parent, the id of its message in the transcript (empty if it has none), the
    builder's tip right after it, and what a `context_edit` keeps of it: its role, and the call that it answers."""

    parent: str
    message_id: str
    tip: str
    role: Role = Role.USER
    call_id: str = ""


class PiReader(RecordReader):
    """Reads one session of pi. Every entry is complete when it is written, so no event is held back."""

    agent = "pi"

    def _begin(self) -> None:
        self._tree: dict[str, _Entry] = {}
        self._last = ""
        self._count = 0
        self._tools: dict[str, ToolDefinition] = {}

    def _read(self, value: JsonObject, number: int) -> None:
        if value.get("type") == "session":
            self._take_header(value)
            self._builder.skip(number, "header", expected=True)
        else:
            self._take_entry(value, number)
        self._count += 1

    def _take_header(self, header: JsonObject) -> None:
        builder = self._builder
        builder.session_id = as_text(header.get("id"))
        builder.cwd = as_text(header.get("cwd"))
        builder.use_model(as_text(header.get("modelId")))
        origin = as_text(header.get("parentSession")) or as_text(header.get("branchedFrom"))
        # The file of a session is named TIME_ID.
        builder.parent = PurePosixPath(origin.replace("\\", "/")).stem.rpartition("_")[2]

    def _take_entry(self, entry: JsonObject, number: int) -> None:
        # An entry of version 1 has no id; its place in the file names it.
        parent = as_text(entry.get("parentId")) if "id" in entry else self._last
        if parent in self._tree or (parent == "" and "parentId" in entry):
            tip = self._tree[parent].tip if parent else ""
            if tip != self._builder.tip:
                self._builder.rewind(tip, as_timestamp(entry.get("timestamp")))
        else:
            # Programs built on pi name parents that are no entries; there the conversation continues.
            parent = self._last
        before = self._builder.tip
        self._read_entry(entry, number, parent)
        # What is paid besides answers: for summaries, and for keeping the provider's cache warm.
        paid = usage_beside(as_object(entry.get("usage")), *_COUNTS)
        self._builder.charge(paid, as_text(entry.get("id")), as_timestamp(entry.get("timestamp")))
        tip = self._builder.tip
        added = tip if tip != before and entry.get("type") not in _EDITS else ""
        self._last = as_text(entry.get("id")) or f"#{self._count}"
        message = as_object(entry.get("message"))
        role = Role.ASSISTANT if message.get("role") == "assistant" else Role.USER
        self._tree[self._last] = _Entry(parent, added, tip, role, as_text(message.get("toolCallId")))

    def _read_entry(self, entry: JsonObject, number: int, parent: str) -> None:
        builder, entry_id, timestamp = self._builder, as_text(entry.get("id")), as_timestamp(entry.get("timestamp"))
        kind = as_text(entry.get("type"))
        if kind == "message":
            self._read_message(as_object(entry.get("message")), entry_id, timestamp, number)
        elif kind == "custom_message":
            self._add_custom(entry, entry_id, timestamp)
        elif kind == "branch_summary":
            builder.add(Role.USER, [_summary("branchSummary", entry)], entry_id, timestamp)
        elif kind == "compaction":
            kept = self._kept_ids(entry, parent)
            before = as_count(entry.get("tokensBefore"))
            builder.compact(as_text(entry.get("summary")) or NO_SUMMARY, entry_id, timestamp, before=before, kept=kept)
        elif kind == "context_edit":
            self._edit_context(entry, timestamp, number)
        elif kind == "model_change":
            builder.use_model(as_text(entry.get("modelId")))
            builder.skip(number, "model_change entry", expected=True)
        elif kind == "session_info":
            builder.title = as_text(entry.get("name")).strip()
            builder.skip(number, "session_info entry", expected=True)
        else:
            builder.skip(number, f"{kind} entry", expected=kind in _OWN_ENTRIES)

    def _read_message(self, message: JsonObject, entry_id: str, timestamp: int, number: int) -> None:
        builder, role = self._builder, as_text(message.get("role"))
        content = _read_content(message.get("content"))
        match role:
            case "assistant":
                self._read_answer(message, content, entry_id, timestamp, number)
            case "toolResult":
                result = result_block(message.get("toolCallId"), content, failed=message.get("isError") is True)
                builder.add(Role.USER, [result], entry_id, timestamp)
            case "bashExecution":
                add = self._add_outside if message.get("excludeFromContext") is True else builder.add
                add(Role.USER, [TextBlock(text=_describe_command(message))], entry_id, timestamp)
            case "branchSummary" | "compactionSummary":
                builder.add(Role.USER, [_summary(role, message)], entry_id, timestamp)
            case "user":
                builder.add(Role.USER, content, entry_id, timestamp)
            case "custom" | "hookMessage":
                self._add_custom(message, entry_id, timestamp)
            case "system":
                self._declare(message)
                # The sections of the prompt, which pi 1.5 sends in one text.
                sections = (as_text(section) for section in as_object(message.get("sections")).values())
                content += read_parts("\n\n".join(filter(None, sections)))
                builder.add(Role.SYSTEM, content, entry_id, timestamp)
            case _:
                builder.skip(number, f"message of unknown role {role!r}", expected=False)

    def _declare(self, message: JsonObject) -> None:
        before = dict(self._tools)
        for removed in as_objects(message.get("toolsRemoved")):
            self._tools.pop(as_text(removed.get("name")), None)
        for added in as_objects(message.get("toolsAdded")):
            name, about = as_text(added.get("name")), as_text(added.get("description"))
            schema = as_object(added.get("parameters"))
            self._tools[name] = ToolDefinition(name=name, description=about, input_schema=schema)
        if self._tools != before:
            self._builder.declare([*self._tools.values()])

    def _edit_context(self, edit: JsonObject, timestamp: int, number: int) -> None:
        """Reads that another content, or none, is sent in place of an earlier entry's from here on."""
        target = self._tree.get(as_text(edit.get("targetId")))
        if target is None or not target.message_id:
            self._builder.skip(number, "context_edit of an entry without a message", expected=True)
            return
        replacement = edit.get("replacement")
        if replacement is None:
            self._builder.exchange(target.message_id, Role.USER, [TextBlock(text=PI_LEFT_OUT)], timestamp)
            return
        content = _read_content(as_object(replacement).get("content"))
        if target.call_id:
            content = [result_block(target.call_id, content)]
        self._builder.exchange(target.message_id, target.role, content, timestamp)

    def _read_answer(
        self, message: JsonObject, content: list[Block], entry_id: str, timestamp: int, number: int
    ) -> None:
        builder, usage = self._builder, usage_beside(as_object(message.get("usage")), *_COUNTS)
        builder.use_model(as_text(message.get("model")))
        if not content:
            reason = as_text(message.get("errorMessage")) or as_text(message.get("stopReason"))
            builder.skip(number, f"answer without content: {reason}", expected=True)
            return
        if as_text(message.get("stopReason")) in _UNFINISHED:
            builder.charge(usage, self._add_unfinished(content, entry_id, timestamp), timestamp)
            return
        builder.report(usage, builder.add(Role.ASSISTANT, content, entry_id, timestamp))

    def _add_custom(self, said: JsonObject, entry_id: str, timestamp: int) -> None:
        """Adds a message of an extension, which the model gets with the user's role."""
        mark = by_program(as_text(said.get("customType")) or "custom")
        self._builder.add(Role.USER, _read_content(said.get("content")), entry_id, timestamp, mark)

    def _add_unfinished(self, content: list[Block], entry_id: str, timestamp: int) -> str:
        """Adds an answer that was cut off, and returns its id. Its calls were never made, and the next request holds
        its text alone: the prompts after three recorded answers with calls of up to 6,600 tokens grew by the texts
        only."""
        calls = [block for block in content if isinstance(block, ToolUseBlock)]
        rest = [block for block in content if not isinstance(block, ToolUseBlock)]
        added = self._builder.add(Role.ASSISTANT, rest, entry_id, timestamp) if rest else ""
        if not calls:
            return added
        outside = self._add_outside(Role.ASSISTANT, calls, f"{entry_id}-calls" if rest else entry_id, timestamp)
        return added or outside

    def _kept_ids(self, compaction: JsonObject, parent: str) -> list[str]:
        """Returns the ids of the messages that a compaction keeps: those on the branch of `parent` from the first kept
        entry on. Empty if that entry is not on the branch."""
        first = as_text(compaction.get("firstKeptEntryId"))
        if not first and "firstKeptEntryIndex" in compaction:
            first = f"#{as_count(compaction.get('firstKeptEntryIndex'))}"
        # By entry. Where two entries have one id, the way up may lead back to where it began.
        kept: dict[str, str] = {}
        name = parent
        while name in self._tree and name not in kept:
            kept[name] = self._tree[name].message_id
            if name == first:
                return [message_id for message_id in reversed(kept.values()) if message_id]
            name = self._tree[name].parent
        return []


def _read_content(content: Any) -> list[Block]:
    """Converts a message's content, a text or a list of parts, to blocks. A part of unknown type becomes a text block
    of its JSON."""
    items = as_list(content) if isinstance(content, list) else [content]
    blocks = [_read_part(item) for item in items if item is not None]
    return [block for block in blocks if not isinstance(block, TextBlock) or block.text]


def _read_part(item: Any) -> Block:
    part = as_object(item)
    match part.get("type"):
        case "thinking":
            signature = as_text(part.get("thinkingSignature")) or None
            return ThinkingBlock(thinking=as_text(part.get("thinking")), signature=signature)
        case "toolCall":
            return call_block(part.get("id"), part.get("name"), as_object(part.get("arguments")))
        case "image":
            return picture(part.get("mimeType"), part.get("data"))
        case "text":
            return TextBlock(text=as_text(part.get("text")))
        case _:
            return text_block(item)


def _summary(role: str, message: JsonObject) -> TextBlock:
    before, after = _SUMMARIES[role]
    return TextBlock(text=f"{before}{as_text(message.get('summary'))}{after}")


def _describe_command(message: JsonObject) -> str:
    output, status = as_text(message.get("output")), as_count(message.get("exitCode"))
    shown = f"```\n{output}\n```" if output else "(no output)"
    end = f"\n\nCommand exited with code {status}" if status else ""
    end = "\n\n(command cancelled)" if message.get("cancelled") is True else end
    return f"Ran `{as_text(message.get('command'))}`\n{shown}{end}"


class _LastMessage(Struct, rename="camel"):
    role: str = ""
    model: str = ""
    stop_reason: str = ""
    usage: JsonObject | None = None


class _LastLine(Struct):
    """What is needed of an entry to know whether it changes the figure."""

    type: str
    timestamp: str = ""
    message: _LastMessage | None = None


_last_line = msgspec.json.Decoder(_LastLine)


def at_end(ends: Ends) -> ImportedTranscript | None:
    """Returns what the last entry says if it is an answer with its usage; see `Format`."""
    line = next((line for line, _ in from_end(ends.last(), _last_line) if line.type not in _OWN_ENTRIES), None)
    said, head = line and line.message, ends.first[0]
    if not line or not said or said.role != "assistant" or not said.model or said.stop_reason in _UNFINISHED:
        return None
    usage, builder = usage_beside(said.usage or {}, *_COUNTS), TranscriptBuilder(NAME, "")
    if not usage.prompt or as_object(head.value).get("type") != "session":
        return None
    PiReader(builder).take(head)
    builder.report_answer(said.model, usage, as_timestamp(line.timestamp))
    return builder.finish()


FORMAT = replace(incremental(NAME, _matches, PiReader), at_end=at_end)


def _patterns(machine: Machine) -> tuple[str, ...]:
    # A folder that the user has chosen has the sessions of all projects.
    default = f"{_folder(machine)}/sessions/*/*.jsonl"
    chosen = machine.variables.get("PI_CODING_AGENT_SESSION_DIR")
    return (f"{machine.folder('PI_CODING_AGENT_SESSION_DIR', '')}/*.jsonl", default) if chosen else (default,)


def _facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    head = as_object(next((record for record in records if record.get("type") == "session"), None))
    return replace(common_facts(path, records), session_id=as_text(head.get("id")))


def _title_of(records: Sequence[JsonObject]) -> str:
    # The name that the user gave it comes first.
    messages = [as_object(record.get("message")) for record in records]
    named = last_text((record for record in records if record.get("type") == "session_info"), "name")
    return named or first_prompt(message.get("content") for message in messages if message.get("role") == "user")


def _files(machine: Machine) -> tuple[str, ...]:
    own = _folder(machine)
    return (f"{own}/models.json", f"{own}/settings.json", *machine.in_project(".pi/settings.json"))


def _read(reading: Reading) -> None:
    for file in reading.files:
        reading.switch("automatic", "compaction.enabled", inner(file, "compaction", "enabled"))
        reading.number("reserve", "compaction.reserveTokens", inner(file, "compaction", "reserveTokens"))
    for provider in as_objects([*as_object(inner(reading.files[0], "providers")).values()] if reading.files else []):
        listed = [one for one in as_objects(provider.get("models")) if one.get("id") == reading.model]
        for one in (*listed, as_object(inner(provider, "modelOverrides", reading.model))):
            reading.size("model_window", "models.json: contextWindow", one.get("contextWindow"))
    for file in reading.files:
        for name, override in as_object(inner(file, "compaction", "modelOverrides")).items():
            # A model's name has the provider before it, which conversations are not counted by.
            if reading.model and name.partition("/")[2] == reading.model:
                setting = f"compaction.modelOverrides.{name}.reserveTokens"
                reading.number("reserve", setting, as_object(override).get("reserveTokens"))


_KNOWN = frozenset({"enabled", "reserveTokens", "keepRecentTokens", "modelOverrides"})
SETTINGS = OwnSettings(files=_files, read=_read, known=_KNOWN, prefix="PI_")


def _folder(machine: Machine) -> str:
    return machine.folder("PI_CODING_AGENT_DIR", ".pi/agent")


WIRING = Wiring(
    word="pi",
    folder=_folder,
    files=(
        # Otherwise the model only learns that there is a server, and calls its tools from scripts.
        SettingsFile(
            path=lambda machine: f"{_folder(machine)}/mcp.json",
            mcp_server=True,
            mcp_place=McpPlace(exposure="direct"),
        ),
        SettingsFile(
            path=lambda machine: f"{_folder(machine)}/extensions/ullage.js",
            syntax="whole",
            plugin=("plugin_call.js", "pi_plugin.js"),
        ),
    ),
    summary_in_file=True,
    guide=GuideForm(characters=4_000, is_answer=True),
)

AGENT = Agent(
    name="pi",
    formats=(FORMAT,),
    sessions=Sessions(patterns=_patterns, title_of=_title_of, facts=_facts_of),
    # Read in its source, and measured: 89,639 of 100,000 are compacted.
    own_context=OwnContext(threshold=before_end(16_384)),
    own_settings=SETTINGS,
    acp=AcpAgent(compact_command="compact"),
    takes_focus=True,
    wiring=WIRING,
)
