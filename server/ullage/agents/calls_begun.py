"""Finds work that a call began and that continues by itself: sub-agents and commands in the background."""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from ullage.agents.calls import ToolCall
from ullage.agents.outcomes import goes_on, was_refused
from ullage.agents.tools import plain, text_of, value_of
from ullage.model.blocks import TextBlock
from ullage.model.message import Message, Role

_SUB_AGENTS = {
    plain(name)
    for name in (
        *("task", "agent", "subagent", "spawn_agent", "delegate", "delegate_task", "run_subagent", "new_task"),
        *("dispatch_agent", "runSubagent", "invoke_subagent", "call_subagent"),
    )
}
# Calls that ask for the output of work in the background, wait for it or end it.
_ASKS = {plain(name) for name in ("TaskOutput", "BashOutput", "AgentOutputTool", "wait", "write_stdin", "get_output")}
_ENDS = {plain(name) for name in ("KillShell", "KillBash", "TaskStop", "close_agent", "kill_process")}
_ID_KEYS = ("task_id", "bash_id", "shell_id", "agent_id", "session_id", "id")
_ID = re.compile(r"(?:background with ID:|session ID|agentId:|agent_id:|task_id:) ?[\"']?([\w-]{2,60})")
_LAUNCHED = re.compile(
    r"\s*(?:Async agent launched|Agent launched in the background|Spawned agent|.{0,80}\bin the background\b)"
)
_STATUS = re.compile(r"<status>(\w+)</status>|\"status\": ?\"(\w+)\"|Process exited with code (-?\d+)")
_NOTE = re.compile(
    r"<task-notification>.{0,2000}?<task-id>([\w-]{2,60})</task-id>.{0,2000}?<status>(\w+)</status>"
    r"(?:.{0,500}?<result>(.{0,20000}?)</result>)?",
    re.DOTALL,
)
_RUNS = {"running", "pending", "in_progress"}
_OUTPUT = re.compile(r"<output>\s*(.{0,20000}?)\s*(?:</output>|$)", re.DOTALL)


class BegunKind(StrEnum):
    """What continues by itself: a sub-agent, or a command in the background."""

    SUB_AGENT = "sub-agent"
    COMMAND = "command"


class Begun(Struct, frozen=True, kw_only=True):
    """Work that a call began. `what` is its description or its command, `index` its message, `name` the id by which the
    agent asks for it (empty if it ended within its call). `ended` is the index of the message that shows its end, -1 if
    it still runs. `status` is the word for its end as it was reported, `result` what a sub-agent answered."""

    kind: BegunKind
    what: str
    index: int
    name: str = ""
    ended: int = -1
    status: str = ""
    result: str = ""


def begun_in(
    calls: Sequence[ToolCall],
    messages: Sequence[Message],
    indices: Sequence[int],
    known: Sequence[Begun | None] | None = None,
) -> list[Begun]:
    """Returns the work that calls began, in order, with how it ended as far as later calls and messages show it.

    `messages` are those in which notes on its end may be, with their indices. `known` are the results of `begun_by` for
    the calls, if a caller has them.
    """
    begun = [one for one in (map(begun_by, calls) if known is None else known) if one]
    if not any(one.name for one in begun):
        return begun
    ends = _Ends(calls, messages, indices)
    return [ends.of(one) for one in begun]


def begun_by(call: ToolCall) -> Begun | None:
    """Returns the work that a call began as far as the call itself shows it, None if it began none."""
    if was_refused(call.result):
        return None
    name = _ID.search(call.result[:1_000])
    if plain(call.name.rsplit("__", 1)[-1]) in _SUB_AGENTS:
        what = text_of(call.input, ("description", "task", "title", "name", "message", "prompt"))[:200]
        if not what or call.result_index < 0:
            return Begun(kind=BegunKind.SUB_AGENT, what=what, index=call.index, name="?") if what else None
        if _LAUNCHED.match(call.result[:400]) and name:
            return Begun(kind=BegunKind.SUB_AGENT, what=what, index=call.index, name=name[1])
        status = "failed" if call.failed else "completed"
        return Begun(
            kind=BegunKind.SUB_AGENT,
            what=what,
            index=call.index,
            ended=call.result_index,
            status=status,
            result=call.result,
        )
    if call.command and name and (value_of(call.input, ("run_in_background",)) is True or goes_on(call.result)):
        return Begun(kind=BegunKind.COMMAND, what=call.command, index=call.index, name=name[1])
    return None


class _Ends:
    """How work in the background ended, by its id."""

    def __init__(self, calls: Sequence[ToolCall], messages: Sequence[Message], indices: Sequence[int]) -> None:
        self._known: dict[str, tuple[int, str, str]] = {}
        for name, end in (*_asked(calls), *_noted(messages, indices)):
            if name not in self._known or end[0] >= self._known[name][0]:
                self._known[name] = end

    def of(self, begun: Begun) -> Begun:
        if begun.ended >= 0 or begun.name not in self._known:
            return begun
        index, status, result = self._known[begun.name]
        return Begun(
            kind=begun.kind,
            what=begun.what,
            index=begun.index,
            name=begun.name,
            ended=index,
            status=status,
            result=result,
        )


def _asked(calls: Sequence[ToolCall]) -> Iterator[tuple[str, tuple[int, str, str]]]:
    for call in calls:
        tool = plain(call.name.rsplit("__", 1)[-1])
        if tool not in _ASKS and tool not in _ENDS:
            continue
        name = str(value_of(call.input, _ID_KEYS) or "")
        if tool in _ENDS and not call.failed:
            yield name, (call.index, "killed", "")
        elif match := _STATUS.search(call.result[:2_000]):
            status = match[1] or match[2] or f"exited with code {match[3]}"
            if status.lower() not in _RUNS:
                output = _OUTPUT.search(call.result)
                yield name, (call.result_index, status, output[1] if output else "")


def _noted(messages: Sequence[Message], indices: Sequence[int]) -> Iterator[tuple[str, tuple[int, str, str]]]:
    for message, index in zip(messages, indices, strict=True):
        if message.role is Role.USER:
            for block in message.content:
                if isinstance(block, TextBlock) and "<task-notification>" in block.text:
                    for match in _NOTE.finditer(block.text):
                        yield match[1], (index, match[2], match[3] or "")
