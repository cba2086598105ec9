"""`ullage brief`: writes what an agent's last compaction left out as a brief for it."""

import asyncio
from argparse import Namespace

from ullage.cli.commands.lost import left_out
from ullage.cli.output import print_bytes, print_json, working
from ullage.cli.reported_figures import Report
from ullage.cli.session_source import open_source
from ullage.cli.typed_arguments import BriefOptions, read_options
from ullage.lost.brief import characters, write_brief
from ullage.lost.left_out import count_kinds
from ullage.model.errors import InputError


class BriefReport(Report, frozen=True, kw_only=True):
    """What `ullage brief --json` prints. `text` is the brief, empty if nothing was left out, and `characters` its
    length in UTF-16 units. `given` has how many things of each kind are in it, `left` how many had no room."""

    name: str
    text: str
    characters: int
    given: dict[str, int]
    left: dict[str, int]


def run(args: Namespace) -> int:
    """Prints the brief as UTF-8 text, or with `--json` a `BriefReport`; nothing if nothing was left out. Returns 0.
    Raises `InputError` if there is no compaction, or too little room for a line."""
    asyncio.run(_run(read_options(args, BriefOptions)))
    return 0


async def _run(options: BriefOptions) -> None:
    with working("Reading"):
        async with open_source(options) as source:
            entries = left_out(source).entries
            name, cwd = source.name, source.conversation.transcript.cwd
    brief = write_brief(entries, options.chars, cwd=cwd)
    if entries and not brief.given:
        raise InputError(f"--chars {options.chars}: a brief has no room for a line; 1000 is enough")
    if options.json:
        print_json(
            BriefReport(
                name=name,
                text=brief.text,
                characters=characters(brief.text),
                given=count_kinds(brief.given),
                left=count_kinds([entry for entry in entries if entry not in brief.given]),
            )
        )
    elif brief.text:
        print_bytes(f"{brief.text}\n".encode(errors="replace"))
