"""What Ullage knows about Kimi Code: where its sessions are, its settings, and where it compacts.

It compacts at 85 % of the window, or 50,000 tokens before its end if that is earlier. Read in its source, and measured:
of 100,000, 52,545 tokens are compacted and 47,545 are not. `config.toml` names other values for a model:
`compaction_trigger_ratio` and `reserved_context_size`, and its window: `max_context_size`. The variable
`KIMI_MODEL_NAME` adds a model, whose window another variable names (read in its program, 2.1.0).

Reads Kimi Code's sessions (`~/.kimi-code/sessions/FOLDER/SESSION/agents/AGENT/wire.jsonl`).

Each line is a record of the program's own log. Only `context.*` records change the context; the others repeat them for
the screen or say what the program did. An answer is written in parts between `step.begin` and `step.end`. A compaction
keeps the user's newest messages, and puts the summary after them. A request may ask for all tokens that are left, and
two of them then show the window (seen with kimi-k2.7-code). (Record types: the program's wire manifest, protocol 1.5.)
"""

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import Agent, Facts, Sessions, beside, common_facts, first_prompt, in_folder, last_text
from ullage.agents.own_context import OwnContext, OwnSettings, Reading, Rule, Setup, number
from ullage.agents.record_reader import RecordReader
from ullage.formats.parsing import Document, Line, as_count, as_timestamp, usage_beside
from ullage.formats.transcripts.chat import call_block, read_functions, read_image_url, result_block, text_block
from ullage.formats.transcripts.format import ListedConversation, Records, choose, file_named, incremental
from ullage.model.events import CompactionCause
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Block, Role, TextBlock, ThinkingBlock, ToolResultBlock

NAME = "kimi-code"

# Types of records that say what the program did, or repeat a message for the screen.
_KNOWN_RECORDS = {
    *("metadata", "config.update", "forked", "usage.record", "context.update_token_count"),
    *("agent.message.appended", "agent.turn.started", "agent.turn.ended"),
    *("cron.add", "cron.cursor", "cron.delete"),
    *("full_compaction.begin", "full_compaction.cancel", "full_compaction.complete"),
    *("goal.clear", "goal.create", "goal.update", "plan.revision"),
    *("interaction.request", "interaction.resolved", "interruptionReminder.recorded"),
    *("llm.request", "llm.tools_snapshot", "mcp.tools_discovered"),
    *("permission.record_approval_result", "permission.set_mode", "plugin.session_start", "profile.bind"),
    *("plan_mode.cancel", "plan_mode.enter", "plan_mode.exit", "prompt.accepted", "prompt.completed"),
    *("runtime.set_binding", "skill.activate", "staleGuard.cleared", "staleGuard.recorded"),
    *("subagent.spawned", "subagent.started", "subagent.completed", "subagent.failed"),
    *("swarm_mode.enter", "swarm_mode.exit", "task.started", "task.terminated", "task.waitDelivered"),
    *("token_counting.measured", "token_counting.rebased", "token_counting.truncated", "token_counting.turn_recorded"),
    *("tools.register_user_tool", "tools.reset_active_tools", "tools.set_active_tools"),
    *("tools.unregister_user_tool", "tools.update_store", "tower_mode.enter", "tower_mode.exit"),
    *("turn.cancel", "turn.ended", "turn.prompt", "turn.started", "turn.steer"),
}
_CONTEXT = {"context.append_message", "context.append_loop_event"}


def _matches(document: Document) -> bool:
    objects = document.objects or [value for wire in _wires(document) for value in wire.objects]
    return any(as_text(value.get("type")) in _CONTEXT for value in objects) or any(
        value.get("type") == "metadata" and "protocol_version" in value for value in objects[:1]
    )


def _records(document: Document) -> Records:
    """Returns a record with the facts of the session's `state.json`, then the lines of one agent's log.

    A session's folder holds the logs of several agents; `document.run` chooses one, by default the main one.
    """
    wire, others = document, ()
    wires = () if document.lines else _wires(document)
    if wires:
        found = [
            ListedConversation(id=_agent(wire), messages=len(wire.lines), is_child=_agent(wire) != "main")
            for wire in wires
        ]
        chosen, others = choose(found, document)
        wire = wires[chosen]
    state = file_named(document, "state.json")
    folders = PurePosixPath(wire.name.replace("\\", "/")).parts
    head = {"state": as_object(state.value) if state else {}, "agent": _agent(wire), "session": "".join(folders[-4:-3])}
    return Records(lines=(Line(number=1, value=head), *wire.lines), skipped=others)


def _wires(document: Document) -> tuple[Document, ...]:
    return tuple(file for file in document.companions if file.name.endswith("wire.jsonl"))


def _agent(wire: Document) -> str:
    folders = PurePosixPath(wire.name.replace("\\", "/")).parts[-3:-1]
    return folders[1] if folders[:1] == ("agents",) else ""


_ROLES = {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.USER}
# A message with one of these origins is the user's own if the user has typed its command.
_COMMANDS = {"skill_activation", "plugin_command"}


class _Message(Struct, frozen=True):
    """A message of the context: its id in the transcript, whether the user typed it, whether it is a compaction's
    summary, and the builder's tip before it (`before`)."""

    message_id: str
    typed: bool = False
    summary: bool = False
    before: str = ""


class _Answer(Struct):
    """An answer that is being written: its id, the time it began, its content, its results with their times, its usage,
    the messages that came meanwhile and follow its results (`later`), and the time it ended. Times are Unix
    milliseconds."""

    id: str
    timestamp: int
    content: list[Block]
    results: list[tuple[ToolResultBlock, int]]
    usage: JsonObject
    later: list[tuple[JsonObject, int]]
    ended: int = 0


class KimiReader(RecordReader):
    """Reads the log of one agent of a Kimi Code session. An answer is held back until its step ends or the next one
    begins."""

    agent = "Kimi Code"

    def _begin(self) -> None:
        self._context: list[_Message] = []
        self._answer: _Answer | None = None
        self._cause: CompactionCause | None = None
        self._prompted = False
        # The tokens of the last answer's request with the answer; and what the last request asked for, alone and with
        # them.
        self._filled, self._asked, self._whole = 0, 0, 0

    def _read(self, value: JsonObject, number: int) -> None:
        kind, timestamp = as_text(value.get("type")), as_timestamp(value.get("time"))
        if "state" in value:
            self._take_state(value)
        elif kind == "context.append_loop_event":
            self._take_event(as_object(value.get("event")), timestamp, number)
        elif kind == "context.append_message":
            self._append(as_object(value.get("message")), timestamp)
        elif kind == "context.apply_compaction":
            self._compact(value, timestamp)
        elif kind == "context.undo":
            self._undo(as_count(value.get("count")), timestamp)
        elif kind == "context.clear":
            self._flush()
            self._context = []
            self._builder.rewind("", timestamp)
        else:
            self._take_fact(kind, value)
            self._builder.skip(number, f"{kind} record", expected=kind in _KNOWN_RECORDS)

    def _take_state(self, value: JsonObject) -> None:
        builder, state, agent = self._builder, as_object(value.get("state")), as_text(value.get("agent"))
        session_id = as_text(state.get("id")) or as_text(value.get("session"))
        main = agent in ("", "main")
        builder.session_id = session_id if main or not session_id else f"{session_id}/{agent}"
        builder.parent = "" if main else session_id
        builder.is_sub_agent = not main
        builder.cwd = as_text(state.get("cwd")) or as_text(state.get("workDir"))
        builder.title = as_text(state.get("title"))

    def _take_fact(self, kind: str, value: JsonObject) -> None:
        builder = self._builder
        match kind:
            case "profile.bind" | "config.update":
                folder = as_text(as_object(value.get("environmentDisclosure")).get("cwd"))
                builder.cwd = builder.cwd or folder
                prompt = as_text(value.get("systemPrompt"))
                if prompt and not self._prompted:
                    self._prompted = True
                    builder.add(Role.SYSTEM, (TextBlock(text=prompt),), timestamp=as_timestamp(value.get("time")))
            case "llm.request" if value.get("kind") == "loop":
                builder.use_model(as_text(value.get("model")))
                self._read_window(as_count(value.get("maxTokens")), as_timestamp(value.get("time")))
            case "llm.tools_snapshot":
                builder.declare(read_functions(value.get("tools")))
            case "usage.record" if self._answer and value.get("usageScope") == "turn":
                self._answer.usage = as_object(value.get("usage"))
            case "full_compaction.begin":
                self._cause = CompactionCause.BY_HAND if value.get("source") == "manual" else None
            case _:
                pass

    def _read_window(self, asked: int, timestamp: int) -> None:
        """Reads the most tokens that a request asks for. A limit of the answer alone is always the same."""
        whole = asked + self._filled
        if asked and whole == self._whole and asked != self._asked:
            self._builder.window(whole, timestamp=timestamp)
        self._asked, self._whole = asked, whole

    def _take_event(self, event: JsonObject, timestamp: int, number: int) -> None:
        kind = as_text(event.get("type"))
        if kind == "step.begin":
            self._flush()
            self._answer = _Answer(as_text(event.get("uuid")), timestamp, [], [], {}, [])
        elif kind == "tool.result":
            result = _read_result(as_object(event.get("result")), as_text(event.get("toolCallId")))
            if self._answer:
                self._answer.results.append((result, timestamp))
            else:
                self._add(Role.USER, [result], "", timestamp)
        elif kind == "step.end":
            if self._answer:
                self._answer.usage = as_object(event.get("usage")) or self._answer.usage
                self._answer.ended = timestamp
            self._flush()
        elif kind == "content.part" and self._answer:
            self._answer.content += _read_parts([event.get("part")])
        elif kind == "tool.call" and self._answer:
            call = call_block(event.get("toolCallId"), event.get("name"), event.get("args"))
            self._answer.content.append(call)
        else:
            self._builder.skip(number, f"loop event {kind!r} outside of a step", expected=False)

    def _append(self, message: JsonObject, timestamp: int) -> None:
        if self._answer:
            self._answer.later.append((message, timestamp))
            return
        role = _ROLES.get(as_text(message.get("role")), Role.USER)
        content: list[Block] = _read_parts(as_list(message.get("content")))
        if message.get("role") == "tool":
            content = [_read_result({**message, "output": message.get("content")}, as_text(message.get("toolCallId")))]
        for call in as_objects(message.get("toolCalls")):
            content.append(call_block(call.get("id"), call.get("name"), call.get("arguments")))
        if content:
            self._add(role, content, as_text(message.get("id")), timestamp, typed=_is_typed(message))

    def _add(
        self, role: Role, content: Sequence[Block], message_id: str, timestamp: int, *, typed: bool = False
    ) -> str:
        before = self._builder.tip
        added = self._builder.add(role, content, message_id, timestamp)
        self._context.append(_Message(added, typed, before=before))
        return added

    def _flush(self) -> None:
        answer, self._answer = self._answer, None
        if not answer:
            return
        if answer.content:
            message_id = self._add(Role.ASSISTANT, answer.content, answer.id, answer.timestamp)
            usage = usage_beside(answer.usage, "inputOther", "output", "inputCacheRead", "inputCacheCreation")
            self._builder.report(usage, message_id, answer.ended)
            self._filled = usage.total
        if answer.results:
            results = [result for result, _ in answer.results]
            self._add(Role.USER, results, f"{answer.id}-results", answer.results[-1][1])
        for message, timestamp in answer.later:
            self._append(message, timestamp)

    def _compact(self, record: JsonObject, timestamp: int) -> None:
        self._flush()
        summary = as_text(record.get("summary")) or as_text(record.get("contextSummary"))
        if not summary:
            parts = _read_parts(as_list(as_object(record.get("summary")).get("content")))
            summary = "\n".join(block.text for block in parts if isinstance(block, TextBlock))
        leading, kept = self._kept_messages(record)
        self._filled = 0
        edit_id = self._builder.compact(
            summary,
            timestamp=timestamp,
            cause=self._cause,
            leading=[message.message_id for message in leading],
            kept=[message.message_id for message in kept],
        )
        self._cause = None
        marker = _Message(edit_id, summary=True)
        self._context = [*leading, marker, *kept]

    def _kept_messages(self, record: JsonObject) -> tuple[list[_Message], list[_Message]]:
        """Returns the messages that a compaction keeps, as two lists: before and after its summary. Since protocol 1.4
        those are the user's messages (perhaps without a middle part); before that, all after the first `compactedCount`
        messages."""
        if "keptUserMessageCount" not in record:
            return [], self._context[as_count(record.get("compactedCount", record.get("count"))) :]
        typed = [message for message in self._context if message.typed]
        count, first = as_count(record.get("keptUserMessageCount")), as_count(record.get("keptHeadUserMessageCount"))
        newest = typed[max(len(typed) - (count - first), 0) :]
        return [*(message for message in typed[:first] if message not in newest), *newest], []

    def _undo(self, count: int, timestamp: int) -> None:
        """Goes back to before the user's last `count` messages, but never to before a compaction. `timestamp` is Unix
        milliseconds."""
        self._flush()
        summaries = [at for at, message in enumerate(self._context) if message.summary]
        first = summaries[-1] + 1 if summaries else 0
        typed = [at for at in range(first, len(self._context)) if self._context[at].typed]
        if count and typed:
            at = typed[-min(count, len(typed))]
            self._builder.rewind(self._context[at].before, timestamp)
            self._context = self._context[:at]


def _is_typed(message: JsonObject) -> bool:
    origin = as_object(message.get("origin"))
    kind = as_text(origin.get("kind", "user"))
    return message.get("role") == "user" and (
        kind == "user" or (kind in _COMMANDS and origin.get("trigger") == "user-slash")
    )


def _read_parts(parts: Sequence[Any]) -> list[Block]:
    return [block for part in parts for block in _read_part(part)]


def _read_part(item: Any) -> Iterator[Block]:
    part = as_object(item)
    match part.get("type"):
        case "text" if part.get("text"):
            yield TextBlock(text=as_text(part.get("text")))
        case "think" if part.get("think"):
            yield ThinkingBlock(thinking=as_text(part.get("think")), signature=as_text(part.get("encrypted")) or None)
        case "image_url":
            image = as_object(part.get("imageUrl", part.get("image_url")))
            yield read_image_url(as_text(image.get("url")))
        case "text" | "think":
            pass
        case _:
            yield text_block(item)


def _read_result(result: JsonObject, call_id: str) -> ToolResultBlock:
    output = result.get("output")
    said = as_list(output) if isinstance(output, list) else [{"type": "text", "text": output}]
    note = {"type": "text", "text": as_text(result.get("note"))}
    return result_block(call_id, _read_parts([*said, note]), failed=result.get("isError") is True)


FORMAT = incremental(NAME, _matches, KimiReader, _records, reads_folders=True)


_HOME = "KIMI_CODE_HOME", ".kimi-code"
_PATTERNS = in_folder(*_HOME, "sessions/*/*/agents/*/wire.jsonl")
_BESIDE = beside("/wire.jsonl", "../../state.json")


def _title_of(records: Sequence[JsonObject]) -> str:
    prompts = (record.get("input") for record in records if record.get("type") == "turn.prompt")
    return last_text(records, "title") or first_prompt(prompts)


def _ids_in(path: str) -> tuple[str, str]:
    """Returns the id of the session, after which the folder that contains `agents` is named, and the agent's."""
    folder, _, place = path.partition("/agents/")
    return folder.rpartition("/")[2], place.partition("/")[0]


def _side(path: str) -> tuple[str, str] | None:
    # The folder `main` is that of the user's own agent.
    session_id, agent = _ids_in(path)
    return None if "/agents/main/" in path else (f"{session_id}/{agent}", session_id)


def _facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    return replace(common_facts(path, records), session_id=_ids_in(path)[0])


_SHARE, _KEPT = 0.85, 50_000
# The window of a model that a variable adds, unless another one names it.
_ADDED, _SIZE, _USUAL = "KIMI_MODEL_NAME", "KIMI_MODEL_MAX_CONTEXT_SIZE", 262_144


def _threshold(setup: Setup) -> Rule | None:
    given = setup.given
    share = _SHARE if given.share is None else given.share
    kept = _KEPT if given.reserve is None else given.reserve
    tokens = min(int(setup.window * share), setup.window - kept)
    setting = ", ".join(filter(None, (given.name("share"), given.name("reserve"))))
    basis = f"{share:.0%} of the window, or {kept:,} tokens before its end"
    return Rule(tokens=tokens, basis=basis, setting=setting) if tokens > 0 else None


def _read(reading: Reading) -> None:
    for file in reading.files:
        for name, value in as_object(file.get("models")).items():
            values = as_object(value)
            if reading.model not in (name, as_text(values.get("model"))):
                continue
            reading.size("model_window", "max_context_size", values.get("max_context_size"))
            reading.number("share", "compaction_trigger_ratio", values.get("compaction_trigger_ratio"))
            reading.number("reserve", "reserved_context_size", values.get("reserved_context_size"))
    if reading.model and reading.variables.get(_ADDED) == reading.model:
        reading.take("model_window", _SIZE, number(reading.variables.get(_SIZE)) or _USUAL)


SETTINGS = OwnSettings(files=in_folder(*_HOME, "config.toml"), read=_read, prefix="KIMI")

AGENT = Agent(
    name="Kimi Code",
    short="Kimi",
    formats=(FORMAT,),
    companions=_BESIDE,
    sessions=Sessions(patterns=_PATTERNS, title_of=_title_of, facts=_facts_of, fact_files=_BESIDE, side=_side),
    own_context=OwnContext(threshold=_threshold),
    own_settings=SETTINGS,
)
