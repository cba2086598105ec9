"""`ullage context`: shows the size and the parts of a context."""

import asyncio
from argparse import Namespace
from collections.abc import Iterator

from rich.text import Text

from ullage.api.values import usage_result
from ullage.cli.draw.boxes import context_box
from ullage.cli.draw.text import clean
from ullage.cli.figures import biggest, context_report
from ullage.cli.output import Screen, print_json, working
from ullage.cli.session_source import Source, open_source
from ullage.cli.typed_arguments import ContextOptions, read_options
from ullage.cli.unread import unread_words


def run(args: Namespace) -> int:
    """Prints the context's size and what it consists of in a box, or with `--json` a `ContextReport`. Returns 0."""
    asyncio.run(_run(read_options(args, ContextOptions), Screen.of(args)))
    return 0


async def _run(options: ContextOptions, screen: Screen) -> None:
    with working(f"Counting {options.target or 'the newest session of this folder'}"):
        async with open_source(options) as source:
            if options.json:
                print_json(await context_report(source, options.provider if options.messages else None))
                return
            lines = [*chosen_words(source, screen), *await _box(source, screen), *unread_words(source.unread, screen)]
    screen.print(lines)


async def _box(source: Source, screen: Screen) -> list[Text]:
    now = source.workspace.ports.clock.now()
    return context_box(
        usage_result(source.conversation), now, screen.glyphs, screen.width, await biggest(source.conversation)
    )


def chosen_words(source: Source, screen: Screen) -> Iterator[Text]:
    """Yields one line with the id and title of the session that was chosen, or nothing if the user named one."""
    if source.chosen:
        title = clean(source.conversation.transcript.title, screen.glyphs)
        yield Text.assemble((source.name, "bold"), f"  {title}")
