"""The figures of an open conversation as the commands show them."""

from collections.abc import Iterable, Iterator
from heapq import nlargest
from typing import Any, cast

from msgspec.structs import replace

from ullage.api.wire import UsageResult, usage_result
from ullage.cli.draw.boxes import Big
from ullage.cli.reports import ContextReport, EditRow, UnreadLine, filled
from ullage.cli.session_source import Source
from ullage.model.blocks import (
    Block,
    CompactionBlock,
    ImageBlock,
    ResourceBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.message import Message
from ullage.model.updates import Meta
from ullage.model.words import percent
from ullage.service.archive.export import provider_request
from ullage.service.archive.undo import history
from ullage.service.conversation.conversation import Conversation, Entry, transcript_page, view_page

# Messages that a box lists as the biggest.
_BIGGEST = 8
# Characters of a line; no terminal shows more.
_LONGEST = 300
# The last components of a path, by which it differs from others.
_FOLDERS = 3
_THINKING = "(thinking)"


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
        filled(
            EditRow,
            (entry,),
            trigger=entry.trigger.value,
            at=entry.timestamp,
            before=entry.context_size_before,
            after=entry.context_size_after,
            in_force=not entry.reverted,
            undone_at=(entry.reverted_at or 0) if entry.reverted else None,
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


class Openings:
    """Describes messages in one line each. The messages must be passed in order, because a tool result is named after
    its call.

    Paths in the folder `cwd` are shown without that folder.
    """

    def __init__(self, cwd: str = "") -> None:
        self._calls: dict[str, str] = {}
        self._cwd = cwd.rstrip("/") + "/" if cwd.strip("/") else ""

    def describe(self, message: Message) -> str:
        """Returns one line about the message, at most 300 characters: the first line of its text, its tool calls, or
        which call it is the result of. Of several results each is named, without its text."""
        results = [block for block in message.content if isinstance(block, ToolResultBlock)]
        if len(results) > 1:
            parts = [self._named(block) for block in results]
        else:
            parts = [part for block in message.content if (part := self._describe(block))]
        return " · ".join(_merged(parts))[:_LONGEST]

    def _named(self, result: ToolResultBlock) -> str:
        failed = " (failed)" if result.is_error else ""
        return self._calls.get(result.tool_use_id, "tool") + failed

    def _describe(self, block: Block) -> str:
        match block:
            case TextBlock(text=text):
                words = first_line(text)
            case ToolUseBlock(id=call_id, name=name, input=arguments):
                self._calls[call_id] = f"{name} {self._short(_main_argument(arguments))}".strip()
                words = f"→ {self._calls[call_id]}"
            case ToolResultBlock(tool_use_id=call_id, content=content, is_error=is_error):
                failed = "failed: " if is_error else ""
                text = next((first_line(part.text) for part in content if isinstance(part, TextBlock)), "")
                words = f"{self._calls.get(call_id, 'tool')}: {failed}{text}"
            case ThinkingBlock():
                words = _THINKING
            case ImageBlock():
                words = "(picture)"
            case ResourceBlock():
                words = block.title
            case CompactionBlock(compaction_number=number, messages_archived=messages):
                words = f"Compaction {number}: a summary of {messages:,} messages"
        return words

    def _short(self, argument: str) -> str:
        """Returns a path without its beginning, because a narrow terminal would show only that. Returns an argument
        that is not a long path unchanged."""
        argument = argument.removeprefix(self._cwd)
        folders = argument.split("/")
        if len(folders) > _FOLDERS and " " not in argument:
            return "…/" + "/".join(folders[-_FOLDERS:])
        return argument


def first_line(text: str) -> str:
    """Returns the first line of a text that is not blank, without spaces around it, or "" if there is none."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def _main_argument(arguments: dict[str, object]) -> str:
    """Returns the first line of a tool call's first text argument, which describes best what the call is about. A list
    of words, such as a command, counts as text."""
    return first_line(next((text for value in arguments.values() if (text := _as_text(value))), ""))


def _as_text(value: object) -> str:
    if isinstance(value, list):
        words = [word for word in cast("list[object]", value) if isinstance(word, str)]
        return words[-1] if words[1:2] in (["-c"], ["-lc"]) else " ".join(words)
    return value if isinstance(value, str) else ""


def _merged(parts: Iterable[str]) -> Iterator[str]:
    """Yields the descriptions of a message's blocks, without "(thinking)" if there is another description."""
    known = list(parts)
    spoken = [part for part in known if part != _THINKING]
    yield from spoken or known[:1]
