"""How a conversation is continued as a new session of an agent: the values, as they are sent, and the port."""

from typing import Annotated, Protocol

from msgspec import Meta, Struct


class AgentChoice(Struct, frozen=True, kw_only=True):
    """An agent in which a conversation can be continued. `word` is its name in commands. `own` says whether it is the
    conversation's own agent."""

    agent: str
    word: str
    own: bool


class ContinuingChoicesResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """How a conversation can be continued: in which agents of this machine, its own first, and whether it can go
    back to the context before its agent's own last compaction."""

    agents: tuple[AgentChoice, ...]
    before_compaction: bool


class ContinuingPreviewParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Previews a new session that the agent named `agent` in commands resumes; without it the conversation's own agent.

    Its context is the conversation's as it was before the agent's own last compaction (`beforeCompaction`), as it was
    after the message `messageId`, or the present one. `compacted` says whether Ullage compacts it; without it that is
    done for the conversation's own agent, if neither of the first two is asked for. `budget` is the most tokens of a
    compacted context, without what the agent adds, and `focus` says what its summary must keep.
    """

    session_id: str
    agent: str | None = None
    before_compaction: bool = False
    message_id: str | None = None
    compacted: bool | None = None
    budget: Annotated[int, Meta(ge=1)] | None = None
    focus: str = ""


class ContinuingResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A new session of an agent. `written` is false for a preview, which `previewId` names until it is written or the
    server ends.

    `agentSessionId` is the session's id in the agent, `path` its file. `command` are the words that resume it in the
    folder `cwd`; `shell` is the same as a line for a shell, for any folder. `messages` are those of its context, and
    `leftOut` those of the conversation that are not among them. `used` is the size of its context in tokens, with the
    `hidden` ones that the agent adds to every request; `before` is the size before Ullage compacted it, null if it did
    not. `size` is the window and `compactsAt` where the agent compacts by itself, null if unknown. `fits` is
    false if the agent may compact the session before it asks the first prompt. `notes` are sentences for the user.
    """

    written: bool
    preview_id: str
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


class ContinuesSessions(Protocol):
    """Makes new sessions of agents from conversations."""

    async def choices(self, session_id: str) -> ContinuingChoicesResult:
        """Returns how a conversation can be continued. Raises `SessionNotFound`."""
        ...

    async def plan(self, wanted: ContinuingPreviewParams) -> ContinuingResult:
        """Returns a new session; nothing is written. If it is cancelled, so is the work on it. Raises `InvalidRequest`
        if there can't be one, for example because the agent is not on this machine, and `SessionNotFound` or
        `MessageNotFound`."""
        ...

    async def write(self, preview_id: str) -> ContinuingResult:
        """Writes a planned session, and forgets it. Raises `PreviewExpired` if no such session is planned any more, and
        `InvalidRequest` if it can't be written."""
        ...
