"""When a piece of work is at its end, so that the next one can begin in a new or compacted conversation."""

from collections.abc import Iterable

from ullage.agents.results import tool_uses
from ullage.ledger.ledger_entry import Entry, Ledger, Life
from ullage.ledger.prose import asks
from ullage.ledger.said import typed_text
from ullage.model.message import Message, Role, ToolUseBlock

_CHANGED = (Life.CREATED, Life.CHANGED, Life.DELETED)
# Characters. A longer answer explains, compares or proposes, and a user replies to it.
_LONGEST = 400


def finished_work(ledger: Ledger, last: Message | None) -> Entry | None:
    """Returns the commit with which the last turn has ended a piece of work, or None.

    It holds every change of a file in the project, and nothing is open after it: no turn that runs (`last` is its last
    message), no question to the user, no long answer, no task, no job, no problem, and no check that failed. What an
    agent or a user says of it counts for nothing, since that depends on the language.
    """
    if last is None or not may_end(last):
        return None
    turn = max((entry.index for entry in ledger.said), default=0)
    changed = max((one.index for one in ledger.files if one.life in _CHANGED and not one.is_outside), default=-1)
    is_open = (
        any(task.life in (Life.OPEN, Life.IN_PROGRESS) for task in ledger.tasks)
        or any(job.life is Life.RUNNING for job in ledger.jobs)
        or any(check.life is Life.FAILED and check.index >= changed for check in ledger.checks)
        or any(problem.life is Life.OPEN and problem.index >= turn for problem in ledger.problems)
    )
    commit = next((entry for entry in ledger.commits if entry.life is Life.LAST), None)
    if is_open or commit is None or commit.index <= turn or commit.index < changed:
        return None
    return commit


def may_end(last: Message) -> bool:
    """Returns whether a last message may be at the end of a piece of work, by itself: a short answer that neither asks
    nor calls."""
    calls = any(isinstance(block, ToolUseBlock) for block in last.content)
    return last.role is Role.ASSISTANT and len(last.text) <= _LONGEST and not calls and not asks(last.text)


def may_have_committed(newest_first: Iterable[Message]) -> bool:
    """Returns whether a commit may have been made since the user's last words: whether git is named since then. Takes
    the last turn alone, so that a long conversation is folded only where `finished_work` may find something."""
    for message in newest_first:
        if "git" in message.text or any("git" in str(use.input) for use in tool_uses([message])):
            return True
        if message.role is Role.USER and typed_text(message):
            return False
    return False
