"""Reads Codex's session files (`$CODEX_HOME/sessions/**/rollout-*.jsonl`): one `{timestamp, type, payload}` per line.

`response_item` payloads are items of the Responses API: what the model is sent and what it answers. `event_msg`
payloads repeat the items for the screen, and contain the usage (`token_count`); newer versions write the usage as
`token_usage_record`, too. `compacted` is a compaction, the event `thread_rolled_back` a return to an earlier turn.
Early versions write the items without an envelope.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from ullage.agents.codex import known
from ullage.agents.codex.bare_items import Calls, bare_item
from ullage.agents.codex.compacted import Replacement, keep_newest, read_replacement, text_of
from ullage.agents.codex.inserted import is_context
from ullage.agents.codex.segments import CopiedBeginning, records
from ullage.agents.codex.usage_order import UsageOrder
from ullage.agents.machine import first_prompt
from ullage.formats.parsing import Document, Line, as_count, as_timestamp, to_json
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import read_functions
from ullage.formats.transcripts.format import incremental
from ullage.formats.transcripts.response_items import ItemReader, is_from_model, is_output, item_type
from ullage.model.blocks import TextBlock
from ullage.model.edits import CompactionCause
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import Role, ToolDefinition

NAME = "codex-rollout"
_ENVELOPES = {"session_meta", "response_item", "event_msg", "compacted", "token_usage_record", *known.OWN_LINES}
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
        elif kind in known.OWN_LINES:
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
        self._items.flush()

    def _take_item(self, payload: JsonObject, record: Line) -> None:
        item = self._calls.complete(payload)
        kind, time = item_type(item), _time(record)
        if kind in known.OWN_ITEMS:
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
        self._end_answer()
        self._items.flush()
        text = text_of(item)
        self._add_instructions(text, of_user=item.get("role") == "user")
        before = self._builder.tip
        added = self._items.add_message(item, time)
        self._remember(added, item, text)
        if item.get("role") == "user":
            self._note_prompt(text, before)

    def _note_prompt(self, text: str, before: str) -> None:
        if is_context(text):
            return
        self._builder.title = self._builder.title or first_prompt([text])
        self._turns.append(before)
        self._prompts.append((self._builder.tip, text))
        self._usage.prompt()
        self._prompted = True

    def _remember(self, message_id: str, item: JsonObject, text: str) -> None:
        for key in {as_text(item.get("id")), text} - {""}:
            self._known.setdefault(key, []).append(message_id)

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
            self._items.flush()
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
            self._builder.skip(record.number, f"{kind or 'unknown'} event", expected=kind in known.EVENTS)

    def _take_count(self, payload: JsonObject, record: Line) -> None:
        answering = self._items.answering and not self._results
        self._use_window(as_object(payload.get("info")), _time(record))
        self._end_answer()
        self._items.flush()
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
        self._end_answer()
        self._items.flush()
        if turns and self._turns:
            place = max(0, len(self._turns) - turns)
            self._builder.rewind(self._turns[place], time)
            del self._turns[place:], self._prompts[place:]
        self._usage.compact()

    def _take_compaction(self, payload: JsonObject, record: Line) -> None:
        self._end_answer()
        self._items.flush()
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
        if replacement.is_empty:
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
                self._copied.begin()
            return
        self._copied.make(_time(record))
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
        self._end_answer()
        self._items.flush()
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


def _time(record: Line) -> int:
    value = record.value or {}
    return as_timestamp(value.get("timestamp", value.get("created_at")))


FORMAT = replace(incremental(NAME, matches, CodexReader, records), last_answer=last_answer)
