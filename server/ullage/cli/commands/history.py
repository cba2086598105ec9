"""`ullage history`: every edit of a context, what it saved, and whether it still counts."""

import asyncio
from argparse import Namespace

from ullage.cli.draw.history_table import history_table
from ullage.cli.options import HistoryOptions, read_options
from ullage.cli.source import open_source
from ullage.cli.terminal import print_json, print_lines, terminal_glyphs
from ullage.service.archive.undo import history


def run(args: Namespace) -> int:
    """Prints a table, or with `--json` the edits as `context/history` gives them."""
    asyncio.run(_run(read_options(args, HistoryOptions)))
    return 0


async def _run(options: HistoryOptions) -> None:
    async with open_source(options) as source:
        entries = history(source.conversation)
        now = source.workspace.ports.clock.now()
    if options.json:
        print_json({"edits": entries})
    elif entries:
        print_lines(history_table(entries, now, terminal_glyphs(ascii_only=options.ascii)))
    else:
        print_lines(["No edits: the context is the whole conversation."])
