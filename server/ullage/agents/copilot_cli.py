"""What Ullage knows about GitHub Copilot CLI: where its sessions are, and how they are read.

An event log (`$COPILOT_HOME/session-state/ID/events.jsonl`) has one `{type, data, id, timestamp}` per line. A
`session.usage_record` comes before the `assistant.message` with the same `apiCallId`. A compaction runs in the
background: the messages after its `session.compaction_start` stay. If the context is full before the summary is there,
`session.truncation` says how many messages are left.

A `user.message` has what the user typed (`content`) and what the model got (`transformedContent`), with a `source` if
another agent, a skill or the program wrote it. A rewind takes events out of the file.

One log has several conversations: the main one, and one for each sub-agent. The events of a sub-agent have its id as
`agentId`, and in older versions the call that started it as `parentToolCallId`.
"""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ullage.agents.agent import Agent, Processes, Sessions, common_facts, first_prompt, last_text, running_in_name
from ullage.agents.inserted import by_program, marked_typed
from ullage.agents.machine import Machine
from ullage.agents.own_context import OwnContext, OwnSettings, Reading, share
from ullage.agents.record_reader import RecordReader
from ullage.formats.parsing import Document, Line, as_count, as_timestamp, parse_json, usage_in
from ullage.formats.transcripts.builder import SkippedLine, choose_run
from ullage.formats.transcripts.chat import call_block, read_parts, result_block, thoughts
from ullage.formats.transcripts.format import Records, incremental
from ullage.model.events import CompactionCause
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import Block, ResourceBlock, Role, TextBlock
from ullage.model.usage import Usage


def _patterns(machine: Machine) -> tuple[str, ...]:
    # One in a folder per session; in early versions a file per session.
    return (f"{_home(machine)}/*/events.jsonl", f"{_home(machine)}/*.jsonl")


def _running_patterns(machine: Machine) -> tuple[str, ...]:
    # `inuse.PID.lock` is in a session's folder while it is open (seen with 1.0.102).
    return (f"{_home(machine)}/*/inuse.*.lock",)


def _workspaces(records: Sequence[JsonObject]) -> list[dict[str, str]]:
    return [_read_pairs(as_text(record.get("text")).splitlines()) for record in records if "file" in record]


def _title_of(records: Sequence[JsonObject]) -> str:
    data = [as_object(record.get("data")) for record in records]
    named = next((pairs["name"] for pairs in _workspaces(records) if pairs.get("name")), "")
    typed = (as_object(record.get("data")) for record in records if record.get("type") == "user.message")
    return last_text(data, "title") or named or first_prompt(said.get("content") for said in typed)


def _home(machine: Machine) -> str:
    return f"{machine.folder('COPILOT_HOME', '.copilot')}/session-state"


# Types of records that come before the events: the session's facts, and the id of the conversation that is to be read.
_WORKSPACE, _CHOSEN = "workspace", "chosen"
_MAIN = ""
# Events about a sub-agent that belong to the conversation that started it.
_OF_PARENT = ("subagent.started", "subagent.completed", "subagent.failed")


def records(document: Document) -> Records:
    """Returns the events of the log. The reader takes those of one conversation: the one that `document.run`
    asks for, by default the main one.

    A record with the conversation's id comes before them, and the session's facts from `workspace.yaml`. The other
    conversations are listed as skipped. Raises `InvalidRequest` if there is no such conversation.
    """
    runs: dict[str, list[Line]] = {_MAIN: []}
    names: dict[str, str] = {}
    for line in document.lines:
        run = _run_of(line.value or {})
        runs.setdefault(run, []).append(line)
        data = as_object((line.value or {}).get("data"))
        for key in (as_text((line.value or {}).get("agentId")), as_text(data.get("toolCallId"))):
            names.setdefault(key, as_text(data.get("agentDisplayName")) or as_text(data.get("agentName")))
    keys = list(runs)
    chosen = keys[choose_run([len(run) for run in runs.values()], document.run or 1, document.name)]
    head: list[JsonObject] = [{"type": _CHOSEN, "data": {"agentId": chosen}}]
    facts = [_read_pairs(line.text for line in companion.lines) for companion in document.companions]
    head += [{"type": _WORKSPACE, "data": pairs} for pairs in facts if chosen == _MAIN]
    skipped: list[SkippedLine] = []
    for run, (key, lines) in enumerate(runs.items(), start=1):
        title = names.get(key) or ("the main conversation" if run == 1 else "a sub-agent")
        reason = f"run {run}: another conversation: {title}, {len(lines)} events"
        if key != chosen and lines:
            skipped.append(SkippedLine(line=lines[0].number, reason=reason, expected=True))
    return Records(lines=(*(Line(number=1, value=value) for value in head), *document.lines), skipped=tuple(skipped))


def _companions(path: str) -> tuple[str, ...]:
    return ("workspace.yaml",) if "/session-state/" in path and path.endswith("/events.jsonl") else ()


def _read_pairs(lines: Iterable[str]) -> dict[str, str]:
    """Returns the keys and values in the lines of `workspace.yaml`, a YAML file without nesting, as texts without
    quotation marks."""
    pairs = (line.partition(":")[::2] for line in lines)
    return {key.strip(): _scalar(value.strip()) for key, value in pairs}


def _scalar(value: str) -> str:
    """Returns the text of a YAML value. Between double quotation marks it is written as in JSON, mostly."""
    if value[:1] == value[-1:] == "'":
        return value[1:-1].replace("''", "'")
    if value[:1] == value[-1:] == '"':
        return as_text(parse_json(value.encode())[0]) or value[1:-1]
    return value


def _run_of(value: JsonObject) -> str:
    """Returns the id of the sub-agent whose conversation an event belongs to; empty for the main conversation."""
    if as_text(value.get("type")) in _OF_PARENT:
        return _MAIN
    return as_text(value.get("agentId")) or as_text(as_object(value.get("data")).get("parentToolCallId"))


NAME = "copilot-cli"
_OWN_EVENTS = {
    *("assistant.turn_start", "assistant.turn_end", "assistant.intent", "tool.execution_start"),
    *("hook.start", "hook.end", "session.info", "session.warning", "session.error", "session.idle", "session.shutdown"),
    *("session.usage_checkpoint", "session.usage_info", "session.auto_mode_resolved", "session.handoff"),
    *("session.mode_changed", "session.plan_changed", "session.context_changed"),
    *("session.workspace_file_changed", "session.task_complete", "session.snapshot_rewind", "session.import_legacy"),
    *("subagent.started", "subagent.configured", "subagent.completed", "subagent.failed", "subagent.selected"),
    *("skill.invoked", "skill.invoked_ref", "abort", "permission.requested", "permission.completed"),
    # What the user answered is in the result of the call, too.
    *("human_response.recorded", "external_tool.requested", "tool_search.activated", "subagent.deselected"),
    *("session.mode_notice_delivered", "session.autopilot_objective_changed", "session.completion_receipt"),
    *("session.permissions_changed", "session.permission_recovery", "session.model_deselected"),
    *("session.schedule_created", "session.schedule_cancelled", "session.schedule_rearmed"),
    *("session.remote_steerable_changed", "session.session_limits_changed", "session.binary_asset"),
    *("session.canvas.recorded", "session.canvas.removed", "session.request_body_compression_disabled"),
}


def _matches(document: Document) -> bool:
    return any(
        isinstance(value.get("data"), dict)
        and "id" in value
        and as_text(value.get("type")).split(".")[0] in ("session", "assistant", "user")
        and "." in as_text(value.get("type"))
        for value in document.objects
    )


class CopilotReader(RecordReader):
    """Reads the events of one conversation of Copilot CLI. The parts of an answer are held back until the turn ends or
    another message follows."""

    def _begin(self) -> None:
        self._agent = ""
        self._answer: list[Block] = []
        self._answer_id = ""
        self._answered_at = 0
        self._thinking = ""
        self._results: list[Block] = []
        self._results_at: tuple[str, int] = "", 0
        self._usages: dict[str, Usage] = {}
        self._call = ""
        self._calls: set[str] = set()
        # Commands that the user ran, by the call.
        self._ran: dict[str, str] = {}
        self._system = self._system_id = ""
        self._said: list[str] = []
        self._compacting: int | None = None
        self._has_usage = False

    def _read(self, value: JsonObject, number: int) -> None:  # noqa: C901, PLR0912, PLR0915 - a case for each kind
        kind, data, builder = as_text(value.get("type")), as_object(value.get("data")), self._builder
        if kind != _WORKSPACE and _run_of(value) != self._agent:
            # The other conversations are listed as skipped already.
            if kind == "session.start":
                self._take_session(data)
                builder.parent, builder.session_id = builder.session_id, self._agent
                builder.is_sub_agent = True
            return
        match kind:
            case "chosen":
                self._agent = as_text(data.get("agentId"))
            case "workspace":
                builder.title = as_text(data.get("name"))
                builder.cwd = as_text(data.get("cwd"))
            case "session.start" | "session.resume":
                self._take_session(data)
            case "session.model_change":
                builder.use_model(as_text(data.get("newModel")))
            case "session.usage_record":
                self._take_usage(data, value)
            case "session.compaction_start":
                self.finish()
                self._compacting = len(self._said)
            case "session.compaction_complete":
                self._take_compaction(data, value)
            case "session.truncation":
                self._take_truncation(data, value)
            case "session.shutdown":
                self.finish()
                # The agent's own figure of the context, from versions that write no usage of their requests.
                if not self._has_usage and (tokens := as_count(data.get("currentTokens"))):
                    builder.estimate(tokens, _time(value))
            case "system.message":
                self._take_system(data, value)
            case "user.message":
                self._take_user(data, value)
            case "system.notification" | "skill.context_delivered":
                self._take_user({"source": kind, **data}, value)
            case "session.context_cleared":
                self._take_clearing(data, value)
            case "assistant.message":
                self._take_answer(data, value)
            case "assistant.reasoning":
                self._thinking = as_text(data.get("content"))
            case "tool.execution_complete":
                self._take_result(data, value)
            case "assistant.turn_end":
                self.finish()
            case "tool.user_requested":
                self._ran[as_text(data.get("toolCallId"))] = as_text(as_object(data.get("arguments")).get("command"))
            case "session.title_changed":
                builder.title = as_text(data.get("title")) or builder.title
            case _:
                builder.skip(number, f"{kind or 'unknown'} event", expected=kind in _OWN_EVENTS)

    def _flush(self) -> None:
        self._end_answer()
        content, self._results = self._results, []
        if content:
            self._say(Role.USER, content, *self._results_at)

    def _take_session(self, data: JsonObject) -> None:
        self._builder.agent = "Copilot CLI"
        self._builder.session_id = as_text(data.get("sessionId")) or self._builder.session_id
        self._builder.version = as_text(data.get("copilotVersion")) or self._builder.version
        self._builder.cwd = self._builder.cwd or as_text(as_object(data.get("context")).get("cwd"))
        self._builder.use_model(as_text(data.get("selectedModel")))

    def _take_usage(self, data: JsonObject, event: JsonObject) -> None:
        raw = as_object(data.get("usage"))
        self._has_usage = True
        self._builder.window(as_count(raw.get("maxPromptTokens")) or None, timestamp=_time(event))
        self._builder.use_model(as_text(raw.get("model")))
        self._builder.list_tools(as_count(raw.get("toolTokenCount")))
        usage = usage_in(raw, "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
        self._usages[as_text(raw.get("apiCallId"))] = usage

    def _take_system(self, data: JsonObject, event: JsonObject) -> None:
        """Adds the system prompt, or puts it in the place of the last one. The log repeats it when a session is
        resumed, and has another one for another mode."""
        text, content = as_text(data.get("content")), read_parts(data.get("content"))
        if text == self._system:
            return
        self.finish()
        self._system = text
        if self._system_id:
            self._builder.exchange(self._system_id, Role.SYSTEM, content, _time(event))
        else:
            self._system_id = self._builder.add(Role.SYSTEM, content, as_text(event.get("id")), _time(event))

    def _take_user(self, data: JsonObject, event: JsonObject) -> None:
        self.finish()
        files = [path for file in as_objects(data.get("attachments")) if (path := as_text(file.get("path")))]
        content = [*_texts(data), *(ResourceBlock(uri=path) for path in files)]
        self._say(Role.USER, content, as_text(data.get("messageId")) or as_text(event.get("id")), _time(event))

    def _take_answer(self, data: JsonObject, event: JsonObject) -> None:
        """Reads an `assistant.message` event, which has a whole answer or a part of one. The parts of an answer have
        the same id."""
        message_id = as_text(data.get("messageId")) or as_text(event.get("id"))
        if message_id != self._answer_id:
            self.finish()
            self._answer_id, self._answered_at = message_id, _time(event)
        self._call = as_text(data.get("apiCallId"))
        self._builder.use_model(as_text(data.get("model")))
        thinking, self._thinking = as_text(data.get("reasoningText")) or self._thinking, ""
        self._answer += [*thoughts(thinking), *read_parts(as_text(data.get("content")))]
        for request in as_objects(data.get("toolRequests")):
            self._calls.add(as_text(request.get("toolCallId")))
            call = call_block(request.get("toolCallId"), request.get("name"), request.get("arguments"))
            self._answer.append(call)

    def _take_result(self, data: JsonObject, event: JsonObject) -> None:
        self._end_answer()
        call, result = as_text(data.get("toolCallId")), as_object(data.get("result"))
        content = read_parts(result.get("content")) or read_parts(as_object(data.get("error")).get("message"))
        if not self._results:
            self._results_at = as_text(event.get("id")), _time(event)
        if call in self._calls:
            self._calls.discard(call)
            self._results.append(result_block(call, content, failed=data.get("success") is False))
        else:
            # Of a command that the user ran, or of a call that a log lacks whose beginning is missing.
            written = [*read_parts(self._ran.pop(call, "")), *content]
            self._results += [replace(one, provided=by_program("result")) for one in written]

    def _end_answer(self) -> None:
        content, self._answer = self._answer, []
        if content:
            added = self._say(Role.ASSISTANT, content, self._answer_id, self._answered_at)
            if usage := self._usages.pop(self._call, None):
                self._builder.report(usage, added)
        self._answer_id = ""

    def _say(self, role: Role, content: Sequence[Block], message_id: str, time: int) -> str:
        added = self._builder.add(role, content, message_id, time)
        self._said.append(added)
        return added

    def _take_compaction(self, data: JsonObject, event: JsonObject) -> None:
        """Adds a compaction, unless the event says that it was cancelled or failed."""
        if data.get("success") is False:
            return
        self.finish()
        trigger = as_text(data.get("trigger"))
        began, self._compacting = self._compacting, None
        self._builder.compact(
            as_text(data.get("summaryContent")),
            as_text(data.get("compactionAttemptId")),
            _time(event),
            before=as_count(data.get("preCompactionTokens")),
            cause=CompactionCause.THRESHOLD if trigger in ("", "threshold") else CompactionCause.BY_HAND,
            kept=[] if began is None else self._said[began:],
        )

    def _take_clearing(self, data: JsonObject, event: JsonObject) -> None:
        """Adds that a program cleared the conversation, as a compaction whose summary says so."""
        self.finish()
        cleared = f"[{as_count(data.get('messagesCleared'))} older messages were cleared.]"
        self._builder.compact(cleared, as_text(event.get("id")), _time(event), cause=CompactionCause.BY_HAND)
        if first := as_text(data.get("initialMessage")):
            self._take_user({"source": "session.context_cleared", "content": first}, event)

    def _take_truncation(self, data: JsonObject, event: JsonObject) -> None:
        """Adds a truncation, in which the agent left out old messages without a summary, as a compaction whose summary
        says so."""
        removed = as_count(data.get("messagesRemovedDuringTruncation"))
        if not removed:
            return
        self.finish()
        left = max(0, as_count(data.get("postTruncationMessagesLength")) - 1)
        self._builder.compact(
            f"[{removed} older messages were left out to make room.]",
            as_text(event.get("id")),
            _time(event),
            before=as_count(data.get("preTruncationTokensInMessages")),
            kept=self._said[len(self._said) - left :],
        )


def _texts(data: JsonObject) -> list[Block]:
    """Returns the texts of a message as the model got them: what the user typed by itself, and what the program wrote
    before and after it. A command of the user may be sent as something else."""
    typed, source = as_text(data.get("content")), as_text(data.get("source"))
    sent, mark = as_text(data.get("transformedContent")) or typed, by_program(source or "transformedContent")
    if not typed or source:
        return [TextBlock(text=sent, provided=mark)]
    at = len(sent) - len(typed) if sent.endswith(typed) else sent.rfind(f"{typed}\n")
    if at < 0:
        return [*marked_typed([TextBlock(text=sent)], typed)]
    texts = ((sent[:at], mark), (typed, None), (sent[at + len(typed) :], mark))
    return [TextBlock(text=text, provided=provided) for text, provided in texts if text.strip()]


def _time(event: JsonObject) -> int:
    return as_timestamp(event.get("timestamp"))


FORMAT = incremental(NAME, _matches, CopilotReader, records)

# The largest prompt of a model of one's own, which is its window until its first answer (1.0.102).
_LARGEST = "COPILOT_PROVIDER_MAX_PROMPT_TOKENS"


def _read_settings(reading: Reading) -> None:
    reading.size("model_window", _LARGEST, reading.variables.get(_LARGEST))


AGENT = Agent(
    name="Copilot CLI",
    short="Copilot",
    formats=(FORMAT,),
    companions=_companions,
    sessions=Sessions(
        patterns=_patterns,
        title_of=_title_of,
        # Those in `workspace.yaml` are preferred, because they follow the session if it moves to another folder.
        facts=lambda path, records: common_facts(path, [*_workspaces(records), *records]),
        fact_files=_companions,
    ),
    processes=Processes(patterns=_running_patterns, running_in=running_in_name),
    # Of the most tokens of a prompt, which it reports as its window; measured by trial with 1.0.102.
    own_context=OwnContext(threshold=share(0.8)),
    own_settings=OwnSettings(files=lambda _: (), read=_read_settings, known=frozenset(), prefix="COPILOT"),
)
