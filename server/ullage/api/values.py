"""Values that several methods take or return."""

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
    """A message from a client. `content` may be plain text. If `id` or `timestamp` (Unix milliseconds) is left out,
    the server sets it."""

    role: Role
    content: str | tuple[Block, ...]
    id: str | None = None
    timestamp: int | None = None

    def to_message(self, ports: Ports) -> Message:
        """Returns the message with id and timestamp set."""
        content = (TextBlock(text=self.content),) if isinstance(self.content, str) else self.content
        return Message(
            id=self.id or ports.ids.new("m"),
            role=self.role,
            content=content,
            timestamp=ports.clock.now() if self.timestamp is None else self.timestamp,
        )


class UsageResult(Struct, frozen=True, kw_only=True):
    """How full a context is. `used`: tokens in the context. `size`: the model's window in tokens, null while
    unknown. `cost`: what the session has cost, missing if the price of any request is unknown. `_meta.ullage`: all
    other figures."""

    used: int
    size: int | None
    cost: Cost | UnsetType = UNSET
    meta: Meta[UsageMeta] = field(name="_meta")


class Prompting(Struct, frozen=True, kw_only=True):
    """Whether the session's prompts would be answered. `provider` is the name of the provider that would answer,
    null if there is none. `remedy` then says what the user can do."""

    provider: str | None
    remedy: str = ""


class SessionResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A session, how full its context is, and whether it can be prompted."""

    session_id: str
    title: str
    cwd: str
    usage: UsageResult
    prompting: Prompting


def usage_result(conversation: Conversation) -> UsageResult:
    """Returns the session's present figures."""
    budget = conversation.budget
    return UsageResult(
        used=conversation.used,
        size=budget.window if budget else None,
        cost=cost_of(conversation),
        meta=Meta(ullage=usage_meta(conversation)),
    )


async def session_result(conversation: Conversation) -> SessionResult:
    """Returns the session with its present figures."""
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
