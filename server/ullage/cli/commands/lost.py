"""`ullage lost`: lists what an agent's last compaction left out."""

import asyncio
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from rich.text import Text

from ullage.cli.commands.context import chosen_words
from ullage.cli.draw.text import ago, plain, plural
from ullage.cli.lost_reports import LostReport, LostRow
from ullage.cli.output import Screen, print_json, working
from ullage.cli.session_source import open_source
from ullage.cli.source_losses import left_out
from ullage.cli.typed_arguments import LostOptions, read_options
from ullage.cli.unread import unread_words
from ullage.lost.left_out import LeftOut
from ullage.lost.loss import Loss, noun_of
from ullage.model.message import number_of
from ullage.survive.fact import Kind

_HEADINGS = {
    Kind.CONSTRAINT: "Constraints of the user",
    Kind.ERROR: "Errors, and what became of them",
    Kind.DECISION: "Decisions",
    Kind.PATH: "Files",
    Kind.COMMAND: "Commands",
    Kind.NUMBER: "Numbers",
    Kind.NAME: "Names",
}
# Entries of a kind that a terminal shows: with seven kinds about two screens.
_SHOWN = 10


def run(args: Namespace) -> int:
    """Prints what was left out, by kind, or with `--json` a `LostReport`. Returns 0. Raises `InputError` if there is no
    compaction."""
    asyncio.run(_run(read_options(args, LostOptions), Screen.of(args)))
    return 0


async def _run(options: LostOptions, screen: Screen) -> None:
    with working("Reading"):
        async with open_source(options) as source:
            found = left_out(source)
            if options.json:
                print_json(_report(source.name, found, options.limit))
                return
            now = source.workspace.ports.clock.now()
            lines = [*chosen_words(source, screen), *_lines(found, options.limit or _SHOWN, now, screen)]
            lines += unread_words(source.unread, screen)
    screen.print(lines)


def _report(name: str, found: LeftOut, limit: int | None) -> LostReport:
    compaction = found.compaction
    rows = (loss for _, losses in groupby(found.losses, _kind) for loss in [*losses][:limit])
    return LostReport(
        name=name,
        at=compaction.timestamp or None,
        messages=len(compaction.before),
        kept=compaction.kept,
        counts=found.counts,
        lost=tuple(map(_row, rows)),
    )


def _row(loss: Loss) -> LostRow:
    return LostRow(
        kind=loss.kind,
        text=loss.text,
        detail=loss.detail,
        number=number_of(loss.index),
        weight=round(loss.weight, 3),
    )


def _kind(loss: Loss) -> Kind:
    return loss.kind


def _lines(found: LeftOut, limit: int, now: int, screen: Screen) -> Iterator[Text | str]:
    yield from screen.prose(plain(_opening(found, now), screen.glyphs))
    for kind, losses in groupby(found.losses, _kind):
        each = [*losses]
        yield from ("", Text(f"{_HEADINGS[kind]} ({len(each):,})", "bold"))
        for loss in each[:limit]:
            yield from screen.prose(f"- #{number_of(loss.index):,} {_told(loss)}")
        if len(each) > limit:
            yield f"  and {len(each) - limit:,} more"


def _opening(found: LeftOut, now: int) -> str:
    compaction = found.compaction
    when = f", {ago(compaction.timestamp, now)}" if compaction.timestamp else ""
    kept = f"Of {plural(len(compaction.before), 'message')} before the last compaction{when}"
    counts = Counter(map(_kind, found.losses))
    told = ", ".join(noun_of(kind, count) for kind, count in counts.items())
    return f"{kept}, the agent kept a summary and {plural(compaction.kept, 'message')}. {_left(told)}"


def _left(told: str) -> str:
    return f"Left out: {told}." if told else "Nothing was left out."


def _told(loss: Loss) -> str:
    return f"{loss.text} ({loss.detail})" if loss.detail else loss.text
