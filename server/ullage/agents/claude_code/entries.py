"""What the lines of a Claude Code session log say: messages, attachments, compactions, queued prompts and open answers.

An `attachment` line is a text that Claude Code adds for the model and that the user does not see. The wording around it
is not in the log. So the texts are quoted in the tags that Claude Code puts around most of them.

`queue-operation` lines record the prompts that the user typed while the model was working: how each is queued
(`enqueue`), given to the next turn (`dequeue`, followed by a user line), put back into the input field (`popAll`), or
given to the running turn (`remove`). After a `remove` some versions write a `queued_command` attachment, others
nothing: then the queue has the only copy of what the user said.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from ullage.agents.inserted import by_program
from ullage.formats.parsing import Line, as_count, as_timestamp, convert_passes, convert_usage, to_json
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import picture, read_blocks
from ullage.model.events import CompactionCause
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Block, Provided, Role, TextBlock, ToolResultBlock, ToolUseBlock
from ullage.model.usage import HiddenKind
from ullage.model.usage_report import context_of


class Entry(Struct, frozen=True, kw_only=True):
    """A line of the log. What is asked of every line is a field, because there may be hundreds of thousands.

    - `number`: the line number, counted from 1. `value`: the parsed line.
    - `kind`: the line's type: `user`, `assistant`, `system`, `attachment`, `progress` and others.
    - `subtype`: the kind of a system line, such as `compact_boundary`; empty for most other lines.
    - `uuid`: the line's id in the tree; empty if the line does not belong to the tree.
    - `parent`: the id of the line before this one on its branch; empty for a root.
    - `message`: the message of the line in the shape of Anthropic's API; an empty object for lines without a message.
    """

    number: int
    value: JsonObject
    kind: str
    subtype: str
    uuid: str
    parent: str
    message: JsonObject

    @property
    def timestamp(self) -> int:
        """The line's time in Unix milliseconds, 0 if it has none."""
        return as_timestamp(self.value.get("timestamp"))

    @property
    def is_copied(self) -> bool:
        """Whether the line is a copy of another conversation's, with which this one was begun."""
        origin = as_text(as_object(self.value.get("forkedFrom")).get("sessionId"))
        return bool(origin) and origin != self.value.get("sessionId")

    @property
    def is_message(self) -> bool:
        """Whether the line is one of the user's messages or a part of an answer."""
        return self.kind in ("user", "assistant")

    @property
    def is_side(self) -> bool:
        """Whether the line belongs to a sub-agent's conversation."""
        return self.value.get("isSidechain") is True

    @property
    def content(self) -> Any:
        """The content of the line: text or a list of blocks in the shape of Anthropic's API; None if it has none."""
        return self.message.get("content")

    @property
    def answer_id(self) -> str:
        """The provider's id of the answer that an assistant line is a part of. Hand-written lines may have none."""
        return as_text(self.message.get("id")) if self.kind == "assistant" else ""

    @property
    def result_ids(self) -> list[str]:
        """The ids of the tool calls whose results the line contains."""
        blocks = as_objects(self.content) if self.kind == "user" else []
        return [as_text(block.get("tool_use_id")) for block in blocks if block.get("type") == "tool_result"]


def entry_of(line: Line) -> Entry | None:
    """Returns the line as an entry, or None if it contains no JSON object."""
    value = line.value
    if value is None:
        return None
    return Entry(
        number=line.number,
        value=value,
        kind=as_text(value.get("type")),
        subtype=as_text(value.get("subtype")),
        uuid=as_text(value.get("uuid")),
        parent=as_text(value.get("parentUuid")),
        message=as_object(value.get("message")),
    )


# What Claude Code lists before the first answer, and again in each session that has no record of the list: its model,
# tools that it offers by name alone, its agents and its skills. Seen with 2.1.316.
_NAMES = r"[A-Za-z]\w*(?:\n[A-Za-z]\w*)*"
_LISTED = re.compile(
    rf"\s*<system-reminder>\n(?:You are powered by the model |{_NAMES}\n</|- [\w:.-]+: )(?s:.*?)system-reminder>\s*"
)


def is_listed_again(text: str) -> bool:
    """Returns whether Claude Code itself wrote a message with the user's role, and writes such a message in every new
    session."""
    return _LISTED.fullmatch(text) is not None


# Attachments whose text is not read: it is not in the log, or it is no message of the conversation. Those of 2.1.316
# are facts about the session, which the model is sent in every session and which count with what the agent adds to
# each request, the system prompt (`prompt_snapshot`), and the tools that a search has found.
_WITHOUT_TEXT = {
    *("date", "deferred_tools_record", "environment", "remote_session_change", "session_context"),
    *("agent_mention", "auto_mode", "budget_usd", "command_permissions", "compact_file_reference", "delegate_mode"),
    *("delegate_mode_exit", "dynamic_skill", "edited_image_file", "hook_cancelled", "hook_error_during_execution"),
    *("hook_non_blocking_error", "hook_permission_decision", "hook_progress", "hook_system_message", "output_style"),
    *("pdf_reference", "plan_mode", "plan_mode_exit", "plan_mode_reentry", "structured_output", "team_context"),
    *("token_usage", "ultra_effort_enter", "ultra_effort_exit"),
    # Those of 2.1.332: what the program notes for itself, or shows to the user.
    *("advisor_stripped", "agent_progress", "api_metrics", "artifact_opening_prefetch", "at_mention_reference"),
    *("context_efficiency", "credential_org", "hook_deferred_tool", "inlined_image_paths", "max_turns_reached"),
    *("mcp_dropped_tools_delta", "output_token_usage", "prefix_delta", "progress_reminder_sent"),
    *("prompt_as_file", "prompt_render_point", "secondary_reminder_sent", "thinking_drop", "thread_state"),
    *("whole_texts_withdrawn",),
}
_FILES = ("file", "already_read_file")
# Facts of the session that the model is sent before the conversation; `listed` returns what they contain.
_LISTED_KINDS = ("prompt_snapshot", "instructions")


def attached(entry: Entry) -> tuple[Block, ...]:
    """Returns the content that the model is sent for an `attachment` line, as blocks; empty if the log does not contain
    it."""
    attachment = as_object(entry.value.get("attachment"))
    kind = as_text(attachment.get("type"))
    if kind == "queued_command":
        return read_blocks(attachment.get("prompt"))
    if kind in _FILES:
        return _file(attachment)
    has_text = kind not in _WITHOUT_TEXT and kind not in _LISTED_KINDS
    text = _TEXTS.get(kind, _any_text)(attachment).strip() if has_text else ""
    return (reminder(text),) if text else ()


def listed(entry: Entry) -> list[tuple[HiddenKind, str, str]]:
    """Returns what an `attachment` line says of the part of each request before the conversation: kind, name and text.
    Since 2.1.316 these are the system prompt and the tools that are not deferred, since 2.1.332 files of
    instructions, too."""
    attachment = as_object(entry.value.get("attachment"))
    prompt = "\n".join(map(as_text, as_list(attachment.get("systemPrompt"))))
    found = [(HiddenKind.SYSTEM_PROMPT, "", prompt)] if prompt else []
    files = as_objects(attachment.get("files"))
    found += [(HiddenKind.MEMORY, as_text(file.get("path")), as_text(file.get("content"))) for file in files]
    tools: dict[str, str] = {}
    for tool in as_objects(attachment.get("tools")):
        name = as_text(tool.get("name"))
        server = name.split("__")[1] if name.startswith("mcp__") and name.count("__") > 1 else ""
        sent = {key: tool.get(key) for key in ("name", "description", "input_schema")}
        tools[server] = tools.get(server, "") + to_json(sent)
    return found + [(HiddenKind.MCP if name else HiddenKind.TOOLS, name, text) for name, text in tools.items()]


def is_known(entry: Entry) -> bool:
    """Returns whether the kind of an `attachment` line is one that this module knows."""
    kind = as_text(as_object(entry.value.get("attachment")).get("type"))
    return kind in _TEXTS or kind in _WITHOUT_TEXT or kind in ("queued_command", *_FILES, *_LISTED_KINDS)


# Origins of messages that Claude Code 2.1.318 does not take for the user's, but what comes from a chat of the user.
_OTHERS = frozenset(
    ("coordinator", "observer", "observer-activity", "peer", "plugin", "slack-ping", "task-notification"),
)


def mark_of(record: JsonObject) -> Provided | None:
    """Returns the mark of a record of the user's role that the user did not write, but Claude Code (a skill's text, a
    caveat), a plugin or another agent; None if the user did."""
    origin = as_object(record.get("origin"))
    kind = "meta" if record.get("isMeta") is True else as_text(origin.get("kind"))
    is_others = kind == "meta" or (kind in _OTHERS and origin.get("asUser") is not True)
    return by_program(kind) if is_others else None


def reminder(text: str) -> TextBlock:
    """Returns a text in the tags by which Claude Code marks it for the model as a reminder, not as the user's words."""
    return TextBlock(text=f"<system-reminder>\n{text}\n</system-reminder>")


def _file(attachment: JsonObject) -> tuple[Block, ...]:
    content = as_object(attachment.get("content"))
    file = as_object(content.get("file"))
    if content.get("type") == "image":
        return (picture(file.get("type"), file.get("base64")),)
    asked = to_json({"file_path": as_text(file.get("filePath")) or as_text(attachment.get("filename"))})
    text = as_text(file.get("content")) or (to_json(content) if content else "")
    called = reminder(f"Called the Read tool with the following input: {asked}")
    return (called, reminder(f"Result of calling the Read tool:\n{text}")) if text else ()


def _lines(name: str) -> Callable[[JsonObject], str]:
    return lambda attachment: "\n".join(as_text(item) or to_json(item) for item in as_list(attachment.get(name)))


def _text(name: str) -> Callable[[JsonObject], str]:
    return lambda attachment: as_text(attachment.get(name))


def _hook(what: str) -> Callable[[JsonObject], str]:
    def said(attachment: JsonObject) -> str:
        content = attachment.get("content", as_object(attachment.get("blockingError")).get("blockingError"))
        text = as_text(content) or "\n".join(as_text(item) for item in as_list(content))
        return f"{as_text(attachment.get('hookName'))} hook {what}: {text}" if text else ""

    return said


def _memory(attachment: JsonObject) -> str:
    text = as_text(as_object(attachment.get("content")).get("content"))
    return f"Contents of {as_text(attachment.get('path'))}:\n\n{text}" if text else ""


def _edited(attachment: JsonObject) -> str:
    snippet = as_text(attachment.get("snippet"))
    return f"{as_text(attachment.get('filename'))} was changed outside this conversation:\n{snippet}" if snippet else ""


def _selected(attachment: JsonObject) -> str:
    lines = f"lines {as_count(attachment.get('lineStart'))} to {as_count(attachment.get('lineEnd'))}"
    file, text = as_text(attachment.get("filename")), as_text(attachment.get("content"))
    return f"Selected in the editor, {file}, {lines}:\n{text}"


def _json(name: str) -> Callable[[JsonObject], str]:
    return lambda attachment: to_json(attachment[name]) if attachment.get(name) else ""


def _skills(attachment: JsonObject) -> str:
    return "\n\n".join(as_text(skill.get("content")) for skill in as_objects(attachment.get("skills")))


def _tasks(attachment: JsonObject) -> str:
    items = as_list(attachment.get("content"))
    return f"The task list now: {to_json(items)}" if items else ""


def _status(attachment: JsonObject) -> str:
    said = [as_text(attachment.get(name)) for name in ("taskId", "description", "status", "deltaSummary")]
    return "Task " + ", ".join(text for text in said if text)


def _any_text(attachment: JsonObject) -> str:
    """Returns the text of an attachment whose kind this module does not know; empty if no usual field has one."""
    found = (attachment.get(name) for name in ("content", "text", "prompt", "banner", "addedLines"))
    return next(filter(None, ("\n".join(map(as_text, as_list(item))) or as_text(item) for item in found)), "")


_TEXTS: dict[str, Callable[[JsonObject], str]] = {
    "agent_listing_delta": _lines("addedLines"),
    "async_hook_response": _json("response"),
    "batching_reminder_sent": _text("text"),
    "critical_system_reminder": _text("content"),
    "date_change": lambda attachment: f"The date is now {as_text(attachment.get('newDate'))}.",
    "deferred_tools_delta": _lines("addedLines"),
    "diagnostics": _json("files"),
    "directory": lambda attachment: (
        f"Contents of {as_text(attachment.get('path'))}:\n{as_text(attachment.get('content'))}"
    ),
    "edited_text_file": _edited,
    "hook_additional_context": _hook("additional context"),
    "hook_blocking_error": _hook("blocking error"),
    "hook_stopped_continuation": _text("message"),
    "hook_success": _hook("success"),
    "invoked_skills": _skills,
    "mcp_instructions_delta": _lines("addedBlocks"),
    "mcp_resource": _json("content"),
    "nested_memory": _memory,
    "opened_file_in_ide": lambda attachment: f"Open in the editor: {as_text(attachment.get('filename'))}",
    "plan_file_reference": _text("planContent"),
    "read_truncation_notice": _text("banner"),
    "selected_lines_in_ide": _selected,
    "silent_turn_reminder": _text("text"),
    "skill_listing": _text("content"),
    "task_progress": _text("message"),
    "task_reminder": _tasks,
    "task_status": _status,
    "todo": _tasks,
    "todo_reminder": _tasks,
    "total_tokens_reminder": _text("text"),
}

# Milliseconds without a request that no summary takes to be written, and after which one is written because the
# conversation idles: nine tenths of the hour for which the provider keeps its prompt.
_PAUSE, IDLES_FOR = 60_000, 54 * 60_000


# By the triggers of compactions that somebody asked for.
_ASKED_FOR = {"manual": CompactionCause.BY_HAND, "plugin": CompactionCause.PLUGIN}


class Compaction(Struct, frozen=True, kw_only=True):
    """What the log says of one of Claude Code's compactions.

    `before` is the context's size in tokens, 0 if unknown. `trigger` is `manual`, `auto`, `plugin` or empty, and
    `is_precomputed` says that the summary was written before the compaction. `at` is its time, and `written_at` that of
    the summary; 0 if unknown. `kept` are the ids of the lines that stay in the context: they are not written again, and
    the next line names the last of them as its parent. `keeps_beginning` says that they stay before the summary, not
    after it. `end` is the id of the last line before the compaction; empty if unknown.
    """

    before: int
    trigger: str
    is_precomputed: bool
    at: int
    written_at: int
    kept: tuple[str, ...]
    keeps_beginning: bool
    end: str

    def cause(self, rested_at: int, asked_at: int | None, *, is_forced: bool) -> CompactionCause:
        """Returns why Claude Code compacted. `rested_at` is the time of the last message after which no request was
        due, `asked_at` that of the first one after it since which one is due, None if none is; 0 if unknown.
        `is_forced` says that the provider had refused a request.

        The log has the trigger `auto` for all that no user and no plugin asked for. All 44 recorded compactions at the
        threshold came while a request was due: after a prompt, a call or its result. A compaction after the end of a
        turn is that of a conversation that idles, which 2.1.286 and later make before the cache of the prompt is lost.
        In an editor and on the desktop they only write the summary then, and use it with the next prompt after the
        cache was lost. A summary that is written beforehand near the threshold is used there, at the end of a turn, or
        when the provider refuses a request (2.1.318 and 2.1.332).
        """
        if self.trigger not in ("auto", ""):
            return _ASKED_FOR.get(self.trigger, CompactionCause.UNKNOWN)
        if asked_at is None:
            return CompactionCause.IDLE if _between(rested_at, self.at) >= _PAUSE else CompactionCause.UNKNOWN
        if is_forced:
            return CompactionCause.OVERFLOW
        if not self.is_precomputed:
            return CompactionCause.THRESHOLD
        idled = _between(rested_at, self.written_at) >= IDLES_FOR and self.written_at < asked_at
        return CompactionCause.IDLE if idled else CompactionCause.UNKNOWN


def _between(began: int, ended: int) -> int:
    """Returns the milliseconds between two times, 0 if one is unknown."""
    return ended - began if began and ended else 0


def read_boundary(boundary: Entry | None, summary: Entry, parents: Mapping[str, str]) -> Compaction:
    """Returns the facts of a compaction from its boundary line and its summary's. Early versions (1.0.53) write no
    boundary; then it is None and nothing is known. `parents` maps the id of each line to that of its parent."""
    value = boundary.value if boundary else {}
    metadata = as_object(value.get("compactMetadata"))
    segment = as_object(metadata.get("preservedSegment"))
    listed = as_object(metadata.get("preservedMessages"))
    kept = [as_text(uuid) for uuid in as_list(listed.get("allUuids")) or as_list(listed.get("uuids"))]
    return Compaction(
        before=as_count(metadata.get("preTokens")),
        trigger=as_text(metadata.get("trigger")),
        is_precomputed=metadata.get("precomputed") is True,
        at=boundary.timestamp if boundary else 0,
        written_at=summary.timestamp,
        kept=tuple(kept or _segment(as_text(segment.get("headUuid")), as_text(segment.get("tailUuid")), parents)),
        keeps_beginning=boundary is not None and bool(segment) and segment.get("anchorUuid") == boundary.uuid,
        end=as_text(segment.get("tailUuid")) or as_text(value.get("logicalParentUuid")),
    )


def _segment(head: str, tail: str, parents: Mapping[str, str]) -> list[str]:
    """Returns the ids of the lines from `head` to its descendant `tail`; empty if `tail` does not descend from
    `head`."""
    lines: dict[str, None] = {}
    while head and tail and tail not in lines:
        lines[tail] = None
        if tail == head:
            return list(lines)[::-1]
        tail = parents.get(tail, "")
    return []


# A command of the agent's own is not sent to the model; what it does has lines of its own.
_COMMAND = re.compile(r"/[\w:-]+(?:\s|$)")
# Why a queued prompt goes to the model of this conversation. Other reasons (`cleared_on_cancel`, `dropped_by_hook`,
# `carried_to_background` and more) give it to another one or to none (2.1.332). Earlier versions name no reason.
_ABSORBED = "absorbed_mid_turn"


class Extra(Struct, frozen=True, kw_only=True):
    """A message of the user's role, such as an attachment or a queued prompt, that is added where it comes in the file,
    whatever its parent is."""

    content: tuple[Block, ...]
    uuid: str
    timestamp: int
    mark: Provided | None = None


class PromptQueue:
    """The prompts that the user typed while the model was working and that the model has not been given yet."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, Extra]] = []
        self._attached: list[str] = []
        self._given: list[str] = []

    def operate(self, entry: Entry) -> Extra | None:
        """Applies a `queue-operation` line. Returns the prompt that the model is given by it, if no earlier line
        contains the prompt; else None."""
        operation, text = as_text(entry.value.get("operation")), as_text(entry.value.get("content"))
        if operation == "enqueue" and text:
            at = as_text(entry.value.get("timestamp"))
            content = (TextBlock(text=text),)
            self._waiting.append((text.strip(), Extra(content=content, uuid=f"queued-{at}", timestamp=entry.timestamp)))
        elif operation == "popAll":
            self.drop(text)
        elif operation == "remove":
            return self._remove(text, as_text(entry.value.get("reason")))
        return None

    def attached(self, text: str) -> bool:
        """Removes a prompt from the queue, because an attachment contains it. The `remove` line of the prompt may
        follow.

        Returns False if `operate` has returned the prompt already, so that the attachment must not be added.
        """
        if text.strip() in self._given:
            self._given.remove(text.strip())
            return False
        if self.drop(text):
            self._attached.append(text)
        return True

    def drop(self, text: str) -> bool:
        """Removes a prompt from the queue, such as one that a user line contains. Returns whether it was there."""
        found = next((prompt for prompt in self._waiting if prompt[0] == text.strip()), None)
        if found is not None:
            self._waiting.remove(found)
        return found is not None

    def _remove(self, text: str, reason: str) -> Extra | None:
        if reason not in ("", _ABSORBED):
            self.drop(text)
            return None
        if self._attached or not self._waiting:
            self._attached = self._attached[1:]
            return None
        # Recorded sessions show that what the user typed goes before a notification that was queued earlier.
        typed = next((prompt for prompt in self._waiting if not prompt[0].startswith("<")), self._waiting[0])
        found = next((prompt for prompt in self._waiting if text and prompt[0] == text.strip()), typed)
        self._waiting.remove(found)
        self._given.append(found[0])
        return None if _COMMAND.match(found[0]) else found[1]


# The name of the model in answers that Claude Code wrote itself.
NO_MODEL = "<synthetic>"


class Place:
    """A place in the transcript after which a line may come. `at` is the id of the message there, as
    `TranscriptBuilder.tip` gives it; empty at the beginning."""

    def __init__(self, at: str = "") -> None:
        self.at = at


class Written:
    """The lines that were added to the transcript. `said` maps a line's id to the id of its message, and `results` maps
    a tool call's id to the message and the block index of its result."""

    def __init__(self) -> None:
        self.said: dict[str, str] = {}
        self.results: dict[str, tuple[str, int]] = {}

    def note(self, message_id: str, lines: Iterable[str], content: Sequence[Block] = ()) -> None:
        """Notes that the lines with these ids became the message `message_id`, which has this content."""
        self.said.update(dict.fromkeys(lines, message_id))
        for index, block in enumerate(content):
            if isinstance(block, ToolResultBlock):
                self.results[block.tool_use_id] = (message_id, index)


class Answer:
    """One answer of the model whose lines are still coming: its lines, the lines with the results of its calls, and the
    extras that follow them.

    `place` is where the conversation continues after the answer, and `ended` the time of its last line. `requested` is
    the name of the model that was asked, with `[1m]` if that window was chosen; empty in older versions. `has_usage` is
    False if the usage in its lines was reported with an earlier part of the same answer.
    """

    def __init__(self, answer_id: str, first: Entry, *, has_usage: bool = True) -> None:
        self.id = answer_id
        self.place = Place()
        self.is_added = self.has_results = False
        self._has_usage = has_usage
        self._began = self.ended = first.timestamp
        self._content: list[Block] = []
        self._message = first.message
        self._usage: JsonObject = {}
        self._is_copied = first.is_copied
        self.requested = ""
        self._lines: list[str] = []
        self._open_calls: set[str] = set()
        self._results: list[tuple[Entry, Sequence[Block]]] = []
        # They come after the results.
        self.extras: list[Extra] = []

    def add_line(self, entry: Entry, blocks: Sequence[Block]) -> None:
        """Adds a line of the answer. `blocks` are its blocks that no earlier line has. The last usage with a prompt is
        the answer's: behind some gateways the last line has none."""
        self._lines.append(entry.uuid)
        self._content += blocks
        self._message = entry.message
        usage = as_object(entry.message.get("usage"))
        self._usage = usage if context_of(usage) else self._usage or usage
        self.requested = as_text(entry.value.get("requestedModel"))
        self.ended = entry.timestamp
        self._open_calls |= {block.id for block in blocks if isinstance(block, ToolUseBlock)}

    def add_result(self, entry: Entry, blocks: Sequence[Block]) -> bool:
        """Adds a line with results of this answer's calls. Returns False, and adds nothing, if none of them belongs to
        a call of this answer without a result."""
        results = self._open_calls.intersection(entry.result_ids)
        self._open_calls -= results
        if results:
            self.has_results = True
            self._results.append((entry, blocks))
        return bool(results)

    @property
    def is_complete(self) -> bool:
        """Whether the log says that the answer has ended, by a stop reason. Older versions never say it. All lines of
        an answer name the reason, so one that ends with a call has ended when a call has come."""
        reason = as_text(self._message.get("stop_reason"))
        return bool(reason) and (reason != "tool_use" or any(isinstance(one, ToolUseBlock) for one in self._content))

    def write(self, builder: TranscriptBuilder, written: Written) -> None:
        """Adds the answer's message and its usage to the transcript."""
        model = as_text(self._message.get("model"))
        if model != NO_MODEL:
            builder.use_model(model)
        self.place.at = builder.add(Role.ASSISTANT, self._content, self.id, self._began)
        written.note(self.place.at, self._lines)
        if self._has_usage:
            usage, passes = convert_usage(self._usage), convert_passes(self._usage)
            builder.report(usage, self.place.at, self.ended, passes, is_copied=self._is_copied)
        self.is_added = True

    def write_rest(self, builder: TranscriptBuilder, written: Written, *, ended: bool) -> None:
        """Adds one message with all results, then the extras. Does nothing while a result is missing, unless `ended`
        says that no more results come, or if the answer itself has not been added."""
        if not self.is_added or (self._open_calls and not ended):
            return
        if self._results:
            # Providers want tool results before any other content of the same message.
            content = sorted(
                (block for _, blocks in self._results for block in blocks),
                key=lambda block: not isinstance(block, ToolResultBlock),
            )
            first = self._results[0][0]
            self.place.at = builder.add(Role.USER, content, first.uuid, first.timestamp)
            written.note(self.place.at, (entry.uuid for entry, _ in self._results), content)
            self._results = []
        for extra in self.extras:
            self.place.at = builder.add(Role.USER, extra.content, extra.uuid, extra.timestamp, extra.mark)
            written.note(self.place.at, (extra.uuid,))
        self.extras = []
