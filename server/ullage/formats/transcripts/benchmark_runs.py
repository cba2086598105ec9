"""Reads the trajectories of agents that run benchmarks.

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

from ullage.formats.parsing import Document, Line, as_count, as_timestamp
from ullage.formats.provider_usage import convert_usage, exclude_cache
from ullage.formats.transcripts.builder import ImportedTranscript, TranscriptBuilder, choose_run
from ullage.formats.transcripts.chat import ChatReader, read_arguments, read_parts
from ullage.formats.transcripts.format import Format, Records, incremental, parsed
from ullage.model.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Role
from ullage.model.usage import Usage


def _is_mini_swe(document: Document) -> bool:
    """Returns whether the file names this format in `trajectory_format`."""
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
    """Returns whether the file is one object with both `trajectory` and `history`."""
    value = as_object(document.value)
    return isinstance(value.get("trajectory"), list) and isinstance(value.get("history"), list)


def _read_swe_agent(document: Document) -> ImportedTranscript:
    """Reads the messages of `history`. The model is named by the run's configuration (`replay_config`), an object or
    its JSON text, which early versions don't write. Raises `UnreadableTranscript` if there are none."""
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
    """Returns whether the file is a list of objects that all have a `traj`."""
    runs = _runs(document.value)
    return bool(runs) and all(isinstance(run.get("traj"), list) for run in runs)


def _read_tau_bench(document: Document) -> ImportedTranscript:
    """Reads the wanted run, by default the longest. The other runs are recorded as skipped. Raises `InvalidRequest` if
    there is no such run, and `UnreadableTranscript` if it has no message."""
    builder = TranscriptBuilder("tau-bench", document.name)
    runs = _runs(document.value)
    chosen = choose_run([len(as_list(run.get("traj"))) for run in runs], document.run, document.name)
    for index, run in enumerate(runs):
        if index == chosen:
            builder.title = f"task {run.get('task_id')}, trial {run.get('trial')}"
            ChatReader(builder).add_all(as_list(run.get("traj")))
        else:
            builder.skip(index + 1, f"run {index + 1}: another conversation", expected=True)
    return builder.finish()


def _runs(value: Any) -> list[JsonObject]:
    return as_objects(value)


TAU_BENCH = Format(name="tau-bench", matches=_is_tau_bench, read=_read_tau_bench)


# Providers whose `input_tokens` exclude the cache. trae-agent's other clients use OpenAI's protocol, which includes it.
_CACHE_EXCLUDED = {"anthropic"}


def _is_trae(document: Document) -> bool:
    """Returns whether the file is one object with `llm_interactions`."""
    return isinstance(as_object(document.value).get("llm_interactions"), list)


def _read_trae(document: Document) -> ImportedTranscript:
    """Reads all interactions: the new messages of each request, then its response and usage. Raises
    `UnreadableTranscript` if there is no message."""
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
    for item in as_list(interaction.get("input_messages")):
        message = as_object(item)
        role = as_text(message.get("role"))
        if role not in tuple(Role):
            builder.skip(index, f"interaction {index} holds a message of unknown role {role!r}", expected=False)
            continue
        builder.add(Role(role), _read_content(message), timestamp=as_timestamp(interaction.get("timestamp")))


def _read_content(message: JsonObject) -> list[Block]:
    blocks: list[Block] = [*read_parts(message.get("content"))]
    result = as_object(message.get("tool_result"))
    if result:
        blocks.insert(0, _read_result(result))
    call = as_object(message.get("tool_call"))
    if call:
        blocks.append(_read_call(call))
    return blocks


def _read_result(result: JsonObject) -> ToolResultBlock:
    """Returns a tool result with its output and then its error, as trae-agent sends them to the model."""
    error = as_text(result.get("error"))
    texts = [_as_text(result.get("result")), f"Error: {error}" if error else ""]
    text = "\n".join(part for part in texts if part)
    return ToolResultBlock(
        tool_use_id=as_text(result.get("call_id")),
        content=(TextBlock(text=text),) if text else (),
        is_error=result.get("success") is False,
    )


def _as_text(value: Any) -> str:
    return join_texts(read_parts(value))


def _read_response(builder: TranscriptBuilder, interaction: JsonObject) -> None:
    response = as_object(interaction.get("response"))
    calls = [_read_call(call) for call in as_objects(response.get("tool_calls"))]
    content: list[Block] = [*read_parts(response.get("content")), *calls]
    if not content:
        return
    builder.use_model(as_text(interaction.get("model")))
    message_id = builder.add(Role.ASSISTANT, content, timestamp=as_timestamp(interaction.get("timestamp")))
    usage = as_object(response.get("usage"))
    builder.report(_convert(usage, as_text(interaction.get("provider"))), message_id)


def _read_call(call: JsonObject) -> ToolUseBlock:
    return ToolUseBlock(
        id=as_text(call.get("call_id")), name=as_text(call.get("name")), input=read_arguments(call.get("arguments"))
    )


def _convert(usage: JsonObject, provider: str) -> Usage:
    if provider in _CACHE_EXCLUDED:
        return convert_usage(usage)
    return exclude_cache(
        as_count(usage.get("input_tokens")),
        as_count(usage.get("output_tokens")),
        as_count(usage.get("cache_read_input_tokens")),
        as_count(usage.get("cache_creation_input_tokens")),
    )


TRAE = Format(name="trae", matches=_is_trae, read=_read_trae)
