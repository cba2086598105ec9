"""`ullage context`: shows the size and the parts of a context."""

import asyncio
from argparse import Namespace

import msgspec

from ullage.api.values import usage_result
from ullage.cli.draw.boxes import context_box
from ullage.cli.options import ContextOptions, read_options
from ullage.cli.output import print_json, print_lines, terminal_glyphs, working
from ullage.cli.source import open_source, result_object
from ullage.service.conversation.conversation import Conversation


def run(args: Namespace) -> int:
    """Prints the figures in a box, or with `--json` the result object with a `breakdown`."""
    asyncio.run(_run(read_options(args, ContextOptions)))
    return 0


async def _run(options: ContextOptions) -> None:
    with working(f"Counting {options.target}"):
        async with open_source(options) as source:
            if options.json:
                print_json(await _object(source.conversation, options.provider))
                return
            usage = usage_result(source.conversation)
            now = source.workspace.ports.clock.now()
    print_lines(context_box(usage, now, terminal_glyphs(ascii_only=options.ascii)))


async def _object(conversation: Conversation, provider: str) -> dict[str, object]:
    markers = [block for message in conversation.transcript.view if (block := message.compaction)]
    result = await result_object(conversation, provider, markers[-1] if markers else None)
    return result | {"breakdown": msgspec.to_builtins(conversation.projection.tracker.reading.breakdown)}
