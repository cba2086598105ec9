"""Port of continuing: how a door makes new sessions that agents resume."""

from typing import Protocol

from msgspec import Struct


class WantedSession(Struct, frozen=True, kw_only=True):
    """The context that a new session gets, of the session `session_id`, and its agent.

    `agent` is the agent's name in commands, "" for the conversation's own. The context is the conversation's as it was
    before the agent's own last compaction (`before_compaction`), as it was after the message `message_id`, or the
    present one. `compacted` has Ullage compact it; None means that it does for the conversation's own agent, if neither
    of the first two is asked for. `budget` is the most tokens of a compacted context without what the agent adds, None
    for the usual ones. `focus` says what its summary must keep.
    """

    session_id: str
    agent: str = ""
    before_compaction: bool = False
    message_id: str | None = None
    compacted: bool | None = None
    budget: int | None = None
    focus: str = ""


class PlannedSession(Struct, frozen=True, kw_only=True):
    """A new session that is not written yet.

    `id` names it until it is written. `agent` is the agent's name, `agent_session_id` the session's id there, `path`
    its file. `command` are the words that resume it in the folder `cwd`; `shell` is the same as a line for a shell, for
    any folder. `messages` are those of its context, and `left_out` those of the conversation that are not among them.
    `used` is the size of its context in tokens, with the `hidden` ones that the agent adds to every request; `before`
    is the size before Ullage compacted it, None if it did not. `size` is the window and `compacts_at` where the agent
    compacts by itself, None if unknown. `fits` is False if the agent may compact the session before it asks the first
    prompt. `notes` are sentences for the user.
    """

    id: str
    agent: str
    agent_session_id: str
    path: str
    cwd: str
    command: tuple[str, ...]
    shell: str
    messages: int
    left_out: int
    used: int
    hidden: int
    before: int | None
    size: int | None
    compacts_at: int | None
    fits: bool
    notes: tuple[str, ...]


class WritableAgent(Struct, frozen=True, kw_only=True):
    """An agent whose sessions can be written. `word` is its name in commands; `is_own` says whether it is the agent of
    the conversation."""

    agent: str
    word: str
    is_own: bool


class Choices(Struct, frozen=True, kw_only=True):
    """How a conversation can be continued: in which `agents` of this machine, its own first, and whether it can go back
    to what its agent's own compaction left out (`before_compaction`)."""

    agents: tuple[WritableAgent, ...]
    before_compaction: bool


class ContinuesSessions(Protocol):
    """Makes new sessions of agents from conversations."""

    async def choices(self, session_id: str) -> Choices:
        """Returns how a conversation can be continued. Raises `SessionNotFound`."""
        ...

    async def plan(self, wanted: WantedSession) -> PlannedSession:
        """Returns a new session; nothing is written. If it is cancelled, so is the work on it. Raises `InvalidRequest`
        if there can't be one, for example because the agent is not on this machine, and `SessionNotFound` or
        `MessageNotFound`."""
        ...

    async def write(self, planned_id: str) -> PlannedSession:
        """Writes a planned session, and forgets it. Raises `PreviewExpired` if no such session is planned any more, and
        `InvalidRequest` if it can't be written."""
        ...
