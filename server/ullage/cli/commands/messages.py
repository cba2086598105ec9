"""`ullage messages`: lists the messages of a conversation with their numbers, roles, tokens and first lines."""

import asyncio
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from typing import cast

from msgspec import Struct
from rich.text import Text

from ullage.cli.arguments import ReadingOptions, add_drawing, add_target, number, read_options
from ullage.cli.drawing import Column, Screen, plain, print_json, table, working
from ullage.cli.reports import Report
from ullage.cli.session_source import chosen_words, open_source, unread_words
from ullage.model.message import (
    Block,
    CompactionBlock,
    ImageBlock,
    Message,
    ResourceBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    number_of,
)
from ullage.service.conversation.conversation import Conversation, Entry, transcript_page, view_page


class MessagesOptions(ReadingOptions, frozen=True, kw_only=True):
    """The arguments of `ullage messages`."""

    context: bool
    biggest: bool
    limit: int | None


class MessageRow(Struct, frozen=True, kw_only=True):
    """A message of a conversation. `number` is the number by which all commands name it. `role` is `tool` for results
    of tools, which models are sent with the user's role. `tokens` is null for an archived message. `inserted` is true
    for a compaction's marker, which has the number of the message after it. `by_agent` is true for a message with the
    user's role that the agent's program wrote."""

    number: int
    id: str
    role: str
    tokens: int | None
    archived: bool
    pinned: bool
    inserted: bool
    by_agent: bool
    at: int | None
    opening: str


class MessagesReport(Report, frozen=True, kw_only=True):
    """What `ullage messages --json` prints. `total` is the number of all messages of the conversation, whether listed
    or not."""

    name: str
    total: int
    messages: tuple[MessageRow, ...]


def add_arguments(parser: ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument("--context", action="store_true", help="only messages in the context, not archived ones")
    parser.add_argument("--biggest", action="store_true", help="the biggest first")
    parser.add_argument("--limit", type=number, metavar="N", help="how many, the last (or the biggest)")
    add_drawing(parser)


_COLUMNS = (
    Column(name="#", right=True, style="bold"),
    Column(name="Role", rank=1),
    Column(name="Tokens", right=True),
    Column(name="", style="dim", rank=2),
    Column(name="First line", flexible=True),
)


def run(args: Namespace) -> int:
    """Prints a table of the messages, or with `--json` a `MessagesReport`. Returns 0."""
    asyncio.run(_run(read_options(args, MessagesOptions), Screen.of(args)))
    return 0


async def _run(options: MessagesOptions, screen: Screen) -> None:
    with working("Reading"):
        async with open_source(options) as source:
            rows = _chosen(await message_rows(source.conversation), options)
            if options.json:
                total = source.conversation.transcript.messages
                print_json(MessagesReport(name=source.name, total=total, messages=tuple(rows)))
                return
            lines = [*chosen_words(source, screen), *message_table(rows, screen), *unread_words(source.unread, screen)]
    screen.print(lines)


async def message_rows(conversation: Conversation) -> list[MessageRow]:
    """Returns a row for each message of the transcript and each marker, in order."""
    view = await view_page(conversation, 0, None)
    shown = {entry.message.id: entry for entry in view.entries}
    return [_row(entry, shown.get(entry.message.id), opening) for entry, opening in described(conversation)]


def _row(entry: Entry, shown: Entry | None, opening: str) -> MessageRow:
    """Returns the table row of a message. `shown` is the same message in the context now, None if archived."""
    return MessageRow(
        number=number_of(entry.index),
        id=entry.message.id,
        role=entry.message.speaker,
        tokens=shown.tokens if shown else None,
        archived=shown is None,
        pinned=entry.pinned,
        inserted=entry.inserted,
        by_agent=entry.by_agent,
        at=entry.message.timestamp or None,
        opening=opening,
    )


def _chosen(rows: Sequence[MessageRow], options: MessagesOptions) -> list[MessageRow]:
    chosen = [row for row in rows if not (options.context and row.archived)]
    if options.biggest:
        chosen.sort(key=lambda row: -(row.tokens or 0))
        return chosen[: options.limit]
    return chosen[-options.limit :] if options.limit else chosen


def message_table(rows: Sequence[MessageRow], screen: Screen) -> list[Text]:
    """Returns the lines of a table of messages."""
    cells = [
        (
            "" if row.inserted else f"{row.number:,}",
            "summary" if row.inserted else "agent" if row.by_agent else row.role,
            "" if row.tokens is None else f"{row.tokens:,}",
            ", ".join(word for word, is_so in (("archived", row.archived), ("pinned", row.pinned)) if is_so),
            (plain(row.opening, screen.glyphs), "dim" if row.archived else ""),
        )
        for row in rows
    ]
    return table(_COLUMNS, cells, screen.room, screen.glyphs)


# Characters of a line; no terminal shows more.
_LONGEST = 300
# The last components of a path, by which it differs from others.
_FOLDERS = 3
_THINKING = "(thinking)"


def described(conversation: Conversation) -> list[tuple[Entry, str]]:
    """Returns all messages of the transcript and the markers of compactions, in order, each with one line about it."""
    openings = Openings(conversation.transcript.cwd)
    return [(entry, openings.describe(entry.message)) for entry in transcript_page(conversation, 0, None).entries]


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
                words = first_words(text)
            case ToolUseBlock(id=call_id, name=name, input=arguments):
                self._calls[call_id] = f"{name} {self._short(main_argument(arguments))}".strip()
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
        """Returns a path without its beginning, which would fill a narrow terminal; any other argument unchanged."""
        argument = argument.removeprefix(self._cwd)
        folders = argument.split("/")
        if len(folders) > _FOLDERS and " " not in argument:
            return "…/" + "/".join(folders[-_FOLDERS:])
        return argument


# A line that is nothing but a tag, by which programs mark what they add.
_TAG = re.compile(r"<([A-Za-z][\w-]*)>")


def first_words(text: str) -> str:
    """Returns a message's first line; of a tag, such as `<system-reminder>`, its name and the line in it."""
    line = first_line(text)
    tag = _TAG.fullmatch(line)
    inside = first_words(text.partition(line)[2]) if tag else ""
    return f"{tag[1]}: {inside}" if tag and inside else line


def first_line(text: str) -> str:
    """Returns the first line of a text that is not blank, without spaces around it, or "" if there is none."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


def main_argument(arguments: dict[str, object]) -> str:
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
