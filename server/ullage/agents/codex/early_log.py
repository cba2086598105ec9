"""Reads Codex's terminal log: one event per line, `{ts, dir, kind, payload}`, with answers streamed in small pieces.

A `token_count` ends a request; the tools of the request's answer ran before it. A second `session_configured` (after
`/new`) begins another conversation. The log contains no system prompt; older logs don't contain the user's prompts
either.

The log streams a command's output in pieces, and has its beginning once more at the end, cut for the screen. The model
is sent more of it than the screen shows (`codex-rs/core/src/exec.rs` and `codex.rs`).
"""

import binascii
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from ullage.formats.parsing import Document, Line, as_count, as_timestamp, convert_usage
from ullage.formats.transcripts.builder import SkippedLine, TranscriptBuilder, choose_run
from ullage.formats.transcripts.format import Records, incremental
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Block, Role, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ullage.model.usage import Usage

NAME = "codex-log"

# The part of an output that the model is sent: the first lines, up to a number of bytes.
_LINES = 256
_BYTES = 10 * 1024
# Characters of an output that are shown. An output of this length was cut; that of a stopped command may be missing.
_SHOWN = 5 * 1024
# The exit code of a command that Codex or its sandbox stopped.
_STOPPED = -1


class CommandOutputs:
    """Collects the streamed outputs of commands that are running, and gives their results as the model was sent
    them."""

    def __init__(self) -> None:
        self._streams: dict[tuple[str, str], bytearray] = {}

    def stream(self, event: JsonObject) -> None:
        """Adds a chunk of a command's output, which is Base64 or a list of bytes. A chunk that can't be decoded is
        ignored."""
        key = as_text(event.get("call_id")), as_text(event.get("stream"))
        chunk = event.get("chunk")
        try:
            piece = binascii.a2b_base64(chunk) if isinstance(chunk, str) else bytes(chunk or ())
        except (ValueError, TypeError):
            return
        self._streams.setdefault(key, bytearray()).extend(piece)

    def end(self, event: JsonObject, *, failed: bool) -> str:
        """Returns the result of the command that the event ends, as the model was sent it.

        Newer versions log that text (`formatted_output`). For older ones it is a JSON object with the standard output,
        the standard error of a command that failed, or both if the sandbox stopped the command.
        """
        outputs = [self._output(event, name) for name in ("stdout", "stderr")]
        if formatted := as_text(event.get("formatted_output")):
            return formatted
        exit_code = event.get("exit_code", 0)
        output = "".join(outputs) if exit_code == _STOPPED else outputs[failed]
        duration = as_object(event.get("duration"))
        seconds = as_count(duration.get("secs")) + as_count(duration.get("nanos")) / 1e9
        metadata = {"exit_code": exit_code, "duration_seconds": round(seconds, 1)}
        return msgspec.json.encode({"output": output, "metadata": metadata}).decode()

    def _output(self, event: JsonObject, name: str) -> str:
        shown = as_text(event.get(name))
        streamed = _cut(self._streams.pop((as_text(event.get("call_id")), name), bytearray()))
        cut = not shown or len(shown) >= _SHOWN
        return streamed if cut and len(streamed) > len(shown) else shown


def _cut(output: bytearray) -> str:
    lines = b"".join(islice(output.splitlines(keepends=True), _LINES))
    return lines[:_BYTES].decode("utf-8", "replace")


# Replaces the user's prompt if the log doesn't contain it.
UNRECORDED_PROMPT = "[The log does not record this message.]"


class CodexTurn:
    """Collects the events of one request to the model, and adds its answer and tool results to the transcript when it
    ends.

    Streamed pieces of a text are used only if the log doesn't contain the complete text.
    """

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._answer: list[Block] = []
        self._results: list[Block] = []
        self._streamed_thinking = ""
        self._streamed_text = ""
        self._prompted = False
        self.timestamp = 0

    def start(self) -> None:
        """Begins a task (a prompt turn) and ends the request before it. If the log didn't contain the user's prompt, a
        placeholder is added for it."""
        self.finish()
        if not self._prompted:
            self._builder.add(Role.USER, (TextBlock(text=UNRECORDED_PROMPT),), timestamp=self.timestamp)
        self._prompted = False

    def add_user(self, text: str) -> None:
        """Adds the user's prompt to the transcript. A second prompt before the task begins is ignored.

        Newer logs contain each prompt twice, as an operation and as an event.
        """
        if self._prompted:
            return
        self.finish()
        self._builder.add(Role.USER, (TextBlock(text=text),), timestamp=self.timestamp)
        self._prompted = True

    def stream_thinking(self, delta: str) -> None:
        """Adds a piece of streamed reasoning."""
        self._streamed_thinking += delta

    def add_thinking(self, text: str) -> None:
        """Adds a complete reasoning text, which replaces its streamed pieces."""
        self._open_answer()
        self._streamed_thinking = ""
        self._answer.append(ThinkingBlock(thinking=text))

    def stream_text(self, delta: str) -> None:
        """Adds a piece of the answer's streamed text."""
        self._streamed_text += delta

    def add_text(self, text: str) -> None:
        """Adds a complete text of the answer, which replaces its streamed pieces."""
        self._open_answer()
        self._take_streamed_thinking()
        self._streamed_text = ""
        self._answer.append(TextBlock(text=text))

    def begin_call(self, call_id: str, name: str, arguments: dict[str, Any]) -> None:
        """Adds a tool call to the answer."""
        self._take_streamed()
        self._answer.append(ToolUseBlock(id=call_id, name=name, input=arguments))

    def end_call(self, call_id: str, output: str, *, failed: bool) -> None:
        """Adds the result of a tool call."""
        content = (TextBlock(text=output),) if output else ()
        self._results.append(ToolResultBlock(tool_use_id=call_id, content=content, is_error=failed))

    def finish(self, usage: Usage | None = None) -> None:
        """Ends the request: adds the answer with its `usage`, then a message with all tool results, to the transcript.

        If there is no answer, `usage` is dropped.
        """
        self._take_streamed()
        if self._answer:
            message_id = self._builder.add(Role.ASSISTANT, self._answer, timestamp=self.timestamp)
            if usage is not None:
                self._builder.report(usage, message_id)
        if self._results:
            self._builder.add(Role.USER, self._results, timestamp=self.timestamp)
        self._answer, self._results = [], []

    def _open_answer(self) -> None:
        """Ends the previous request if tool results have come, because text after results belongs to the next request.

        This is needed for requests that end without a `token_count`.
        """
        if self._results:
            self.finish()

    def _take_streamed(self) -> None:
        self._take_streamed_thinking()
        if self._streamed_text:
            self._answer.append(TextBlock(text=self._streamed_text))
            self._streamed_text = ""

    def _take_streamed_thinking(self) -> None:
        if self._streamed_thinking:
            self._answer.append(ThinkingBlock(thinking=self._streamed_thinking))
            self._streamed_thinking = ""


_OWN_EVENTS = {
    "session_configured",
    "agent_reasoning_section_break",
    "exec_approval_request",
    "apply_patch_approval_request",
    "turn_diff",
    "plan_update",
    "background_event",
    "shutdown_complete",
}


def matches(document: Document) -> bool:
    """Returns whether any line of the file has the shape of a line of Codex's terminal log."""
    return any("dir" in value and value.get("kind") in ("codex_event", "session_start") for value in document.objects)


def records(document: Document) -> Records:
    """Returns the lines of one conversation of the log: the one that `document.run` asks for, by default the longest.

    The other conversations are listed as skipped. Lines that are not JSON belong to the chosen one. So do the lines
    of later conversations, which the reader leaves out: the log need not be read again for each of them. Raises
    `InvalidRequest` if the log has no such conversation.
    """
    runs = _split(document.lines)
    chosen = choose_run([_size(run) for run in runs], document.run, document.name)
    others = tuple(
        SkippedLine(line=run[0].number, reason=f"run {index}: another conversation, {len(run)} lines", expected=True)
        for index, run in enumerate(runs, start=1)
        if index - 1 != chosen
    )
    lines = tuple(line for index, run in enumerate(runs) for line in run if index >= chosen or line.value is None)
    return Records(lines=lines, skipped=others)


def _split(lines: Iterable[Line]) -> list[list[Line]]:
    """Returns the lines of each conversation of the log. Lines before the first conversation belong to the first."""
    runs: list[list[Line]] = [[]]
    configured = False
    for line in lines:
        if _begins(line):
            if configured:
                runs.append([])
            configured = True
        runs[-1].append(line)
    return runs


def _begins(line: Line) -> bool:
    return _event(line).get("type") == "session_configured"


def _event(line: Line) -> JsonObject:
    return as_object(as_object((line.value or {}).get("payload")).get("msg"))


def _size(run: Iterable[Line]) -> int:
    return sum(_event(line).get("type") in ("agent_message", "exec_command_end", "patch_apply_end") for line in run)


class LogReader:
    """Reads one conversation of Codex's terminal log. The messages of a request are held back until the request
    ends. The conversations after it are left out; `others` has the size of the last of them, None if there is none, and
    `size` that of the conversation itself."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._configured = False
        self.size = 0
        self.others: int | None = None
        self._turn = CodexTurn(builder)
        self._outputs = CommandOutputs()
        self._handlers: dict[str, Callable[[JsonObject], None]] = {
            "task_started": lambda _: self._turn.start(),
            "user_message": lambda event: self._turn.add_user(as_text(event.get("message"))),
            "agent_reasoning": lambda event: self._turn.add_thinking(as_text(event.get("text"))),
            "agent_reasoning_delta": lambda event: self._turn.stream_thinking(as_text(event.get("delta"))),
            "agent_reasoning_raw_content": lambda event: self._turn.add_thinking(as_text(event.get("text"))),
            "agent_reasoning_raw_content_delta": lambda event: self._turn.stream_thinking(as_text(event.get("delta"))),
            "agent_message": lambda event: self._turn.add_text(as_text(event.get("message"))),
            "agent_message_delta": lambda event: self._turn.stream_text(as_text(event.get("delta"))),
            "exec_command_begin": self._begin_command,
            "exec_command_output_delta": self._outputs.stream,
            "exec_command_end": self._end_call,
            "patch_apply_begin": self._begin_patch,
            "patch_apply_end": self._end_call,
            "mcp_tool_call_begin": self._begin_mcp,
            "mcp_tool_call_end": self._end_mcp,
            "token_count": self._report,
            "task_complete": lambda _: self._turn.finish(),
            "error": lambda _: self._turn.finish(),
        }

    def take(self, record: Line) -> None:
        """Reads the next event of the log."""
        if record.value is None:
            self._builder.skip_unread(record)
            return
        if _begins(record):
            self.others = 0 if self._configured else None
            self._configured = True
        if self.others is not None:
            self.others += _size([record])
            return
        self.size += _size([record])
        self._turn.timestamp = as_timestamp(record.value.get("ts"))
        kind = as_text(record.value.get("kind"))
        payload = as_object(record.value.get("payload"))
        if kind == "codex_event":
            self._read_event(record.number, _event(record))
        elif kind == "op" and payload.get("type") == "user_input":
            items = as_objects(payload.get("items"))
            self._turn.add_user("\n".join(as_text(item.get("text")) for item in items))
        else:
            if kind == "session_start":
                self._builder.agent = "Codex"
                self._builder.cwd = as_text(record.value.get("cwd"))
            self._builder.skip(record.number, f"{kind or 'unknown'} line", expected=bool(kind))

    def finish(self) -> None:
        """Adds the messages of the last request, which were held back."""
        self._turn.finish()

    def _read_event(self, number: int, event: JsonObject) -> None:
        kind = as_text(event.get("type"))
        if kind == "session_configured":
            self._builder.use_model(as_text(event.get("model")))
            self._builder.session_id = as_text(event.get("session_id"))
        handler = self._handlers.get(kind)
        if handler is not None:
            handler(event)
        else:
            self._builder.skip(number, f"{kind or 'unknown'} event", expected=kind in _OWN_EVENTS)

    def _begin_command(self, event: JsonObject) -> None:
        self._turn.begin_call(as_text(event.get("call_id")), "shell", {"command": as_list(event.get("command"))})

    def _begin_patch(self, event: JsonObject) -> None:
        changes = as_object(event.get("changes"))
        self._turn.begin_call(as_text(event.get("call_id")), "apply_patch", {"changes": changes})

    def _begin_mcp(self, event: JsonObject) -> None:
        call = as_object(event.get("invocation"))
        name = f"{as_text(call.get('server'))}__{as_text(call.get('tool'))}"
        self._turn.begin_call(as_text(event.get("call_id")), name, as_object(call.get("arguments")))

    def _end_call(self, event: JsonObject) -> None:
        failed = event.get("success") is False or event.get("exit_code", 0) != 0
        output = self._outputs.end(event, failed=failed)
        self._turn.end_call(as_text(event.get("call_id")), output, failed=failed)

    def _end_mcp(self, event: JsonObject) -> None:
        result = as_object(event.get("result"))
        parts = as_objects(as_object(result.get("Ok")).get("content"))
        output = "\n".join(as_text(part.get("text")) for part in parts) or as_text(result.get("Err"))
        self._turn.end_call(as_text(event.get("call_id")), output, failed="Err" in result)

    def _report(self, event: JsonObject) -> None:
        # Newer versions report the session's total as well as the last request's usage.
        info = as_object(event.get("info"))
        self._builder.window(as_count(info.get("model_context_window")) or None, timestamp=self._turn.timestamp)
        self._turn.finish(convert_usage(as_object(info.get("last_token_usage")) or event))


def _starts_over(reader: LogReader, lines: Sequence[Line]) -> bool:
    """Returns whether with these lines a later conversation is longer than the one that is read."""
    return reader.others is not None and reader.others + _size(lines) > reader.size


FORMAT = replace(incremental(NAME, matches, LogReader, records), begins_another=_begins, starts_over=_starts_over)
