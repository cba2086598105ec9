"""Values that several methods take or give."""

from msgspec import UNSET, Struct, UnsetType, field

from ullage.model.blocks import Block, TextBlock
from ullage.model.message import Message, Role
from ullage.model.updates import Cost, Meta, UsageMeta
from ullage.service.ports import Ports
from ullage.service.session import Session
from ullage.service.usage import cost_of, usage_meta
from ullage.service.workspace import Workspace


class MessageInput(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message as a client hands it in: `content` may be plain text; id and time are made if left out."""

    role: Role
    content: str | tuple[Block, ...]
    id: str | None = None
    timestamp: int | None = None

    def to_message(self, ports: Ports) -> Message:
        """The message, complete."""
        content = (TextBlock(text=self.content),) if isinstance(self.content, str) else self.content
        return Message(
            id=self.id or ports.ids.new("m"),
            role=self.role,
            content=content,
            timestamp=ports.clock.now() if self.timestamp is None else self.timestamp,
        )


class UsageResult(Struct, frozen=True, kw_only=True):
    """How full a context is: tokens used, the model's window (null while unknown), what the session has cost, where
    every request's price is known, and all that is known beside."""

    used: int
    size: int | None
    cost: Cost | UnsetType = UNSET
    meta: Meta[UsageMeta] = field(name="_meta")


class SessionResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A session and how full it is."""

    session_id: str
    title: str
    cwd: str
    usage: UsageResult


def usage_result(workspace: Workspace, session: Session) -> UsageResult:
    """The session's present figures."""
    budget = workspace.budget(session)
    return UsageResult(
        used=session.used,
        size=budget.window if budget else None,
        cost=cost_of(session),
        meta=Meta(ullage=usage_meta(workspace, session)),
    )


def session_result(workspace: Workspace, session: Session) -> SessionResult:
    """The session with its present figures."""
    return SessionResult(
        session_id=session.id,
        title=session.transcript.title,
        cwd=session.transcript.cwd,
        usage=usage_result(workspace, session),
    )
