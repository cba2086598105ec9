"""The entries of the ledger: the state of a conversation, each entry with its life.

Every entry has the index of the message that it is from. Its state is the newest one: a later event replaces the state,
so a ledger never says what was once true and is no longer.
"""

from enum import StrEnum

from msgspec import Struct


class Kind(StrEnum):
    """What an entry is, in the order in which pages show the kinds."""

    SAID = "said"
    TASK = "task"
    PROBLEM = "problem"
    CHECK = "check"
    COMMIT = "commit"
    FILE = "file"
    JOB = "job"
    WORDS = "words"
    EARLIER = "earlier"


class Life(StrEnum):
    """The state of an entry.

    A message of the user is `open`, or `repeated` by the same words later. A task is `open`, `in progress`, `done`,
    `dropped`, or `earlier`: of a list that the agent has left. A problem is `open` or `mended`. A check `passed` or
    `failed`. A commit is the `last` one, an `earlier` one, or `elsewhere`: in another repository; it is `open` if a
    branch has none of the conversation yet. A file was `read`, `created`, `changed` or `deleted`. A job is `running` or
    `ended`. The agent's words and an earlier summary hold (`stands`).
    """

    OPEN = "open"
    REPEATED = "repeated"
    IN_PROGRESS = "in progress"
    DONE = "done"
    DROPPED = "dropped"
    MENDED = "mended"
    PASSED = "passed"
    FAILED = "failed"
    LAST = "last"
    EARLIER = "earlier"
    ELSEWHERE = "elsewhere"
    READ = "read"
    CREATED = "created"
    CHANGED = "changed"
    DELETED = "deleted"
    RUNNING = "running"
    ENDED = "ended"
    STAND = "stands"


class Entry(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One thing that is known of a conversation.

    - `kind`, `life`: what it is, and its newest state.
    - `index`: the message that it is from; of a state, the message that last changed it.
    - `text`: the thing as it was written: the words, the task's subject, the command, the path, the commit's subject.
    - `beside`: what is needed to understand it: the question that a reply answers and the option that it chose, how a
      check ended, what mended a problem, how old a list of tasks is, which names of code a file's changes put in and
      took out, what an agent's words were answered with. May be empty.
    - `name`: the id by which it is asked for: a task's number, a commit's hash, a job's id. May be empty.
    - `changed`: the files that were changed after a check ran, as they are written in calls.
    - `is_outside`: whether a file is outside the project.
    - `against`: the line of a summary that says otherwise. Empty if none does.
    """

    kind: Kind
    life: Life
    index: int
    text: str
    beside: str = ""
    name: str = ""
    changed: tuple[str, ...] = ()
    is_outside: bool = False
    against: str = ""


def failed_command(problem: Entry) -> tuple[str, str]:
    """Returns the command of a problem, and what it said of its failure, empty if nothing. The entry's text is both:
    "`go build` failed: undefined: x"."""
    command, _, detail = problem.text.removeprefix("`").partition("` failed")
    return command, detail.removeprefix(": ")


class Ledger(Struct, frozen=True, kw_only=True):
    """What is known from the messages up to the index `end`, by kind, each kind in the order of the conversation.
    `branch` is the branch that was last seen checked out, empty if none was."""

    end: int = 0
    said: tuple[Entry, ...] = ()
    tasks: tuple[Entry, ...] = ()
    problems: tuple[Entry, ...] = ()
    checks: tuple[Entry, ...] = ()
    commits: tuple[Entry, ...] = ()
    files: tuple[Entry, ...] = ()
    jobs: tuple[Entry, ...] = ()
    words: tuple[Entry, ...] = ()
    earlier: tuple[Entry, ...] = ()
    branch: str = ""
