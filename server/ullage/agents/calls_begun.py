"""Finds work that a call began and that continues by itself: sub-agents and commands in the background."""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.calls import ToolCall
from ullage.agents.outcomes import goes_on, was_refused
from ullage.agents.tools import plain, text_of, value_of

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
_OUTPUT = re.compile(r"(?:<output>|^Output:\n)\s*(.{0,20000}?)\s*(?:</output>|\Z)", re.DOTALL | re.MULTILINE)
_EXITED = "exited with code "


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


class End(Struct, frozen=True, kw_only=True):
    """How work in the background ended: the message that shows it, the word for its end, and its output."""

    index: int
    status: str
    output: str

    @property
    def failed(self) -> bool | None:
        """Whether it failed, None if it was ended from outside or its end does not say."""
        code = self.status.removeprefix(_EXITED)
        if code != self.status:
            return code != "0"
        return {"failed": True, "completed": False}.get(self.status)


def begun_in(calls: Sequence[ToolCall], ends: Mapping[str, End]) -> list[Begun]:
    """Returns the work that calls began, in order, with how it ended. `ends` are those that are known, by its id."""
    begun = [one for one in map(begun_by, calls) if one]
    return [
        replace(one, ended=end.index, status=end.status, result=end.output)
        if one.ended < 0 and (end := ends.get(one.name))
        else one
        for one in begun
    ]


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


def end_asked(call: ToolCall) -> tuple[str, End] | None:
    """Returns the id of work in the background whose end a call shows, with the end. None if it shows none."""
    tool = plain(call.name.rsplit("__", 1)[-1])
    if tool not in _ENDS and tool not in _ASKS:
        return None
    name = str(value_of(call.input, _ID_KEYS) or "")
    if tool in _ENDS:
        return None if call.failed else (name, End(index=call.index, status="killed", output=""))
    match = _STATUS.search(call.result[:2_000])
    if not match:
        return None
    status = match[1] or match[2] or f"{_EXITED}{match[3]}"
    output = _OUTPUT.search(call.result)
    said = output[1] if output else ""
    return None if status.lower() in _RUNS else (name, End(index=call.result_index, status=status, output=said))


def ends_noted(text: str, index: int) -> Iterator[tuple[str, End]]:
    """Yields the ids of work in the background whose ends an agent notes in a message, with the ends."""
    if "<task-notification>" in text:
        for match in _NOTE.finditer(text):
            yield match[1], End(index=index, status=match[2], output=match[3] or "")
