"""Reads Codex's terminal log: one event per line, `{ts, dir, kind, payload}`, with answers streamed in small pieces.

A `token_count` ends a request; the tools of the request's answer ran before it. A second `session_configured` (after
`/new`) begins another conversation. The log contains no system prompt; older logs don't contain the user's prompts
either.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from ullage.agents.codex.log_outputs import CommandOutputs
from ullage.agents.codex.log_turn import CodexTurn
from ullage.formats.parsing import Document, Line, as_count, as_timestamp
from ullage.formats.provider_usage import convert_usage
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.format import Records, incremental
from ullage.formats.transcripts.imported import SkippedLine, choose_run
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text

NAME = "codex-log"
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
    """Returns whether a line begins a conversation: the first one of the log, or another one."""
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
