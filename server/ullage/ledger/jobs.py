"""Work that goes on by itself: sub-agents and commands in the background, with the ids by which the agent asks for
them."""

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.calls import ToolCall, joined_call
from ullage.agents.outcomes import goes_on, was_refused
from ullage.agents.tools import plain, text_of, value_of
from ullage.ledger.ledger_entry import Entry, Kind, Life
from ullage.model.message import ToolUseBlock

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
# Whether a command has failed, by the word for its end. Another word says that it was ended from outside.
_FAILED = {"failed": True, "completed": False, "0": False}
_OUTPUT = re.compile(r"(?:<output>|^Output:\n)\s*(.{0,20000}?)\s*(?:</output>|\Z)", re.DOTALL | re.MULTILINE)


class _Job(Struct, kw_only=True):
    """Work that a call began. `name` is the id by which the agent asks for it, empty if it has none. `ended` is the
    message that shows its end, -1 if it still runs. `command` is the call of a command that still runs. `result` is
    what it answered."""

    what: str
    index: int
    name: str = ""
    is_agent: bool = True
    ended: int = -1
    result: str = ""
    command: ToolCall | None = None


class JobFold:
    """The work in the background after the calls and notes that were taken."""

    def __init__(self) -> None:
        self._jobs: list[_Job] = []

    def take(self, call: ToolCall) -> ToolCall | None:
        """Applies what a call began or what it shows to have ended. Returns the call of a command that ended, as if its
        end had come with it."""
        if job := _begun(call):
            self._jobs.append(job)
        tool, name = plain(call.name.rsplit("__", 1)[-1]), str(value_of(call.input, _ID_KEYS) or "")
        if tool in _ENDS and not call.failed:
            return self._end(name, call.index, "killed", "")
        status = _STATUS.search(call.result[:2_000]) if tool in _ASKS else None
        if status is None or (word := status[1] or status[2] or status[3]).lower() in _RUNS:
            return None
        output = _OUTPUT.search(call.result)
        return self._end(name, call.result_index, word, output[1] if output else "", call.result)

    def take_note(self, text: str, index: int) -> Iterator[ToolCall]:
        """Applies the ends that an agent notes in a message. Yields the calls of commands that ended, like `take`."""
        for name, status, output in _NOTE.findall(text) if "<task-notification>" in text else ():
            if ended := self._end(name, index, status, output, text):
                yield ended

    def _end(self, name: str, index: int, status: str, output: str, said: str = "") -> ToolCall | None:
        ended: ToolCall | None = None
        for job in self._jobs:
            if name and job.name == name:
                job.ended, job.result = index, output
                ended, job.command = job.command, None
        # A code other than 0 is a failure.
        failed = _FAILED.get(status, True if status.lstrip("-").isdigit() else None)
        if ended is None or failed is None:
            return None
        return replace(ended, result=output or said, result_index=index, failed=failed or None)

    def entries(self, waiting: Iterable[tuple[ToolUseBlock, int]]) -> tuple[Entry, ...]:
        """Returns the work in the background, that of calls which still wait for their results included. Of what was
        begun again under the same name only the last is running."""
        jobs = [*self._jobs, *filter(None, (_begun(joined_call(use, at, None, -1)) for use, at in waiting))]
        last = {job.what: job.index for job in jobs}
        return tuple(_entry(job) for job in jobs if job.ended >= 0 or job.index == last[job.what])


def _entry(job: _Job) -> Entry:
    if job.ended < 0:
        kind = "sub-agent" if job.is_agent else "command"
        return Entry(kind=Kind.JOB, life=Life.RUNNING, index=job.index, text=job.what, name=job.name, beside=kind)
    # A command can be run again; what a sub-agent answered cannot be had again.
    result = job.result if job.is_agent else ""
    return Entry(kind=Kind.JOB, life=Life.ENDED, index=job.ended, text=job.what, name=job.name, beside=result)


def _begun(call: ToolCall) -> _Job | None:
    """Returns the work that a call began as far as the call itself shows it, None if it began none."""
    if was_refused(call.result):
        return None
    if plain(call.name.rsplit("__", 1)[-1]) in _SUB_AGENTS:
        what = text_of(call.input, ("description", "task", "title", "name", "message", "prompt"))[:200]
        name = _ID.search(call.result[:1_000]) if _LAUNCHED.match(call.result[:400]) else None
        if not what or name or call.result_index < 0:
            return _Job(what=what, index=call.index, name=name[1] if name else "") if what else None
        return _Job(what=what, index=call.index, ended=call.result_index, result=call.result)
    if call.command and (value_of(call.input, ("run_in_background",)) is True or goes_on(call.result)):
        name = _ID.search(call.result[:1_000])
        return _Job(what=call.command, index=call.index, name=name[1], is_agent=False, command=call) if name else None
    return None
