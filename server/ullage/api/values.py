"""Values that several methods take or give."""

import asyncio

from msgspec import UNSET, Struct, UnsetType, field

from ullage.model.blocks import Block, TextBlock
from ullage.model.errors import NoModelConfigured, SdkMissing
from ullage.model.message import Message, Role
from ullage.model.updates import Cost, Meta, UsageMeta
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.environment import Environment
from ullage.service.conversation.usage import cost_of, usage_meta
from ullage.service.ports.ports import Ports


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


class Prompting(Struct, frozen=True, kw_only=True):
    """Whether a session's prompts would be answered: the name of the provider that would, else what to do about it, in
    words for the person."""

    provider: str | None
    remedy: str = ""


class SessionResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A session, how full it is, and whether it can be prompted."""

    session_id: str
    title: str
    cwd: str
    usage: UsageResult
    prompting: Prompting


def usage_result(conversation: Conversation) -> UsageResult:
    """The session's present figures."""
    budget = conversation.budget
    return UsageResult(
        used=conversation.used,
        size=budget.window if budget else None,
        cost=cost_of(conversation),
        meta=Meta(ullage=usage_meta(conversation)),
    )


async def session_result(conversation: Conversation) -> SessionResult:
    """The session with its present figures."""
    usage, transcript = usage_result(conversation), conversation.transcript
    return SessionResult(
        session_id=conversation.id,
        title=transcript.title,
        cwd=transcript.cwd,
        usage=usage,
        prompting=await _prompting(conversation.workspace, usage.meta.ullage.model),
    )


async def _prompting(workspace: Environment, model: str) -> Prompting:
    try:
        return Prompting(provider=await asyncio.to_thread(workspace.ports.providers.name, model, workspace.settings))
    except (NoModelConfigured, SdkMissing) as error:
        return Prompting(provider=None, remedy=str(error))
