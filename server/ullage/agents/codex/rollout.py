"""Reads Codex's session files (`$CODEX_HOME/sessions/**/rollout-*.jsonl`): one `{timestamp, type, payload}` per line.

`response_item` payloads are items of the Responses API: what the model is sent and what it answers. `event_msg`
payloads repeat the items for the screen, and contain the usage (`token_count`); newer versions write the usage as
`token_usage_record`, too. `compacted` is a compaction, the event `thread_rolled_back` a return to an earlier turn.

Early versions write the items without an envelope. Some write calls as `tool_call` and results as `tool_result` without
ids; the result of a tool is then that of its oldest call without a result.

A `compacted` line has the whole new context as `replacement_history`, or only the summary in older versions. Then Codex
keeps the user's newest messages, up to 20,000 tokens, before the summary.

Codex reports the usage of each request as a `token_count`. Its place in the file has changed: older versions write it
before the items of the answer, newer ones after them, and then before or after the results of the answer's tools. So
the place is judged by what the file has written so far, never by the version:

- While an answer is being written, the usage is that answer's.
- If the model has written nothing since the user's last message, it belongs to the answer that comes next.
- If the last answer has its usage already, too.
- Otherwise the last answer's usage is missing, and the turn's first answer has shown the order.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, takewhile
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import first_prompt, is_lone_command
from ullage.agents.codex.segments import CopiedBeginning, records
from ullage.agents.inserted import CODEX
from ullage.formats.parsing import Document, Line, as_count, as_timestamp, convert_usage, to_json
from ullage.formats.transcripts.builder import ImportedTranscript, TranscriptBuilder
from ullage.formats.transcripts.chat import (
    ITEM_TYPES,
    ItemReader,
    is_from_model,
    is_output,
    item_type,
    read_arguments,
    read_functions,
    read_parts,
)
from ullage.formats.transcripts.format import Ends, from_end, incremental
from ullage.model.events import CompactionCause
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import NO_SUMMARY, Role, TextBlock, ToolDefinition, join_texts
from ullage.model.usage import RateLimit, Usage

NAME = "codex-rollout"

_CONTEXT = re.compile(rf"\s*(?:<(?:{'|'.join(CODEX.tags)})\b|{'|'.join(CODEX.not_typed)})")
# What Codex puts before the conversation, again at every resume.
_AGAIN = re.compile(r"\s*(?:<(?:environment_context|user_instructions)\b|# AGENTS\.md instructions)")


def is_added_again(text: str) -> bool:
    """Returns whether Codex itself wrote a message with the user's role, and writes such a message at every resume."""
    return _AGAIN.match(text) is not None


def is_context(text: str) -> bool:
    """Returns whether Codex itself wrote a message with the user's role, judged by how its text begins."""
    return _CONTEXT.match(text) is not None or text.startswith(CODEX.summary_openings)


# What is not part of the conversation. The names are those of Codex's own types (openai/codex, `codex-rs/protocol`).
# Names of later versions are missing, so that the reader reports them. First, types of lines with Codex's own state.
_OWN_LINES = frozenset(
    (
        *("world_state", "inter_agent_communication_metadata", "rollout_reference", "turn_context"),
        # The user's answers to questions, which the model is not sent again after a compaction (0.166).
        *("security_risk_score", "retained_context"),
    )
)
# Items that Codex keeps among the conversation's items and does not send to the model, or that only OpenAI can read.
_OWN_ITEMS = frozenset(
    {"ghost_snapshot", "compaction", "compaction_summary", "context_compaction", "compaction_trigger"}
)
# Events show on the screen what the items already contain, or what Codex does.
_EVENTS = frozenset(
    (
        *("error", "warning", "stream_error", "background_event", "deprecation_notice", "shutdown_complete"),
        *("user_message", "agent_message", "agent_message_delta", "agent_message_content_delta"),
        *("agent_reasoning", "agent_reasoning_delta", "agent_reasoning_raw_content"),
        *("agent_reasoning_raw_content_delta", "agent_reasoning_section_break"),
        *("reasoning_content_delta", "reasoning_raw_content_delta", "raw_response_item"),
        *("session_configured", "thread_settings_applied", "thread_goal_updated", "thread_name_updated"),
        *("task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted"),
        *("item_started", "item_completed", "plan_update", "plan_delta", "turn_diff"),
        *("context_compacted", "undo_started", "undo_completed"),
        *("exec_command_begin", "exec_command_output_delta", "exec_command_end", "terminal_interaction"),
        *("patch_apply_begin", "patch_apply_updated", "patch_apply_end", "view_image_tool_call"),
        *("mcp_startup_update", "mcp_startup_complete", "mcp_tool_call_begin", "mcp_tool_call_end"),
        *("web_search_begin", "web_search_end", "image_generation_begin", "image_generation_end"),
        *("dynamic_tool_call_request", "dynamic_tool_call_response"),
        *("exec_approval_request", "apply_patch_approval_request", "request_permissions", "request_user_input"),
        *("elicitation_request", "guardian_assessment", "guardian_warning", "safety_buffering"),
        *("model_reroute", "model_verification", "turn_moderation_metadata"),
        *("entered_review_mode", "exited_review_mode", "hook_started", "hook_completed", "sub_agent_activity"),
        *("collab_agent_spawn_begin", "collab_agent_spawn_end", "collab_agent_interaction_begin"),
        *("collab_agent_interaction_end", "collab_waiting_begin", "collab_waiting_end", "collab_close_begin"),
        *("collab_close_end", "collab_resume_begin", "collab_resume_end"),
        *("realtime_conversation_started", "realtime_conversation_sdp", "realtime_conversation_realtime"),
        *("realtime_conversation_closed", "realtime_conversation_list_voices_response"),
        *("get_history_entry_response", "mcp_list_tools_response", "list_custom_prompts_response"),
        *("list_skills_response", "skills_update_available", "conversation_path"),
    )
)

_CALLS, _RESULTS = ("tool_call", "function_call"), ("tool_result", "function_result")


def bare_item(line: JsonObject) -> JsonObject | None:
    """Returns the line if it is itself an item of the Responses API, as in early session files. Returns None if the
    line wraps an item or has none."""
    kind = as_text(line.get("type"))
    bare = "payload" not in line and (
        kind in ITEM_TYPES or kind in (*_CALLS, *_RESULTS) or (not kind and line.get("role"))
    )
    return line if bare else None


class Calls:
    """Gives ids to tool calls and results that have none: a result gets that of its tool's oldest call without a
    result."""

    def __init__(self) -> None:
        self._number = 0
        self._open: dict[str, list[str]] = {}

    def complete(self, item: JsonObject) -> JsonObject:
        """Returns an item of an early session file in the shape of the Responses API, with the ids it lacks."""
        kind = as_text(item.get("type"))
        call_id = as_text(item.get("call_id"))
        if kind in _CALLS and ("function" in item or kind == "tool_call"):
            function = as_object(item.get("function"))
            name = as_text(function.get("name")) or as_text(item.get("name"))
            call_id = call_id or as_text(item.get("id"))
            if not call_id:
                self._number += 1
                call_id = f"call{self._number}"
            self._open.setdefault(name, []).append(call_id)
            arguments = read_arguments(item.get("arguments", function.get("arguments")))
            return {"type": "function_call", "name": name, "arguments": arguments, "call_id": call_id}
        if kind in _RESULTS:
            waiting = self._open.get(as_text(item.get("name")), [])
            call_id = call_id or (waiting.pop(0) if waiting else "")
            result = item.get("result", item.get("output"))
            output = result if isinstance(result, str) else to_json(result)
            return {"type": "function_call_output", "call_id": call_id, "output": output}
        if "role" in item and "content" not in item:
            return {"type": "message", "role": item["role"], "content": item.get("message")}
        return item


# Tokens of the user's messages that a compaction without a `replacement_history` keeps, and how Codex estimates them
# (`codex-rs/core/src/compact.rs`).
_KEPT_TOKENS = 20_000
_BYTES_PER_TOKEN = 4
# The summary's place if only OpenAI can read it.
_SEALED = "[Codex compacted the conversation. Only OpenAI can read the summary.]"


class Replacement(Struct, frozen=True, kw_only=True):
    """What a compaction left of the conversation: the text of the `summary`, the ids of the messages that stay
    (`kept`), and items that the transcript does not have yet (`new`). The `summary` is `NO_SUMMARY` if
    nothing was summarized: the agent began a new context."""

    summary: str
    kept: tuple[str, ...]
    new: tuple[JsonObject, ...] = ()


def text_of(item: JsonObject) -> str:
    """Returns the text of a message item of the Responses API."""
    return join_texts(block for block in read_parts(item.get("content")))


def read_replacement(payload: JsonObject, known: Mapping[str, Sequence[str]]) -> Replacement:
    """Returns what a `compacted` line with a `replacement_history` left of the conversation. `known` maps ids and texts
    of messages that the model did not write to their ids in the transcript, oldest first."""
    summary = as_text(payload.get("message"))
    kept: dict[str, None] = {}
    new: list[JsonObject] = []
    # Backwards, so that of two messages with one text the newest is found first.
    for item in reversed(as_objects(payload.get("replacement_history"))):
        text = text_of(item)
        candidates = [*known.get(text, ()), *known.get(as_text(item.get("id")), ())]
        found = next((known_id for known_id in reversed(candidates) if known_id not in kept), None)
        if found and item_type(item) == "message":
            kept[found] = None
        elif not (summary and text == summary):
            new.append(item)
    sealed = any(item.get("encrypted_content") for item in as_objects(payload.get("replacement_history")))
    none = _SEALED if sealed else NO_SUMMARY
    return Replacement(summary=summary or none, kept=tuple(reversed(kept)), new=tuple(reversed(new)))


def keep_newest(payload: JsonObject, prompts: Sequence[tuple[str, str]]) -> Replacement:
    """Returns what a `compacted` line without a `replacement_history` left of the conversation: the newest user
    messages, up to 20,000 tokens. `prompts` are pairs of an id and a text of the user's messages, oldest first."""
    sizes = accumulate(-(-len(text.encode()) // _BYTES_PER_TOKEN) for _, text in reversed(prompts))
    number = sum(1 for _ in takewhile(lambda size: size <= _KEPT_TOKENS, sizes))
    newest = prompts[len(prompts) - number :]
    return Replacement(summary=as_text(payload.get("message")) or NO_SUMMARY, kept=tuple(known for known, _ in newest))


# Codex's name of the limits of the whole subscription. Others are those of one model.
_OF_ALL = ("", "codex")
# Milliseconds of a minute, hours of a day, and the minutes of the shortest time that has a name.
_MINUTE, _DAY, _SHORTEST = 60_000, 24, 31


def rate_limits(payload: JsonObject, at: int) -> tuple[RateLimit, ...]:
    """Returns the limits of the user's subscription that a `token_count` has, which Codex wrote at `at`.

    Each is used to a share in a time of `window_minutes`, which ends at `resets_at` (Unix seconds); in older versions
    so many seconds after `at` (`resets_in_seconds`); in the oldest, which do not say it, no later than after one such
    time. What can't be dated is left out, because nobody would know when it is over."""
    said = as_object(payload.get("rate_limits"))
    if as_text(said.get("limit_id")) not in _OF_ALL:
        return ()
    return tuple(limit for name in ("primary", "secondary") if (limit := _rate_limit(said, name, at)) is not None)


def _rate_limit(said: JsonObject, name: str, at: int) -> RateLimit | None:
    limit = as_object(said.get(name))
    used, minutes = (limit.get(key, said.get(f"{name}_{key}")) for key in ("used_percent", "window_minutes"))
    length = as_count(minutes)
    after = limit.get("resets_in_seconds")
    until = as_count(limit.get("resets_at")) * 1_000
    if not until and at:
        until = at + (length * _MINUTE if after is None else as_count(after) * 1_000)
    if length < _SHORTEST or not until or isinstance(used, bool) or not isinstance(used, int | float):
        return None
    if not 0 <= used < 1_000:
        return None
    # Codex states five hours as 299 minutes, too.
    hours = round(length / 60)
    called = f"{hours}h" if hours % _DAY else f"{hours // _DAY}d"
    # To the minute, because the second differs from answer to answer.
    return RateLimit(name=called, percent=round(used), until=until // _MINUTE * _MINUTE)


class UsageOrder:
    """Adds each usage to the answer that it belongs to. `precedes` says whether this file writes a usage before its
    answer.

    `size` is the tokens of the last reported request with its answer, and `size_before` those of the request before it;
    0 if unknown. `is_copied` says that the usages which are read now are another conversation's, whose records come
    first in the file.
    """

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._waiting: Usage | None = None
        self.is_copied = False
        self._answer = ""
        self._reported = False
        self._last: Any = None
        self._preceded = False
        self.precedes = False
        self.size = 0
        self.size_before = 0
        self._estimate: int = 0

    def prompt(self) -> None:
        """Notes that the user's next message was read, so that the model has written nothing since."""
        self._answer = ""

    def compact(self) -> None:
        """Notes a compaction. A usage that still waits for its answer was that of the request for the summary, so it is
        dropped and shows nothing about the order."""
        if self._waiting:
            self.precedes = self._preceded
        self._answer, self._waiting = "", None

    def begin_answer(self) -> None:
        """Notes the first item of an answer. In a turn's first answer this shows whether the usage came before it."""
        if not self._answer:
            self.precedes = self._waiting is not None

    def answer(self, message_id: str) -> None:
        """Notes that the answer `message_id` is complete, and reports the usage that waited for it."""
        self._answer, self._reported = message_id, False
        if self._waiting:
            usage, self._waiting = self._waiting, None
            self._report(usage)

    def count(self, payload: JsonObject, *, answering: bool, timestamp: int = 0) -> bool:
        """Reads a `token_count` event and reports its usage, now or with the next answer. Returns False if it repeats
        the one before, because only the rate limits changed.

        `answering` is true if the file has just written items of an answer. After a compaction or a return to an
        earlier turn, Codex writes its own estimate of the context, in Unix milliseconds at `timestamp`: only the total
        is not 0. Codex acts on it until the next answer.
        """
        info = as_object(payload.get("info"))
        raw = as_object(info.get("last_token_usage"))
        estimate = as_count(raw.get("total_tokens"))
        if estimate and not convert_usage(raw).total:
            if estimate == self._estimate:
                return False
            self._builder.estimate(estimate, timestamp)
            self.size = self._estimate = estimate
            return True
        total = info.get("total_token_usage") or raw
        if not total or total == self._last:
            return False
        self._last = total
        self._place(convert_usage(raw), answering=answering)
        return True

    def record(self, payload: JsonObject) -> bool:
        """Reads a `token_usage_record`, which follows its answer, and reports its usage. Returns False, and reports
        nothing, if no answer without a usage came before it: the record is then that of a request for a summary."""
        # The thread's total is that of the `token_count` which repeats this usage.
        self._last = as_object(payload.get("thread_token_usage")) or self._last
        if not self._answer or self._reported:
            return False
        self.precedes = False
        self._report(convert_usage(as_object(payload.get("usage"))))
        return True

    def _place(self, usage: Usage, *, answering: bool) -> None:
        if not usage.total:
            return
        self._preceded = self.precedes
        if answering and self._answer:
            self.precedes = False
        elif not self._answer or self._reported:
            self.precedes = True
        if self.precedes:
            self._waiting = usage
        else:
            self._report(usage)

    def _report(self, usage: Usage) -> None:
        if usage.total:
            # A session that was written by `ullage continue` has a usage, and a total of 0.
            is_unpaid = bool(self._last) and not any(map(as_count, as_object(self._last).values()))
            self._builder.report(usage, self._answer, is_copied=self.is_copied or is_unpaid)
            self._estimate = 0
            self.size_before, self.size = self.size, usage.total
        self._reported = True


# Events at the end of a file that say nothing of the context. A thread's settings may name another model.
_QUIET = _EVENTS - {
    "thread_settings_applied",
    "task_started",
    "turn_started",
    "session_configured",
    "context_compacted",
}
# What the first line has for the model, which is not needed for a figure.
_WITHOUT_TEXTS = {"base_instructions": None, "instructions": None, "dynamic_tools": None}
_ENVELOPES = {"session_meta", "response_item", "event_msg", "compacted", "token_usage_record", *_OWN_LINES}
# Share of the window that the file names. Codex compacts by itself at 95 % of it.
_FULL = 0.9


def matches(document: Document) -> bool:
    """Returns whether any line of the file has the shape of a line of Codex's session files."""
    return any(
        (as_text(value.get("type")) in _ENVELOPES and isinstance(value.get("payload"), dict))
        or value.get("record_type") == "state"
        for value in document.objects
    )


class CodexReader:
    """Reads a session file of Codex line by line. An answer is held back until an item that is not its own follows."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._items = ItemReader(builder)
        self._usage = UsageOrder(builder)
        self._copied = CopiedBeginning()
        self._calls = Calls()
        self._tools: tuple[ToolDefinition, ...] = ()
        # Results that wait for the end of their answer: older versions write an answer's calls and results in turns.
        self._results: list[tuple[JsonObject, int]] = []
        self._instructions = ""
        self._prompts: list[tuple[str, str]] = []
        self._turns: list[str] = []
        self._known: dict[str, list[str]] = {}
        self._window = 0
        self._said = ""
        self._prompted = True
        self._handlers: dict[str, Callable[[JsonObject, Line], None]] = {
            "response_item": self._take_item,
            "event_msg": self._take_event,
            "token_usage_record": self._take_usage,
            "compacted": self._take_compaction,
            "session_meta": self._take_session,
            "inter_agent_communication": self._take_message_of_agent,
        }

    def take(self, record: Line) -> None:
        """Reads the next line: an item, an event, a compaction or facts of the session."""
        if record.value is None:
            self._builder.skip_unread(record)
            return
        self._copied.read(record)
        self._usage.is_copied = self._copied.is_here
        item = bare_item(record.value)
        if item is not None:
            self._take_item(item, record)
            return
        kind = as_text(record.value.get("type"))
        payload = as_object(record.value.get("payload"))
        handler = self._handlers.get(kind)
        if handler:
            handler(payload, record)
        elif kind in _OWN_LINES:
            self._take_facts(payload)
            self._builder.skip(record.number, f"{kind} line", expected=True)
        elif "record_type" in record.value:
            self._builder.skip(record.number, "state line", expected=True)
        elif not kind and "id" in record.value and "timestamp" in record.value:
            self._take_session(record.value, record)
        else:
            self._builder.skip(record.number, f"unknown line type {kind!r}", expected=False)

    def finish(self) -> None:
        """Adds the messages that were held back."""
        self._end_answer()
        self._items.end()

    def _take_item(self, payload: JsonObject, record: Line) -> None:
        item = self._calls.complete(payload)
        kind, time = item_type(item), _time(record)
        if kind in _OWN_ITEMS:
            self._builder.skip(record.number, f"{kind} item", expected=True)
        elif kind == "agent_message":
            self._take_message_of_agent(item, record)
        elif kind == "additional_tools":
            self._declare(item)
            self._builder.skip(record.number, "tools", expected=True)
        elif is_output(item):
            if self._usage.precedes:
                self._results.append((item, time))
            else:
                self._end_answer()
                self._items.add(item, time)
        elif is_from_model(item):
            self._add_instructions("")
            self._usage.begin_answer()
            self._said = text_of(item) if kind == "message" else self._said
            self._items.add(item, time)
        elif kind == "message":
            self._add_message(item, time)
        else:
            self._builder.skip(record.number, f"unknown item {kind!r}", expected=False)

    def _add_message(self, item: JsonObject, time: int) -> None:
        """Adds a message of the user or the system to the transcript, after the answer before it."""
        self.finish()
        text = text_of(item)
        self._add_instructions(text, of_user=item.get("role") == "user")
        before = self._builder.tip
        added = self._items.add_message(item, time)
        for key in {as_text(item.get("id")), text} - {""}:
            self._known.setdefault(key, []).append(added)
        if item.get("role") != "user" or is_context(text):
            return
        if not self._builder.title or is_lone_command(self._builder.title):
            self._builder.title = first_prompt([self._builder.title, text])
        self._turns.append(before)
        self._prompts.append((self._builder.tip, text))
        self._usage.prompt()
        self._prompted = True

    def _add_instructions(self, text: str, *, of_user: bool = True) -> None:
        """Adds the instructions of the file's first line as a system message before the first user message, unless a
        message repeats them. `text` is the next message's."""
        if not self._instructions or (text and self._instructions in text):
            self._instructions = ""
        elif of_user:
            instructions, self._instructions = self._instructions, ""
            self._builder.add(Role.SYSTEM, (TextBlock(text=instructions),))

    def _end_answer(self) -> None:
        """Adds the answer of the items that were held back, then the tool results that came before its end."""
        if self._items.answering:
            last = self._items.last_answer
            self._items.end()
            if self._items.last_answer != last:
                self._usage.answer(self._items.last_answer)
        results, self._results = self._results, []
        for item, time in results:
            self._items.add(item, time)

    def _take_event(self, payload: JsonObject, record: Line) -> None:
        kind = as_text(payload.get("type"))
        if kind == "token_count":
            self._take_count(payload, record)
        elif kind == "thread_rolled_back":
            self._roll_back(as_count(payload.get("num_turns")), _time(record))
        else:
            if kind in ("task_started", "turn_started"):
                self._prompted = False
                self._use_window(payload, _time(record))
            self._builder.title = as_text(payload.get("thread_name")) or self._builder.title
            self._builder.use_model(as_text(as_object(payload.get("thread_settings")).get("model")))
            self._builder.skip(record.number, f"{kind or 'unknown'} event", expected=kind in _EVENTS)

    def _take_count(self, payload: JsonObject, record: Line) -> None:
        self._builder.limit(rate_limits(payload, _time(record)), _time(record))
        answering = self._items.answering and not self._results
        self._use_window(as_object(payload.get("info")), _time(record))
        self.finish()
        self._copied.count(as_object(payload.get("info")))
        self._usage.is_copied = self._copied.is_here
        if not self._usage.count(payload, answering=answering, timestamp=_time(record)):
            self._builder.skip(record.number, "token_count event that repeats the last one", expected=True)

    def _take_usage(self, payload: JsonObject, record: Line) -> None:
        self._end_answer()
        if not self._usage.record(payload):
            self._builder.skip(record.number, "usage of a request without an answer in the file", expected=True)

    def _use_window(self, facts: JsonObject, time: int) -> None:
        self._window = as_count(facts.get("model_context_window")) or self._window
        self._builder.window(self._window or None, timestamp=time)

    def _roll_back(self, turns: int, time: int) -> None:
        self.finish()
        if turns and self._turns:
            place = max(0, len(self._turns) - turns)
            self._builder.rewind(self._turns[place], time)
            del self._turns[place:], self._prompts[place:]
        self._usage.compact()

    def _take_compaction(self, payload: JsonObject, record: Line) -> None:
        self.finish()
        full = "replacement_history" in payload
        replacement = read_replacement(payload, self._known) if full else keep_newest(payload, self._prompts)
        # Newer versions write the model's answer to the request for the summary, too.
        answered = bool(self._said) and replacement.summary.endswith(self._said)
        size = self._usage.size_before if answered else self._usage.size
        is_due = self._builder.was_due if answered else self._builder.is_due
        self._builder.compact(
            replacement.summary,
            as_text(payload.get("window_id")),
            _time(record),
            before=size,
            cause=self._cause(replacement, is_due=is_due, is_full=size >= _FULL * self._window),
            kept=replacement.kept,
        )
        self._usage.compact()
        for item in replacement.new:
            self._take_item(item, record)
        self.finish()

    def _cause(self, replacement: Replacement, *, is_due: bool, is_full: bool) -> CompactionCause:
        """Returns why Codex compacted. `is_due` says whether the model had yet to answer, and `is_full` that the
        context was as large as Codex lets it become.

        A turn without a prompt is one that the user began to compact. Before a turn's prompt is written, Codex compacts
        a full context. After a turn, it compacts if `model_post_turn_compact_threshold_percent` says so.
        """
        if replacement.summary == NO_SUMMARY:
            return CompactionCause.NEW_WINDOW
        if is_full:
            return CompactionCause.THRESHOLD
        if not self._prompted:
            return CompactionCause.BY_HAND
        return CompactionCause.THRESHOLD if is_due else CompactionCause.POST_TURN

    def _take_session(self, payload: JsonObject, record: Line) -> None:
        """Reads the facts in the file's `session_meta` line. Further such lines are those of the conversations that
        this one was forked from, and are skipped."""
        self._builder.skip(record.number, "session_meta line", expected=True)
        if self._builder.agent:
            if payload.get("id") != self._builder.session_id and not record.is_copied:
                self._copied.is_inside = True
            return
        self._copied.made_at = _time(record)
        self._builder.agent = "Codex"
        self._builder.version = as_text(payload.get("cli_version"))
        self._builder.session_id = as_text(payload.get("id"))
        spawned = as_object(as_object(as_object(payload.get("source")).get("subagent")).get("thread_spawn"))
        parents = (payload.get("parent_thread_id"), spawned.get("parent_thread_id"), payload.get("forked_from_id"))
        self._builder.parent = next((parent for value in parents if (parent := as_text(value))), "")
        self._builder.is_sub_agent = bool(as_object(payload.get("source")).get("subagent") or any(parents[:2]))
        self._take_facts(payload)
        self._declare({"tools": payload.get("dynamic_tools")})
        base = payload.get("base_instructions")
        if text := as_text(base) or as_text(as_object(base).get("text")):
            self._builder.add(Role.SYSTEM, (TextBlock(text=text),))
        else:
            # Older versions name the user's instructions here, which a message of the user repeats.
            self._instructions = as_text(payload.get("instructions"))

    def _take_facts(self, payload: JsonObject) -> None:
        self._builder.cwd = self._builder.cwd or as_text(payload.get("cwd"))
        self._builder.use_model(as_text(payload.get("model")))

    def _declare(self, item: JsonObject) -> None:
        """Declares the tools that an item adds to Codex's own. Codex's own tools are in no file."""
        tools = as_objects(item.get("tools"))
        flat = [one for tool in tools for one in (as_objects(tool.get("tools")) or [tool])]
        renamed = [one | {"parameters": one.get("inputSchema", one.get("parameters"))} for one in flat]
        added = read_functions([one for one in renamed if not one.get("deferLoading")])
        if added:
            self._tools = (*self._tools, *added)
            self._builder.declare(self._tools)

    def _take_message_of_agent(self, item: JsonObject, record: Line) -> None:
        """Adds a message from another agent. Its encrypted parts are left out, because only OpenAI can read them."""
        self.finish()
        content = item.get("content")
        parts = [part for part in as_objects(content) if part.get("type") != "encrypted_content"]
        text = as_text(content) or text_of({"content": parts})
        heading = to_json({key: item[key] for key in ("author", "recipient") if key in item})
        self._turns.append(self._builder.tip)
        block = TextBlock(text=f"{heading}\n{text}")
        self._prompts.append((self._builder.add(Role.USER, (block,), as_text(item.get("id")), _time(record)), text))
        self._usage.prompt()
        self._prompted = True


def last_answer(lines: Sequence[Line]) -> int:
    """Returns the place of the last prompt that a usage follows (see `Format`): whether a file writes the usage of an
    answer before or after it shows in the first answer of a turn."""
    is_counted = False
    for place in reversed(range(len(lines))):
        value = lines[place].value or {}
        payload = as_object(value.get("payload", value))
        kind = payload.get("type")
        is_counted |= (kind == "token_count" and bool(payload.get("info"))) or value.get("type") == "token_usage_record"
        if is_counted and kind == "message" and payload.get("role") == "user":
            return place
    return len(lines)


class _LastPayload(Struct):
    type: str = ""
    role: str = ""
    model: str = ""
    info: JsonObject | None = None
    rate_limits: JsonObject | None = None


class _LastLine(Struct):
    """What is needed of a line to know whether it changes the figure."""

    type: str
    timestamp: str = ""
    payload: _LastPayload | None = None


_last_line = msgspec.json.Decoder(_LastLine)
_TURN, _WINDOW = b'"turn_context"', b'"model_context_window":'


def at_end(ends: Ends) -> ImportedTranscript | None:
    """Returns what the last `token_count` says if it comes right after an answer; see `Format`. Before an answer, older
    versions write the usage of the request that the answer is for."""
    counted: _LastLine | None = None
    model, limits = "", ()
    for line, _ in from_end(ends.last(), _last_line):
        said = line.payload or _LastPayload()
        if line.type == "turn_context":
            model = model or said.model
        elif line.type == "event_msg" and said.type == "token_count" and said.info:
            counted = counted or line
            limits = limits or rate_limits({"rate_limits": said.rate_limits}, as_timestamp(line.timestamp))
        elif line.type == "response_item" and counted:
            is_answered = is_from_model({"type": said.type, "role": said.role})
            return _of_count(ends, counted, model, limits, as_timestamp(line.timestamp)) if is_answered else None
        elif not (line.type == "token_usage_record" or (line.type == "event_msg" and said.type in _QUIET)):
            return None
    return None


def _of_count(
    ends: Ends, counted: _LastLine, model: str, limits: tuple[RateLimit, ...], at: int
) -> ImportedTranscript | None:
    head = ends.first[0].value or {}
    info = as_object(counted.payload and counted.payload.info)
    usage, window = convert_usage(as_object(info.get("last_token_usage"))), as_count(info.get("model_context_window"))
    if head.get("type") != "session_meta" or not usage.prompt or not window:
        return None
    if not model:
        # The context of a long turn is named at its beginning.
        named = ends.last_with(_TURN)
        value = named.value if named and named.value else {}
        model = as_text(as_object(value.get("payload")).get("model")) if value.get("type") == "turn_context" else ""
    if not model:
        return None
    builder = TranscriptBuilder(NAME, "")
    reader = CodexReader(builder)
    reader.take(Line(number=1, value={**head, "payload": {**as_object(head.get("payload")), **_WITHOUT_TEXTS}}))
    builder.use_model(model)
    builder.window(window, timestamp=at)
    builder.limit(limits, at)
    builder.report_answer(model, usage, at)
    return builder.finish()


def _time(record: Line) -> int:
    value = record.value or {}
    return as_timestamp(value.get("timestamp", value.get("created_at")))


FORMAT = replace(
    incremental(NAME, matches, CodexReader, records), last_answer=last_answer, at_end=at_end, window_mark=_WINDOW
)
