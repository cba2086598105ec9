"""Values that several methods take or return, and a session's figures as text."""

import asyncio
from collections.abc import Iterator

from msgspec import UNSET, Struct, UnsetType, field

from ullage.model import words
from ullage.model.errors import NoModelConfigured, SdkMissing
from ullage.model.updates import Cost, Meta, UsageMeta
from ullage.model.usage import Breakdown
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.environment import Environment
from ullage.service.conversation.usage import cost_of, shown_figures


class UsageResult(Struct, frozen=True, kw_only=True):
    """How full a context is. `used`: tokens in the context. `size`: the window in tokens, null while it is unknown.
    `cost`: what the session has cost, missing if the price of any request is unknown. `_meta.ullage`: all other
    figures."""

    used: int
    size: int | None
    cost: Cost | UnsetType = UNSET
    meta: Meta[UsageMeta] = field(name="_meta")


class Prompting(Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether the session's prompts would be answered. `provider` is the name of the provider that would answer,
    null if there is none. `remedy` then says what the user can do, and `lacks_package` whether a Python package is all
    that is missing."""

    provider: str | None
    remedy: str = ""
    lacks_package: bool = False


class SessionResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A session with its title and folder, how full its context is, and whether its prompts would be answered."""

    session_id: str
    title: str
    cwd: str
    usage: UsageResult
    prompting: Prompting


def usage_result(conversation: Conversation) -> UsageResult:
    """Returns the present figures of the session's context."""
    budget = conversation.budget
    used, figures = shown_figures(conversation)
    return UsageResult(
        used=used,
        size=budget.window if budget else None,
        cost=cost_of(conversation),
        meta=Meta(ullage=figures),
    )


async def prompting_of(workspace: Environment, model: str) -> Prompting:
    """Returns whether prompts of a session with this model, or with the settings' model if that is empty, would be
    answered. Takes long, so it comes before a session is made: a request that is cancelled meanwhile makes none."""
    return await asyncio.to_thread(_prompting, workspace, model or workspace.settings.model)


def session_result(conversation: Conversation, model: str, prompting: Prompting) -> SessionResult:
    """Returns the session with its present figures. `prompting` belongs to `model`; it is found out again, which
    blocks, in the rare case that the session has another model."""
    usage, transcript, workspace = usage_result(conversation), conversation.transcript, conversation.workspace
    if conversation.model != (model or workspace.settings.model):
        prompting = _prompting(workspace, conversation.model)
    return SessionResult(
        session_id=conversation.id, title=transcript.title, cwd=transcript.cwd, usage=usage, prompting=prompting
    )


def _prompting(workspace: Environment, model: str) -> Prompting:
    try:
        return Prompting(provider=workspace.ports.providers.name(model, workspace.settings))
    except (NoModelConfigured, SdkMissing) as error:
        return Prompting(provider=None, remedy=str(error), lacks_package=isinstance(error, SdkMissing))


def context_text(usage: UsageResult) -> str:
    """Returns a session's usage as Markdown: a headline, the parts in tokens, the numbers of messages and compactions,
    and the thresholds if they are known."""
    meta = usage.meta.ullage
    parts = [*_parts(meta.breakdown, meta.hidden.name)]
    lines = [
        f"**{words.context_line(usage.used, usage.size, meta.source)}**",
        "",
        *([*parts, ""] if parts else ()),
        f"{meta.messages_active:,} messages in the context, {meta.messages_archived:,} archived, "
        f"{meta.compactions:,} compactions.",
    ]
    if meta.warn_at is not None and meta.compact_at is not None:
        lines.append(f"Warns at {words.short(meta.warn_at)}, compacts at {words.short(meta.compact_at)}.")
    return "\n".join(lines)


def _parts(breakdown: Breakdown, hidden: str) -> Iterator[str]:
    figures = {
        "System prompt": breakdown.system_prompt,
        "Tools": breakdown.tools,
        "Memory": breakdown.memory,
        "Messages": breakdown.messages,
        "Tool results": breakdown.tool_results,
        "Summary": breakdown.summary,
        f"Overhead ({hidden})": breakdown.overhead,
    }
    yield from (f"- {name}: {tokens:,}" for name, tokens in figures.items() if tokens)
