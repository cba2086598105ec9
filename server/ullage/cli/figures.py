"""The figures of an open conversation as the commands show them."""

from heapq import nlargest
from typing import Any

from msgspec.structs import replace

from ullage.api.values import UsageResult, usage_result
from ullage.cli.draw.boxes import Big
from ullage.cli.draw.openings import Openings
from ullage.cli.reports import ContextReport, EditRow, UnreadLine
from ullage.cli.session_source import Source
from ullage.model.updates import Meta
from ullage.model.words import percent
from ullage.service.archive.export import provider_request
from ullage.service.archive.undo import history
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.pages import Entry, transcript_page, view_page

# Messages that a box lists as the biggest.
_BIGGEST = 8


async def context_report(source: Source, provider: str | None) -> ContextReport:
    """Returns the object that `ullage context --json` prints. If `provider` is given, it contains the messages in the
    form of that provider's request."""
    return ContextReport.of(usage_result(source.conversation), **await facts_beside(source, provider))


async def facts_beside(source: Source, provider: str | None) -> dict[str, Any]:
    """Returns the fields of a `ContextReport` that are not figures, by name: the name, title, folder and unread lines,
    and with `provider` the messages and system prompt."""
    transcript = source.conversation.transcript
    facts: dict[str, Any] = {
        "name": source.name,
        "title": transcript.title,
        "cwd": transcript.cwd,
        "unread_lines": tuple(UnreadLine(line=line.line, reason=line.reason) for line in source.unread),
    }
    if provider is not None:
        request = await provider_request(source.conversation, provider)
        facts |= {name: request[name] for name in ("system", "messages") if request.get(name) is not None}
    return facts


def edit_rows(conversation: Conversation) -> tuple[EditRow, ...]:
    """Returns one row for every edit of the conversation, undone ones included, oldest first."""
    return tuple(
        EditRow(
            id=entry.id,
            kind=entry.kind,
            trigger=entry.trigger.value,
            at=entry.timestamp,
            words=entry.words,
            messages=entry.messages,
            tokens_saved=entry.tokens_saved,
            before=entry.context_size_before,
            after=entry.context_size_after,
            in_force=not entry.reverted,
            undone_at=(entry.reverted_at or 0) if entry.reverted else None,
            part_of=entry.part_of,
        )
        for entry in history(conversation)
    )


def described(conversation: Conversation) -> list[tuple[Entry, str]]:
    """Returns all messages of the transcript and the markers of compactions, in order, each with one line about it."""
    openings = Openings(conversation.transcript.cwd)
    return [(entry, openings.describe(entry.message)) for entry in transcript_page(conversation, 0, None).entries]


async def biggest(conversation: Conversation) -> list[Big]:
    """Returns the 8 messages of the context with the most tokens, the biggest first."""
    # A result is named after its call, which may be archived. So the transcript's messages are described, not the
    # view's; the view has the tokens.
    page = await view_page(conversation, 0, None)
    chosen = nlargest(_BIGGEST, page.entries, key=lambda entry: entry.tokens)
    wanted = {entry.message.id for entry in chosen}
    words = {entry.message.id: line for entry, line in described(conversation) if entry.message.id in wanted}
    own = Openings()
    return [
        Big(
            index=None if entry.inserted else entry.index,
            opening=words.get(entry.message.id) or own.describe(entry.message),
            tokens=entry.tokens,
        )
        for entry in chosen
        if entry.tokens
    ]


def with_hidden(usage: UsageResult, hidden: int) -> UsageResult:
    """Returns the figures of a context with `hidden` more tokens in it, which the agent adds to every request."""
    if not hidden:
        return usage
    meta = usage.meta.ullage
    used = usage.used + hidden
    parts = replace(meta.breakdown, overhead=meta.breakdown.overhead + hidden)
    figures = replace(meta, breakdown=parts, percent=percent(used, usage.size) if usage.size else None)
    if figures.left is not None:
        figures = replace(figures, left=max(0, figures.left - hidden))
    return replace(usage, used=used, meta=Meta(ullage=figures))
