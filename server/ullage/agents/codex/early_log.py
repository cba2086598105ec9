"""Reads Codex's terminal log: one event per line, `{ts, dir, kind, payload}`, with answers streamed in small pieces.

A `token_count` ends a request; the tools of the request's answer ran before it. A second `session_configured` (after
`/new`) begins another conversation. The log contains no system prompt; older logs don't contain the user's prompts
either.

The log streams a command's output in pieces, and has its beginning once more at the end, cut for the screen. The model
is sent more of it than the screen shows (`codex-rs/core/src/exec.rs` and `codex.rs`).
"""

import binascii
from collections.abc import Iterable, Sequence
from itertools import islice

import msgspec
from msgspec.structs import replace

from ullage.formats.parsing import Document, Line, as_count, as_timestamp, convert_usage
from ullage.formats.transcripts.builder import SkippedLine, TranscriptBuilder, choose_run
from ullage.formats.transcripts.chat import call_block, read_parts, result_block, thoughts
from ullage.formats.transcripts.format import Records, incremental
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Block, Role, TextBlock, ThinkingBlock
from ullage.model.usage import Usage

NAME = "codex-log"

# The part of an output that the model is sent: the first lines, up to a number of bytes.
_LINES = 256
_BYTES = 10 * 1024
# Characters of an output that are shown. An output of this length was cut; that of a stopped command may be missing.
_SHOWN = 5 * 1024
# The exit code of a command that Codex or its sandbox stopped.
_STOPPED = -1
# Replaces the user's prompt if the log doesn't contain it.
_UNRECORDED_PROMPT = "[The log does not record this message.]"
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
        self._configured = self._prompted = False
        self.size = 0
        self.others: int | None = None
        self._timestamp = 0
        # The request that is not at its end: its answer, the results of its calls, and streamed pieces of texts that
        # are used if the log doesn't have them whole.
        self._answer: list[Block] = []
        self._results: list[Block] = []
        self._streamed_thinking = self._streamed_text = ""
        # What commands have printed, by the call and the stream.
        self._printed: dict[tuple[str, str], bytearray] = {}

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
        self._timestamp = as_timestamp(record.value.get("ts"))
        kind = as_text(record.value.get("kind"))
        payload = as_object(record.value.get("payload"))
        if kind == "codex_event":
            self._read_event(_event(record), record.number)
        elif kind == "op" and payload.get("type") == "user_input":
            self._add_user("\n".join(as_text(item.get("text")) for item in as_objects(payload.get("items"))))
        else:
            if kind == "session_start":
                self._builder.agent = "Codex"
                self._builder.cwd = as_text(record.value.get("cwd"))
            self._builder.skip(record.number, f"{kind or 'unknown'} line", expected=bool(kind))

    def finish(self, usage: Usage | None = None) -> None:
        """Ends the request: adds its answer with its `usage`, then a message with all results of its calls. Without an
        answer the usage is dropped."""
        self._take_streamed()
        if self._answer:
            message_id = self._builder.add(Role.ASSISTANT, self._answer, timestamp=self._timestamp)
            if usage is not None:
                self._builder.report(usage, message_id)
        if self._results:
            self._builder.add(Role.USER, self._results, timestamp=self._timestamp)
        self._answer, self._results = [], []

    def _take_streamed(self) -> None:
        self._take_streamed_thinking()
        self._answer += read_parts(self._streamed_text)
        self._streamed_text = ""

    def _take_streamed_thinking(self) -> None:
        self._answer += thoughts(self._streamed_thinking)
        self._streamed_thinking = ""

    def _read_event(self, event: JsonObject, number: int) -> None:  # noqa: C901, PLR0912 - one case for each kind
        kind = as_text(event.get("type"))
        match kind:
            case "task_started":
                self.finish()
                if not self._prompted:
                    self._add_user(_UNRECORDED_PROMPT)
                self._prompted = False
            case "user_message":
                self._add_user(as_text(event.get("message")))
            case "agent_reasoning" | "agent_reasoning_raw_content":
                self._end_results()
                self._streamed_thinking = ""
                self._answer.append(ThinkingBlock(thinking=as_text(event.get("text"))))
            case "agent_reasoning_delta" | "agent_reasoning_raw_content_delta":
                self._streamed_thinking += as_text(event.get("delta"))
            case "agent_message":
                self._end_results()
                self._take_streamed_thinking()
                self._streamed_text = ""
                self._answer.append(TextBlock(text=as_text(event.get("message"))))
            case "agent_message_delta":
                self._streamed_text += as_text(event.get("delta"))
            case "exec_command_begin":
                self._begin_call(event, "shell", {"command": as_list(event.get("command"))})
            case "exec_command_output_delta":
                self._take_output(event)
            case "patch_apply_begin":
                self._begin_call(event, "apply_patch", {"changes": as_object(event.get("changes"))})
            case "exec_command_end" | "patch_apply_end":
                failed = event.get("success") is False or event.get("exit_code", 0) != 0
                self._end_call(event, self._result(event, failed=failed), failed=failed)
            case "mcp_tool_call_begin":
                call = as_object(event.get("invocation"))
                name = f"{as_text(call.get('server'))}__{as_text(call.get('tool'))}"
                self._begin_call(event, name, as_object(call.get("arguments")))
            case "mcp_tool_call_end":
                result = as_object(event.get("result"))
                texts = (as_text(part.get("text")) for part in as_objects(as_object(result.get("Ok")).get("content")))
                self._end_call(event, "\n".join(texts) or as_text(result.get("Err")), failed="Err" in result)
            case "token_count":
                # Newer versions report the session's total as well as the last request's usage.
                info = as_object(event.get("info"))
                self._builder.window(as_count(info.get("model_context_window")) or None, timestamp=self._timestamp)
                self.finish(convert_usage(as_object(info.get("last_token_usage")) or event))
            case "task_complete" | "error":
                self.finish()
            case _:
                if kind == "session_configured":
                    self._builder.use_model(as_text(event.get("model")))
                    self._builder.session_id = as_text(event.get("session_id"))
                self._builder.skip(number, f"{kind or 'unknown'} event", expected=kind in _OWN_EVENTS)

    def _add_user(self, text: str) -> None:
        # Newer logs contain each prompt twice before its task, as an operation and as an event.
        if not self._prompted:
            self.finish()
            self._builder.add(Role.USER, (TextBlock(text=text),), timestamp=self._timestamp)
            self._prompted = True

    def _end_results(self) -> None:
        # Text after results belongs to the next request, also after a request without a `token_count`.
        if self._results:
            self.finish()

    def _begin_call(self, event: JsonObject, name: str, given: JsonObject) -> None:
        self._take_streamed()
        self._answer.append(call_block(event.get("call_id"), name, given))

    def _end_call(self, event: JsonObject, output: str, *, failed: bool) -> None:
        self._results.append(result_block(event.get("call_id"), read_parts(output), failed=failed))

    def _take_output(self, event: JsonObject) -> None:
        """Adds a chunk of a command's output, which is Base64 or a list of bytes. A chunk that can't be decoded is
        ignored."""
        chunk = event.get("chunk")
        try:
            piece = binascii.a2b_base64(chunk) if isinstance(chunk, str) else bytes(chunk or ())
        except (ValueError, TypeError):
            return
        key = as_text(event.get("call_id")), as_text(event.get("stream"))
        self._printed.setdefault(key, bytearray()).extend(piece)

    def _result(self, event: JsonObject, *, failed: bool) -> str:
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
        printed = self._printed.pop((as_text(event.get("call_id")), name), bytearray())
        first = b"".join(islice(printed.splitlines(keepends=True), _LINES))
        streamed = first[:_BYTES].decode("utf-8", "replace")
        cut = not shown or len(shown) >= _SHOWN
        return streamed if cut and len(streamed) > len(shown) else shown


def _starts_over(reader: LogReader, lines: Sequence[Line]) -> bool:
    # A later conversation is longer with these lines than the one that is read.
    return reader.others is not None and reader.others + _size(lines) > reader.size


FORMAT = replace(incremental(NAME, matches, LogReader, records), begins_another=_begins, starts_over=_starts_over)
