"""The formats of files that no coding agent keeps.

Plain lists of provider messages:

- Anthropic's Messages API: bare, or in a request object `{system, messages, tools, model}`.
- OpenAI's chat messages, or items of the Responses API: bare, or in a request object.
- LiteLLM's request logs, as OpenHands keeps them: `{messages, tools, kwargs, response, raw_messages?, …}`. If
  `raw_messages` is there, the model has no function calling. Then the text of `messages`, which were sent, describes
  the tools, and the calls in `response` were parsed from the answer's text, which `raw_response` contains.

Ullage's own export, which is also written here: JSONL with a header `{"ullage": 1, …}`, then one record of the log
per line.

The trajectories of agents that run benchmarks:

- mini-swe-agent: `{info, messages, trajectory_format, instance_id}`. The text of an answer contains a command, and the
  next user message its output; since version 2 they are tool calls. An answer's `extra.response` is the provider's
  whole response, from which the usage and the time are taken. The program writes the whole file again after each step.
- SWE-agent: `{trajectory, history, info, environment}`. `history` is the conversation; `trajectory` repeats it step by
  step and is ignored.
- tau-bench: a list of runs `{task_id, reward, info, traj, trial}`. The `traj` of each run is a conversation of its own.
- trae-agent: `{task, provider, model, llm_interactions, agent_steps, …}`. Each interaction contains the messages that
  are new in its request, and the response. `agent_steps` repeats them and is ignored. Of the offered tools only the
  names are recorded, so no tools are declared.
"""

from typing import Any

import msgspec
from msgspec import Struct

from ullage.formats import verbatim
from ullage.formats.parsing import Document, Line, as_timestamp, convert_usage, usage_in
from ullage.formats.transcripts.builder import ImportedTranscript, SkippedLine, TranscriptBuilder, choose_run
from ullage.formats.transcripts.chat import (
    ITEM_TYPES,
    ROLES,
    ChatReader,
    ItemReader,
    call_block,
    read_blocks,
    read_functions,
    read_parts,
    read_tools,
    result_block,
)
from ullage.formats.transcripts.format import Format, Records, incremental, parsed
from ullage.model.errors import UnreadableTranscript
from ullage.model.events import Event, MessageAppended, Record, SessionConfigured, SessionCreated, SessionForked
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Block, Role, TextBlock, ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.settings import RESTRICTED

# Types of blocks that only Anthropic's API has.
_OWN_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"}


def _is_anthropic(document: Document) -> bool:
    """Returns whether the file is a list of messages, or a request with one, as only Anthropic's API has it."""
    request = as_object(document.value)
    messages = as_objects(_raw_messages(document.value))
    if not messages or not all(message.get("role") in tuple(Role) for message in messages):
        return False
    own_fields = "system" in request or any("input_schema" in tool for tool in as_objects(request.get("tools")))
    return own_fields or any(
        as_text(block.get("type")) in _OWN_BLOCKS
        for message in messages
        for block in as_objects(message.get("content"))
    )


def _read_anthropic(document: Document) -> ImportedTranscript:
    """Reads a list of messages, or a request object: its tools, system prompt and messages, and the usage of answers
    that include it."""
    builder = TranscriptBuilder("anthropic-messages", document.name)
    request = as_object(document.value)
    builder.use_model(as_text(request.get("model")))
    builder.declare(read_tools(request.get("tools")))
    if system := read_blocks(request.get("system")):
        builder.add(Role.SYSTEM, system)
    verbatim.add_all(builder, verbatim.ANTHROPIC, _raw_messages(document.value))
    return builder.finish()


def _raw_messages(value: Any) -> list[Any]:
    return as_list(value) or as_list(as_object(value).get("messages"))


ANTHROPIC_MESSAGES = Format(name="anthropic-messages", matches=_is_anthropic, read=_read_anthropic)


def _is_openai(document: Document) -> bool:
    """Returns whether the file is a list of OpenAI's chat messages or Responses items, or an object with one. A list of
    plain texts could be Anthropic's, too; both readings give the same."""
    messages = _openai_messages(document.value)
    return bool(messages) and all(
        as_text(message.get("role")) in ROLES or as_text(message.get("type")) in ITEM_TYPES for message in messages
    )


def _read_openai(document: Document) -> ImportedTranscript:
    """Reads a list of messages or items, or a request object: its model, tools, instructions and messages. Raises
    `UnreadableTranscript` if there is no message."""
    builder = TranscriptBuilder("openai-messages", document.name)
    request = as_object(document.value)
    builder.use_model(as_text(request.get("model")))
    builder.declare(read_functions(request.get("tools")))
    if instructions := as_text(request.get("instructions")):
        builder.add(Role.SYSTEM, (TextBlock(text=instructions),))
    messages = _openai_messages(document.value)
    if any(as_text(message.get("type")) in ITEM_TYPES for message in messages):
        ItemReader(builder).add_all(messages)
    else:
        verbatim.add_all(builder, verbatim.CHAT, messages)
    return builder.finish()


def _openai_messages(value: Any) -> list[JsonObject]:
    if isinstance(value, list):
        return as_objects(value)
    request = as_object(value)
    if isinstance(request.get("input"), str):
        return [{"role": "user", "content": request["input"]}]
    return as_objects(request.get("messages")) or as_objects(request.get("input"))


OPENAI_MESSAGES = Format(name="openai-messages", matches=_is_openai, read=_read_openai)


def _is_litellm(document: Document) -> bool:
    log = as_object(document.value)
    return bool(as_list(log.get("messages"))) and isinstance(as_object(log.get("response")).get("choices"), list)


def _read_litellm(document: Document) -> ImportedTranscript:
    """Reads one logged request, its answer and usage."""
    builder = TranscriptBuilder("litellm-log", document.name)
    log = as_object(document.value)
    response = as_object(log.get("response"))
    builder.use_model(as_text(response.get("model")))
    tools_in_text = bool(as_list(log.get("raw_messages")))
    if not tools_in_text:
        builder.declare(read_functions(log.get("tools")))
    reader = ChatReader(builder)
    reader.add_all(as_list(log.get("messages")))
    answer = _answer(response)
    raw = _answer(as_object(log.get("raw_response")))
    # If the model made native calls nevertheless, the raw answer has no text, so the parsed answer is used.
    if tools_in_text and raw and not raw.get("tool_calls"):
        answer = raw
    if answer:
        timestamp = as_timestamp(log.get("timestamp"))
        message_id = reader.add({**answer, "role": "assistant"}, timestamp)
        builder.report(convert_usage(as_object(response.get("usage"))), message_id)
    return builder.finish()


def _answer(response: JsonObject) -> JsonObject:
    choices = as_objects(response.get("choices"))
    return as_object(choices[0].get("message")) if choices else {}


LITELLM_LOG = Format(name="litellm-log", matches=_is_litellm, read=_read_litellm)


# Increased when a reader of the previous version could not read the file.
_VERSION = 1


class Header(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first line of an export, with facts of the session. `ullage` is the version of the export's format,
    `exported_at` is Unix milliseconds, 0 if unknown."""

    ullage: int = _VERSION
    session_id: str = ""
    title: str = ""
    cwd: str = ""
    model: str = ""
    exported_at: int = 0


def write_ullage(header: Header, records: tuple[Record, ...]) -> bytes:
    """Returns the export of a session as JSONL. `records` is its whole log, with those that a fork inherits."""
    # The struct omits default values, but the version must be written always.
    first = {**msgspec.to_builtins(header), "ullage": header.ullage}
    return b"".join(msgspec.json.encode(line) + b"\n" for line in (first, *records))


def _is_ullage(document: Document) -> bool:
    """Returns whether the file's first line is the header of an export."""
    first = document.lines[0].value if document.lines else None
    return first is not None and isinstance(first.get("ullage"), int)


def _read_ullage(document: Document) -> ImportedTranscript:
    """Reads all events of an export except those that begin a log, because the import makes its own. Of a session's own
    settings, those of `RESTRICTED` are left out.

    Raises `UnreadableTranscript` if the export has a newer version or contains no message.
    """
    header = _read_header(document)
    events: list[Event] = []
    skipped: list[SkippedLine] = []
    for line in document.lines[1:]:
        try:
            event = msgspec.convert(line.value, Record).event
        except msgspec.ValidationError as error:
            reason = line.problem or f"not a record: {error}"
            skipped.append(SkippedLine(line=line.number, reason=reason, expected=line.comment))
            continue
        if isinstance(event, SessionConfigured):
            # The writer of the file could otherwise trust a folder, or have expressions run on every text.
            refused = sorted(RESTRICTED & event.context.keys())
            event = SessionConfigured(context={k: v for k, v in event.context.items() if k not in RESTRICTED})
            if refused:
                reason = f"a transcript may not set {' and '.join(refused)}"
                skipped.append(SkippedLine(line=line.number, reason=reason, expected=False))
        if isinstance(event, SessionCreated):
            # The session began with the model that this event names.
            header = msgspec.structs.replace(
                header,
                model=event.model or header.model,
                cwd=header.cwd or event.cwd,
                title=header.title or event.title,
            )
        elif not isinstance(event, SessionForked):
            events.append(event)
    if not any(isinstance(event, MessageAppended) for event in events):
        raise UnreadableTranscript(f"{document.name}: this export of Ullage holds no message")
    return ImportedTranscript(
        format="ullage",
        events=tuple(events),
        model=header.model,
        cwd=header.cwd,
        title=header.title,
        skipped=tuple(skipped),
    )


def _read_header(document: Document) -> Header:
    try:
        header = msgspec.convert(document.lines[0].value if document.lines else None, Header)
    except msgspec.ValidationError as error:
        raise UnreadableTranscript(f"{document.name}: not an export of Ullage: {error}") from error
    if header.ullage > _VERSION:
        raise UnreadableTranscript(
            f"{document.name}: written by a newer Ullage (export version {header.ullage}, this one reads {_VERSION}); "
            "update Ullage"
        )
    return header


ULLAGE = Format(name="ullage", matches=_is_ullage, read=_read_ullage)


def _is_mini_swe(document: Document) -> bool:
    return as_text(as_object(document.value).get("trajectory_format")).startswith("mini-swe-agent")


def _mini_swe_records(document: Document) -> Records:
    """Returns a first record with the facts of the run (`info`, `instance_id`), then one record per message."""
    value = as_object(document.value)
    head = {"info": as_object(value.get("info")), "instance_id": value.get("instance_id")}
    messages = enumerate(as_list(value.get("messages")), start=1)
    lines = (Line(number=number, value={"message": as_object(item)}) for number, item in messages)
    return Records(lines=(Line(number=1, value=head), *lines))


class TrajectoryReader:
    """Reads one run of mini-swe-agent. Every message is complete when it is written, so no event is held back."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._chat = ChatReader(builder)
        builder.agent = "mini-swe-agent"

    def take(self, record: Line) -> None:
        """Reads the record with the facts of the run, or the record of a message."""
        value = record.value or {}
        if "message" in value:
            self._take_message(as_object(value.get("message")), record.number)
            return
        builder, info = self._builder, as_object(value.get("info"))
        config = as_object(info.get("config"))
        builder.version = as_text(info.get("mini_version"))
        builder.title = as_text(value.get("instance_id"))
        builder.cwd = as_text(as_object(config.get("environment")).get("cwd"))
        builder.use_model(as_text(as_object(config.get("model")).get("model_name")))

    def finish(self) -> None:
        """Does nothing, because no event is held back."""

    def _take_message(self, message: JsonObject, number: int) -> None:
        extra = as_object(message.get("extra"))
        response = as_object(extra.get("response"))
        timestamp = as_timestamp(extra.get("timestamp") or response.get("created"))
        if message.get("role") != "assistant" and response:
            self._take_refused(response, timestamp)
            response = {}
        message_id = self._chat.add(message, timestamp)
        if message_id:
            self._builder.report(convert_usage(as_object(response.get("usage"))), message_id)
        elif message.get("role") == "exit":
            self._builder.skip(number, f"end of the run: {as_text(message.get('content'))}", expected=True)
        else:
            self._builder.skip(number, f"message {number} has no known role: {message.get('role')!r}", expected=False)

    def _take_refused(self, response: JsonObject, timestamp: int) -> None:
        """Reads an answer that the program refused. The file has it inside the program's complaint, and the next
        request has only the complaint, so the answer is added and then left out of the context."""
        choices = as_objects(response.get("choices"))
        before = self._builder.tip
        message_id = self._chat.add(as_object(choices[0].get("message")), timestamp) if choices else ""
        if message_id:
            self._builder.report(convert_usage(as_object(response.get("usage"))), message_id)
            self._builder.rewind(before, timestamp)


MINI_SWE = incremental("mini-swe-agent", _is_mini_swe, TrajectoryReader, _mini_swe_records)


# What SWE-agent names as the model of a run in which no model answered.
_NO_MODELS = {"human", "human_thought", "instant_empty_submit", "replay"}


def _is_swe_agent(document: Document) -> bool:
    value = as_object(document.value)
    return isinstance(value.get("trajectory"), list) and isinstance(value.get("history"), list)


def _read_swe_agent(document: Document) -> ImportedTranscript:
    """Reads the messages of `history`. The model is named by the run's configuration (`replay_config`), an object or
    its JSON text, which early versions don't write."""
    builder = TranscriptBuilder("swe-agent", document.name)
    trajectory = as_object(document.value)
    config = as_object(parsed(trajectory.get("replay_config")))
    model = as_text(as_object(as_object(config.get("agent")).get("model")).get("name"))
    builder.agent = "swe-agent"
    builder.use_model("" if model in _NO_MODELS else model)
    builder.title = as_text(as_object(config.get("problem_statement")).get("id"))
    ChatReader(builder).add_all(as_list(trajectory.get("history")))
    return builder.finish()


SWE_AGENT = Format(name="swe-agent", matches=_is_swe_agent, read=_read_swe_agent)


def _is_tau_bench(document: Document) -> bool:
    runs = as_objects(document.value)
    return bool(runs) and all(isinstance(run.get("traj"), list) for run in runs)


def _read_tau_bench(document: Document) -> ImportedTranscript:
    """Reads the wanted run, by default the longest. The other runs are recorded as skipped. Raises `InvalidRequest` if
    there is no such run."""
    builder = TranscriptBuilder("tau-bench", document.name)
    runs = as_objects(document.value)
    chosen = choose_run([len(as_list(run.get("traj"))) for run in runs], document.run, document.name)
    for index, run in enumerate(runs):
        if index == chosen:
            builder.title = f"task {run.get('task_id')}, trial {run.get('trial')}"
            ChatReader(builder).add_all(as_list(run.get("traj")))
        else:
            builder.skip(index + 1, f"run {index + 1}: another conversation", expected=True)
    return builder.finish()


TAU_BENCH = Format(name="tau-bench", matches=_is_tau_bench, read=_read_tau_bench)


_USAGE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def _read_trae(document: Document) -> ImportedTranscript:
    """Reads all interactions: new messages, response and usage."""
    builder = TranscriptBuilder("trae", document.name)
    trajectory = as_object(document.value)
    builder.title = as_text(trajectory.get("task")).strip().partition("\n")[0][:200]
    builder.use_model(as_text(trajectory.get("model")))
    for index, item in enumerate(as_list(trajectory.get("llm_interactions")), start=1):
        interaction = as_object(item)
        if not isinstance(interaction.get("response"), dict):
            builder.skip(index, f"interaction {index} has no response", expected=False)
        _read_request(builder, index, interaction)
        _read_response(builder, interaction)
    return builder.finish()


def _read_request(builder: TranscriptBuilder, index: int, interaction: JsonObject) -> None:
    for message in map(as_object, as_list(interaction.get("input_messages"))):
        role = as_text(message.get("role"))
        if role not in tuple(Role):
            builder.skip(index, f"interaction {index} holds a message of unknown role {role!r}", expected=False)
            continue
        result, call = as_object(message.get("tool_result")), as_object(message.get("tool_call"))
        blocks: list[Block] = [_read_result(result)] if result else []
        blocks += read_parts(message.get("content"))
        blocks += [_read_call(call)] if call else []
        builder.add(Role(role), blocks, timestamp=as_timestamp(interaction.get("timestamp")))


def _read_result(result: JsonObject) -> ToolResultBlock:
    """Returns a tool result with its output and then its error, as trae-agent sends them to the model."""
    error = as_text(result.get("error"))
    texts = [join_texts(read_parts(result.get("result"))), f"Error: {error}" if error else ""]
    text = "\n".join(part for part in texts if part)
    return result_block(result.get("call_id"), read_parts(text), failed=result.get("success") is False)


def _read_response(builder: TranscriptBuilder, interaction: JsonObject) -> None:
    response = as_object(interaction.get("response"))
    calls = [_read_call(call) for call in as_objects(response.get("tool_calls"))]
    content: list[Block] = [*read_parts(response.get("content")), *calls]
    if not content:
        return
    builder.use_model(as_text(interaction.get("model")))
    message_id = builder.add(Role.ASSISTANT, content, timestamp=as_timestamp(interaction.get("timestamp")))
    counts = as_object(response.get("usage"))
    # Another client of trae-agent's than Anthropic's uses OpenAI's protocol, whose `input_tokens` include the cache.
    usage = convert_usage(counts) if interaction.get("provider") == "anthropic" else usage_in(counts, *_USAGE)
    builder.report(usage, message_id)


def _read_call(call: JsonObject) -> ToolUseBlock:
    return call_block(call.get("call_id"), call.get("name"), call.get("arguments"))


TRAE = Format(
    name="trae",
    matches=lambda document: isinstance(as_object(document.value).get("llm_interactions"), list),
    read=_read_trae,
)

# In the order in which they are tried, before agents' formats and after them: lists of messages are in files of these.
SPECIFIC = (ULLAGE, TRAE, MINI_SWE, SWE_AGENT, TAU_BENCH, LITELLM_LOG)
GENERAL = (ANTHROPIC_MESSAGES, OPENAI_MESSAGES)
