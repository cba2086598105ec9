"""`ullage lost`: lists what an agent's last compaction left out, or with `--brief` writes it for the agent."""

import asyncio
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from shlex import quote

from msgspec import Struct
from rich.text import Text

from ullage.cli.arguments import ReadingOptions, add_drawing, add_target, number, read_options
from ullage.cli.drawing import Screen, ago, plain, plural, print_bytes, print_json, step_lines, working
from ullage.cli.reports import Report
from ullage.cli.session_source import Source, chosen_words, open_source, unread_words
from ullage.ledger.ledger_entry import Entry, Kind, Life
from ullage.lost import LONGEST
from ullage.lost.left_out import (
    LeftOut,
    characters,
    count_kinds,
    detail_of,
    left_out_words,
    ranked,
    text_of,
    write_brief,
)
from ullage.lost.left_out import left_out as left_out_of
from ullage.model.errors import InputError
from ullage.model.message import number_of
from ullage.store.sqlite.catalogue import Receipts
from ullage.store.store_place import local_path


class LostOptions(ReadingOptions, frozen=True, kw_only=True):
    """The arguments of `ullage lost`."""

    limit: int | None
    brief: bool
    chars: int | None


def add_arguments(parser: ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument(
        "--limit",
        type=number,
        metavar="N",
        help="how many of each kind, contradicted and open ones first, then the newest; 10, with --json all",
    )
    parser.add_argument("--brief", action="store_true", help="write it as a brief for the agent, as hooks give it back")
    parser.add_argument(
        "--chars",
        type=number,
        metavar="N",
        help="with --brief: the most characters; 10,000, as many as a hook may give",
    )
    add_drawing(parser)


_HEADINGS = {
    Kind.SAID: "What you said",
    Kind.TASK: "Tasks that are not done",
    Kind.PROBLEM: "Problems",
    Kind.CHECK: "Checks",
    Kind.COMMIT: "Commits",
    Kind.FILE: "Files",
    Kind.JOB: "Sub-agents and background commands",
    Kind.WORDS: "What the agent told you",
    Kind.EARLIER: "An earlier summary",
}
# Entries of a kind that a terminal shows: with nine kinds about two screens.
_SHOWN = 10
# Characters of an entry in a terminal, by which its user knows it again.
_LINE = 300


class LostRow(Struct, frozen=True, kw_only=True):
    """A thing that an agent's compaction left out. `number` is that of its message. `state` is its newest state, such
    as `open`, `failed` or `created`. `detail` is what is needed to understand it: the question that a reply answers,
    how a check ended; may be empty."""

    kind: Kind
    state: Life
    text: str
    detail: str
    number: int


class LostReport(Report, frozen=True, kw_only=True):
    """What `ullage lost --json` prints: what the last compaction left out, by kind and then in
    the order of the conversation. `messages` is
    the number of messages before it, `kept` of those among them that the agent kept, and `at` its time, null if
    unknown. `counts` has how many were left out of each kind, whether listed or not, and `missing` how many of these no
    hook has given back yet."""

    name: str
    at: int | None
    messages: int
    kept: int
    counts: dict[str, int]
    missing: dict[str, int]
    lost: tuple[LostRow, ...]


def run(args: Namespace) -> int:
    """Prints what was left out, by kind, or with `--json` a `LostReport`. With `--brief`, prints the brief as UTF-8
    text, or a `BriefReport`; nothing if nothing was left out. Returns 0. Raises `InputError` if there is no compaction,
    or too little room for a line."""
    options = read_options(args, LostOptions)
    asyncio.run(_write_brief(options) if options.brief else _run(options, Screen.of(args)))
    return 0


async def _run(options: LostOptions, screen: Screen) -> None:
    with working("Reading"):
        async with open_source(options) as source:
            found = left_out(source, options)
            if options.json:
                compaction = found.compaction
                listed = ((entries, ranked(entries)[: options.limit]) for _, entries in _by_kind(found))
                rows = (entry for entries, chosen in listed for entry in entries if entry in chosen)
                print_json(
                    LostReport(
                        name=source.name,
                        at=compaction.timestamp or None,
                        messages=len(compaction.before),
                        kept=compaction.kept,
                        counts=found.counts,
                        missing=found.missing,
                        lost=tuple(_row(entry, found.cwd) for entry in rows),
                    )
                )
                return
            now = source.workspace.ports.clock.now()
            lines = [*chosen_words(source, screen), *_lines(found, options, now, screen)]
            lines += unread_words(source.unread, screen)
    screen.print(lines)


def _row(entry: Entry, cwd: str) -> LostRow:
    return LostRow(
        kind=entry.kind,
        state=entry.life,
        text=text_of(entry, cwd),
        detail=detail_of(entry),
        number=number_of(entry.index),
    )


def _by_kind(found: LeftOut) -> Iterator[tuple[Kind, list[Entry]]]:
    for kind in Kind:
        if entries := [entry for entry in found.entries if entry.kind is kind]:
            yield kind, entries


def _lines(found: LeftOut, options: LostOptions, now: int, screen: Screen) -> Iterator[Text | str]:
    limit, which = options.limit or _SHOWN, f" {quote(options.target)}" if options.target else ""
    yield from screen.prose(plain(_opening(found, now), screen.glyphs))
    for kind, entries in _by_kind(found):
        yield from ("", Text(f"{_HEADINGS[kind]} ({len(entries):,})", "bold"))
        for entry in ranked(entries)[:limit]:
            yield from screen.prose(f"- #{number_of(entry.index):,} {_entry_line(entry, found.cwd)}")
        if len(entries) > limit:
            yield f"  and {len(entries) - limit:,} more, most of them older"
    most = max(found.counts.values(), default=0)
    steps = [(f"ullage lost{which} --limit {most}", "the whole list")] if most > limit else []
    if found.entries:
        if any(found.missing.values()):
            steps.append((f"ullage lost{which} --brief", "a text for the agent"))
        steps.append((f"ullage continue{which} --before-compaction", "as before it"))
        yield ""
        yield from step_lines(steps, screen.room, screen.glyphs)


def _opening(found: LeftOut, now: int) -> str:
    compaction = found.compaction
    when = f", {ago(compaction.timestamp, now)}" if compaction.timestamp else ""
    begun = f"Of {plural(len(compaction.before), 'message')} before the last compaction{when}"
    more = plural(compaction.kept, "message") if compaction.kept else "no message"
    kept = f"{'a' if compaction.has_summary else 'no'} summary and {more}"
    return f"{begun}, the agent kept {kept}. {_left(found)}"


def _left(found: LeftOut) -> str:
    if found.entries:
        return f"Left out: {left_out_words(found)}."
    return (
        "Everything that you typed is in what it kept, and so are the open tasks and problems, the changed files and "
        "the last commit."
    )


def _entry_line(entry: Entry, cwd: str) -> str:
    state = f"[{entry.life.value}] " if entry.kind in (Kind.TASK, Kind.FILE, Kind.PROBLEM) else ""
    text = " ".join(text_of(entry, cwd).split())
    text = text if len(text) <= _LINE else f"{text[: _LINE - 1].rstrip()}…"
    beside = " ".join(detail_of(entry).split())
    beside = beside if len(beside) <= _LINE else f"{beside[: _LINE - 1].rstrip()}…"
    return f"{state}{text}{f' ({beside})' if beside else ''}"


def left_out(source: Source, options: ReadingOptions) -> LeftOut:
    """Returns what the session's last compaction left out. Raises `InputError` without one, or a readable summary."""
    conversation = source.conversation
    origin = conversation.transcript.origin
    receipts = Receipts(local_path(options.store))(origin.origin_id) if origin else ()
    records, cwd = source.workspace.ports.store.read(conversation.id), conversation.transcript.cwd
    found = left_out_of(records, cwd, given=[(one.at, one.text) for one in receipts])
    if found is None:
        raise InputError(
            "this conversation was not compacted, so nothing was left out; `ullage context` shows how full it is"
        )
    if not found.compaction.is_readable:
        raise InputError(
            f"{source.name}: the provider keeps the summary of the last compaction encrypted, so what it left out "
            "is not known; `ullage messages` lists what was said before it"
        )
    return found


class BriefReport(Report, frozen=True, kw_only=True):
    """What `ullage lost --brief --json` prints. `text` is the brief, empty if nothing was left out, and `characters`
    its length in UTF-16 units. `given` has how many things of each kind are in it, `left` how many had no room."""

    name: str
    text: str
    characters: int
    given: dict[str, int]
    left: dict[str, int]


async def _write_brief(options: LostOptions) -> None:
    with working("Reading"):
        async with open_source(options) as source:
            entries = left_out(source, options).entries
            name, cwd = source.name, source.conversation.transcript.cwd
    brief = write_brief(entries, options.chars or LONGEST, cwd=cwd)
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
