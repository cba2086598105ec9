"""`ullage messages`: lists the messages of a conversation with their numbers, roles, tokens and first lines."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from msgspec import Struct
from rich.text import Text

from ullage.cli.arguments import ReadingOptions, add_drawing, add_target, number, read_options
from ullage.cli.commands.context import chosen_words
from ullage.cli.draw.parts import Column, table
from ullage.cli.draw.text import plain
from ullage.cli.figures import described
from ullage.cli.output import Screen, print_json, working
from ullage.cli.reports import Report
from ullage.cli.session_source import open_source, unread_words
from ullage.model.message import number_of
from ullage.service.conversation.conversation import Conversation, Entry, view_page


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
    """Returns the table row of a message in the transcript. `shown` is the same message as it is in the context now, or
    None if it is archived."""
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
            "archived" if row.tokens is None else f"{row.tokens:,}",
            "pinned" if row.pinned else "",
            (plain(row.opening, screen.glyphs), "dim" if row.archived else ""),
        )
        for row in rows
    ]
    return table(_COLUMNS, cells, screen.room, screen.glyphs)
