"""What Ullage knows about the Grok CLI: where its sessions are, how they are read, and where it compacts.

A session (`~/.grok/sessions/*/ID/`, seen with 1.0.41) is in two files. `updates.jsonl`, to which it only appends, has
messages of the Agent Client Protocol, one per line. An update about a tool's call has the tokens that the context holds
with it (`totalTokens`); in an update with a text they are a guess. The end of a turn has the sum of its requests, of
which the last is what the others leave. `chat_history.jsonl` has the context as it is now, one message per line,
without times and tokens. A compaction replaces it, and leaves a copy of the new one in `compaction_checkpoints`.
`summary.json` has the session's facts, and `signals.json` the window.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from ullage.agents.agent import Agent, Facts, Sessions, common_facts, first_prompt, in_folder, last_text, side_of
from ullage.agents.inserted import by_program
from ullage.agents.own_context import OwnContext, OwnSettings, Reading, number, share
from ullage.agents.record_reader import PieceRecordReader
from ullage.formats.parsing import Document, Line, as_count, to_json, usage_in
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.chat import read_arguments, read_image_url, read_parts, thoughts
from ullage.formats.transcripts.format import Records, incremental
from ullage.model.events import CompactionCause
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import Block, Role, TextBlock, join_texts
from ullage.model.usage import Usage


def _title_of(records: Sequence[JsonObject]) -> str:
    named = last_text(records, "generated_title") or last_text(records, "session_summary")
    typed = (record for record in records if record.get("type") == "user" and "synthetic_reason" not in record)
    updates = (update for record in records if (update := _update_of(record)))
    sent = (update for update in updates if update.get("sessionUpdate") == "user_message_chunk")
    return named or first_prompt(said.get("content") for said in (*typed, *sent))


def _facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    # `summary.json` has the id, and whether it is a sub-agent's, but not which session started it.
    summary = as_object(next((record for record in records if "info" in record), None))
    session_id = as_text(as_object(summary.get("info")).get("id"))
    facts = replace(common_facts(path, records), session_id=session_id)
    return side_of(facts, session_id, "") if is_of_sub_agent(summary) else facts


def is_of_sub_agent(summary: JsonObject) -> bool:
    """Returns whether a session is a sub-agent's, according to its `summary.json`. The user's own has no kind."""
    return summary.get("session_kind") == "subagent"


NAME = "grok-cli"
# Keys that rows of no other format have.
_MARKS = {"model_id", "model_fingerprint", "prompt_index", "synthetic_reason"}
_SUMMARY = "summary"


def _matches(document: Document) -> bool:
    return any(
        as_text(value.get("type")) in ("user", "assistant") and "content" in value and _MARKS & set(value)
        for value in document.objects
    )


_HISTORY_FILE, _UPDATES_FILE = "chat_history.jsonl", "updates.jsonl"


def _fact_files(path: str) -> tuple[str, ...]:
    return (f"{_SUMMARY}.json",) if path.endswith((f"/{_HISTORY_FILE}", f"/{_UPDATES_FILE}")) else ()


def _companions(path: str) -> tuple[str, ...]:
    own = ("signals.json", "compaction_checkpoints/*.json") if path.endswith(f"/{_UPDATES_FILE}") else ()
    return (*_fact_files(path), *own)


def _records(document: Document) -> Records:
    summaries = ({"type": _SUMMARY, _SUMMARY: companion.value} for companion in document.companions)
    return Records(lines=(*(Line(number=1, value=value) for value in summaries), *document.lines))


class GrokReader(PieceRecordReader):
    """Reads the rows of one chat history of Grok. The pieces of a message are held back until another message
    begins."""

    def _read(self, value: JsonObject, number: int) -> None:
        row = value
        match row.get("type"):
            case "system":
                self._pieces.say(Role.SYSTEM, read_parts(row.get("content")))
            case "user":
                self._pieces.say(Role.USER, _read_content(row))
            case "reasoning":
                thinking = thoughts(join_texts(read_parts(row.get("summary"))))
                self._pieces.piece(Role.ASSISTANT, thinking, as_text(row.get("id")))
            case "assistant":
                self._take_answer(row)
            case "backend_tool_call":
                self._pieces.piece(Role.ASSISTANT, [TextBlock(text=to_json(row.get("kind")))])
            case "tool_result":
                self._pieces.result(read_parts(row.get("content")), as_text(row.get("tool_call_id")))
            case "summary":
                _take_summary(self._builder, as_object(row.get(_SUMMARY)))
            case kind:
                self._builder.skip(number, f"unknown row {kind!r}", expected=False)

    def _take_answer(self, row: JsonObject) -> None:
        self._builder.agent = "Grok"
        self._builder.use_model(as_text(row.get("model_id")))
        self._pieces.piece(Role.ASSISTANT, read_parts(row.get("content")))
        for call in as_objects(row.get("tool_calls")):
            self._pieces.call(as_text(call.get("name")), read_arguments(call.get("arguments")), as_text(call.get("id")))


def _take_summary(builder: TranscriptBuilder, summary: JsonObject) -> None:
    info = as_object(summary.get("info"))
    builder.session_id = as_text(info.get("id"))
    builder.is_sub_agent = is_of_sub_agent(summary)
    builder.cwd = as_text(info.get("cwd"))
    builder.title = as_text(summary.get("generated_title")) or as_text(summary.get("session_summary"))
    builder.use_model(as_text(summary.get("current_model_id")))


def _read_content(row: JsonObject) -> list[Block]:
    content = row.get("content")
    if isinstance(content, str):
        return [*read_parts(content)]
    blocks: list[Block] = []
    for part in as_objects(content):
        image = part.get("type") == "image" and as_text(part.get("url"))
        blocks += [read_image_url(image)] if image else read_parts([part])
    return blocks


CHAT_HISTORY = incremental(NAME, _matches, GrokReader, _records)

UPDATES_NAME = "grok-updates"
_UPDATE, _SIGNALS, _CHECKPOINTS = "session/update", "signals", "checkpoints"
# What else the program notes.
_OWN_UPDATES = {
    *("available_commands_update", "current_mode_update", "plan", "config_option_update", "session_info_update"),
    *("auto_compact_started", "compaction_checkpoint", "subagent_spawned", "subagent_finished", "background_tasks"),
}


def _update_of(value: JsonObject) -> JsonObject:
    return as_object(as_object(value.get("params")).get("update"))


def _are_updates(document: Document) -> bool:
    # The program's own updates have a prefix.
    return any(
        as_text(value.get("method")).endswith(_UPDATE) and "sessionUpdate" in _update_of(value)
        for value in document.objects
    )


def _updates(document: Document) -> Records:
    """Returns what the files beside the updates say, and the updates."""
    beside = {PurePosixPath(file.name).stem: file.value for file in document.companions}
    facts = {name: beside.pop(name, None) for name in (_SUMMARY, _SIGNALS)} | {_CHECKPOINTS: beside}
    return Records(lines=(Line(number=1, value=facts), *document.lines))


class UpdatesReader(PieceRecordReader):
    """Reads the updates of one session of Grok. The pieces of a message are held back until another message begins."""

    agent = "Grok"

    def _begin(self) -> None:
        self._checkpoints: JsonObject = {}
        self._checkpoint, self._is_automatic = "", False
        # What precedes each prompt, by its number, and the number and the id of the last one.
        self._before: dict[int, str] = {}
        self._prompt, self._prompt_id = -1, ""
        # The tokens of this turn's requests for calls, by the time of the request, and those that are to be reported.
        self._requests: dict[int, int] = {}
        self._total = 0

    def _read(self, value: JsonObject, number: int) -> None:
        if _CHECKPOINTS in value:
            self._take_facts(value)
            return
        update, meta = _update_of(value), as_object(as_object(value.get("params")).get("_meta"))
        said = as_text(meta.get("eventId")), as_count(meta.get("agentTimestampMs"))
        content = read_parts([update["content"]] if isinstance(update.get("content"), dict) else [])
        match as_text(update.get("sessionUpdate")):
            case "user_message_chunk":
                self._take_prompt(as_object(update.get("_meta")), content, *said)
            case "agent_message_chunk":
                self._pieces.piece(Role.ASSISTANT, content, *said)
            case "agent_thought_chunk":
                self._pieces.piece(Role.ASSISTANT, thoughts(join_texts(content)), *said)
            case "tool_call":
                self._total = as_count(meta.get("totalTokens"))
                self._requests[as_count(meta.get("streamStartMs"))] = self._total
                given = as_object(update.get("rawInput"))
                self._pieces.call(_tool_of(update), given, as_text(update.get("toolCallId")), *said)
            case "tool_call_update":
                self._take_result(update, *said)
            case "turn_completed":
                self._take_turn(as_object(update.get("usage")), said[1])
            case "rewind_marker":
                self._flush()
                self._builder.rewind(self._before.get(as_count(update.get("target_prompt_index")), ""), said[1])
                self._prompt = -1
            case "auto_compact_completed":
                self._take_compaction(update, *said)
            case kind:
                self._is_automatic |= kind == "auto_compact_started"
                self._checkpoint = as_text(update.get("checkpoint_id")) or self._checkpoint
                self._builder.window(as_count(update.get("context_window")) or None, timestamp=said[1])
                self._builder.skip(number, f"{kind or 'unknown'} update", expected=kind in _OWN_UPDATES)

    def _flush(self) -> None:
        added, total = self._pieces.end(), self._total
        if total and added == self._pieces.last_answer:
            # Of what was paid the end of the turn has the sum.
            self._builder.report(Usage(input_tokens=total), added, is_copied=True)
            self._total = 0

    def _take_facts(self, facts: JsonObject) -> None:
        summary, signals = as_object(facts.get(_SUMMARY)), as_object(facts.get(_SIGNALS))
        _take_summary(self._builder, summary)
        self._builder.window(as_count(signals.get("contextWindowTokens")) or None)
        self._checkpoints = as_object(facts.get(_CHECKPOINTS))

    def _take_prompt(self, about: JsonObject, content: Sequence[Block], message_id: str, time: int) -> None:
        """Adds a piece of a prompt. What the program says in the user's place is hidden from the user."""
        prompt, is_hidden = as_count(about.get("promptIndex")), about.get("hideFromScrollback") is True
        self._builder.use_model(as_text(about.get("modelId")))
        if prompt != self._prompt or is_hidden:
            self._flush()
        if prompt != self._prompt:
            # After going back, prompts have the numbers of those that are gone.
            self._before[prompt] = self._builder.tip
            self._prompt, self._prompt_id = prompt, "" if is_hidden else message_id
        if is_hidden:
            self._builder.add(Role.USER, content, message_id, time, by_program("hideFromScrollback"))
        else:
            self._pieces.piece(Role.USER, content, message_id, time)

    def _take_result(self, update: JsonObject, message_id: str, time: int) -> None:
        if update.get("status") not in ("completed", "failed"):
            return
        if self._total:
            # The answer ends. The results of its calls are one message.
            self._flush()
        raw = as_object(update.get("rawOutput"))
        said = read_parts(raw.get("output_for_prompt")) or read_parts(
            [part.get("content") for part in as_objects(update.get("content"))]
        )
        failed = update.get("status") == "failed" or raw.get("exit_code") not in (None, 0)
        call = as_text(update.get("toolCallId"))
        self._pieces.result(said, call, failed=failed, message_id=message_id, time=time)

    def _take_turn(self, usage: JsonObject, time: int) -> None:
        """Ends a turn. Its last request has what the others leave of the sum, if each of them is known."""
        self._flush()
        paid = usage_in(usage, "inputTokens", "outputTokens", "cachedReadTokens", "cacheCreationTokens")
        last = paid.total - sum(self._requests.values())
        if as_count(usage.get("modelCalls")) == len(self._requests) + 1 and last > 0 and self._pieces.last_answer:
            self._builder.report(Usage(input_tokens=last), self._pieces.last_answer, time, is_copied=True)
        self._builder.charge(paid, self._pieces.last_answer, time)
        self._requests = {}

    def _take_compaction(self, update: JsonObject, event: str, time: int) -> None:
        """Adds a compaction. The context after it begins with the last prompt and the summary."""
        self._flush()
        history = as_objects(as_object(self._checkpoints.get(self._checkpoint)).get("compacted_history"))
        rows = [row for row in history if row.get("type") == "user" and "synthetic_reason" not in row]
        self._builder.compact(
            join_texts(read_parts(rows[-1].get("content"))) if rows else "",
            event,
            time,
            before=as_count(update.get("tokens_before")),
            cause=CompactionCause.THRESHOLD if self._is_automatic else CompactionCause.BY_HAND,
            kept=[self._prompt_id] if self._prompt_id else [],
        )
        self._is_automatic = False


def _tool_of(update: JsonObject) -> str:
    own = as_object(as_object(update.get("_meta")).get("x.ai/tool"))
    return as_text(own.get("name")) or as_text(update.get("title"))


UPDATES = incremental(UPDATES_NAME, _are_updates, UpdatesReader, _updates)

_HOME = ("GROK_HOME", ".grok")
_PERCENT = "auto_compact_threshold_percent"


def _read_settings(reading: Reading) -> None:
    for file in reading.files:
        tables = [("session", as_object(file.get("session")))]
        tables += [(f"model.{name}", as_object(model)) for name, model in as_object(file.get("model")).items()]
        for name, table in tables:
            if name == "session" or reading.model in (name.removeprefix("model."), table.get("model")):
                percent = number(table.get(_PERCENT))
                written = f"{name}.{_PERCENT}={percent}"
                reading.take("share", _PERCENT, None if percent is None else percent / 100, written)
                reading.size("model_window", f"{name}.context_window", table.get("context_window"))


SETTINGS = OwnSettings(
    files=in_folder(*_HOME, "managed_config.toml", "config.toml", "requirements.toml"),
    read=_read_settings,
    known=frozenset({_PERCENT, "two_pass_compaction"}),
    servers="mcp_servers",
    prefix="GROK",
)

AGENT = Agent(
    name="Grok CLI",
    short="Grok",
    formats=(CHAT_HISTORY, UPDATES),
    companions=_companions,
    sessions=Sessions(
        patterns=in_folder(*_HOME, f"sessions/*/*/{_UPDATES_FILE}", f"sessions/*/*/{_HISTORY_FILE}"),
        title_of=_title_of,
        facts=_facts_of,
        fact_files=_fact_files,
        superseded_by=lambda path: path.removesuffix(_HISTORY_FILE) + _UPDATES_FILE if _HISTORY_FILE in path else "",
    ),
    own_context=OwnContext(threshold=share(0.85)),
    own_settings=SETTINGS,
)
