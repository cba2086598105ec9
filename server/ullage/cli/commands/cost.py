"""`ullage cost`: what the conversations of this folder cost by list prices: by day, and by what it was paid for.

Each request counts once, whatever file or copy reports it. A file is read whole, once; the catalogue keeps what it cost
until the file changes.
"""

from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from operator import itemgetter
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace
from rich.text import Text

from ullage.agents.discovery import UnreadFile
from ullage.agents.transcripts import read_document
from ullage.app.catalogue import KnownConversations, whole_document
from ullage.app.compose import open_workspace
from ullage.cli.arguments import StoreOptions, add_drawing, number, read_options
from ullage.cli.drawing import Cell, Column, Screen, clean, fit_end, fit_most, plural, print_json, table, working
from ullage.cli.reports import Report, filled
from ullage.cli.session_source import folder_called, unread_lines
from ullage.formats.transcripts.builder import ImportedTranscript
from ullage.known_models import price_of, prices_date
from ullage.model.errors import UllageError
from ullage.model.usage import CURRENCY, CacheMissCause, Usage
from ullage.model.words import short
from ullage.policy.spending import PaidRequest, Spent, paid_requests, spent_on
from ullage.service.conversation.workspace import Workspace
from ullage.store.sqlite.catalogue import ReadCosts
from ullage.store.store_place import StorePlace, local_path
from ullage.watch.candidates import Candidate

# More sessions than a store has.
_ALL = 1_000_000


class ConversationCost(Struct, frozen=True, kw_only=True):
    """A conversation and its requests. `agent` is "" for one that Ullage has; `agent_session_id` is then its id.
    `is_side` says whether it is a sub-agent's."""

    agent: str
    agent_session_id: str
    title: str
    path: str
    is_side: bool
    requests: Sequence[PaidRequest]


class FolderCost(Struct, frozen=True, kw_only=True):
    """The conversations that have made requests, and the files that could not be read."""

    conversations: tuple[ConversationCost, ...]
    unread: tuple[UnreadFile, ...]


def read_folder_cost(
    workspace: Workspace, place: StorePlace | None, folder: Path | None, shown: Callable[[int, int], None]
) -> FolderCost:
    """Returns what the conversations of a folder cost, those of all folders for None: agents' and Ullage's own. Blocks
    while it reads, and calls `shown` with the number of files that are done and of all."""
    kept, found = ReadCosts(local_path(place), prices_date()), KnownConversations(workspace, place).of_folder(folder)
    known, unread, seen = kept.read({one.place for one, _ in found}), list[UnreadFile](), set[object]()
    conversations: list[ConversationCost] = []
    for done, (one, candidate) in enumerate(found):
        shown(done, len(found))
        stat, parts = known.get(one.place, ((), ()))
        if stat != candidate.stat:
            try:
                parts = tuple(_parts(candidate, is_side=one.is_side))
            except OSError as error:
                unread.append(UnreadFile(path=one.path, reason=error.strerror or str(error)))
                continue
            except UllageError as error:
                unread.append(UnreadFile(path=one.path, reason=str(error)))
                continue
            kept.write(one.place, candidate.stat, parts)
        for is_side, requests in parts:
            cost = ConversationCost(
                agent=one.agent,
                agent_session_id=one.agent_session_id,
                title=one.title,
                path=one.path,
                is_side=is_side,
                requests=[*_new(requests, one.place, seen)],
            )
            conversations.append(cost)
    conversations += _own(workspace, None if folder is None else str(folder), seen)
    return FolderCost(conversations=tuple(one for one in conversations if one.requests), unread=tuple(unread))


def _new(requests: Iterable[PaidRequest], place: str, seen: set[object]) -> Iterator[PaidRequest]:
    """Yields and notes the requests that no other conversation has reported. Copies have other ids of answers."""
    for one in requests:
        key = (one.at, one.model, one.tokens) if one.at else (place, one.answer)
        if key not in seen:
            seen.add(key)
            yield one


def _own(workspace: Workspace, folder: str | None, seen: set[object]) -> Iterator[ConversationCost]:
    """Yields stored sessions that copy no agent's conversation. A fork has its parent's requests, paid once."""
    store = workspace.ports.store
    copies = {one.session_id for one in store.imported()}
    for info in store.list(folder, _ALL):
        if info.session_id not in copies and info.messages:
            events = [(record.event, record.timestamp) for record in store.read(info.session_id)]
            yield ConversationCost(
                agent="",
                agent_session_id=info.session_id,
                title=info.title,
                path="",
                is_side=False,
                requests=[*_new(paid_requests(events, info.model, _cost), info.session_id, seen)],
            )


def _parts(candidate: Candidate, *, is_side: bool) -> Iterator[tuple[bool, tuple[PaidRequest, ...]]]:
    """Yields the requests of a file's conversation, and of its sub-agents' in the same file."""
    document = whole_document(candidate)
    transcript = read_document(document)
    yield is_side or transcript.is_sub_agent, _requests(transcript)
    for run in (skipped.run for skipped in transcript.skipped):
        if run is not None:
            yield True, _requests(read_document(replace(document, run=run)))


def _requests(transcript: ImportedTranscript) -> tuple[PaidRequest, ...]:
    return tuple(paid_requests(((event, 0) for event in transcript.events), transcript.model, _cost))


def _cost(model: str, usage: Usage) -> float | None:
    price = price_of(model)
    return None if price is None else price.cost(usage)


class CostOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage cost`. `days` is the number of days that are listed."""

    cwd: str | None = None
    all: bool = False
    days: int


class DayCost(Spent, frozen=True, kw_only=True):
    """What the requests of one day cost. `day` is the user's date, `2026-11-28`, "" for requests without a time."""

    day: str


class OneCost(Spent, frozen=True, kw_only=True):
    """What the requests of one conversation cost. `agent` is "" for one that Ullage has, and `path` then, too."""

    agent: str
    agent_session_id: str
    title: str
    path: str
    is_side: bool


class CostReport(Report, frozen=True, kw_only=True):
    """What `ullage cost --json` prints: what the conversations of `folder`, null for all folders, cost in `currency` by
    the list prices of the day `prices_of`. `days` are in order, `conversations` the dearest first. `cold_by_cause` is
    the part `cold` of the total by why the cache had lost a prompt, and `unpriced_models` the number of requests to
    each model without a list price. `unread_files` could not be read."""

    folder: str | None
    currency: Literal["USD"] = CURRENCY
    prices_of: str
    total: Spent
    days: tuple[DayCost, ...]
    conversations: tuple[OneCost, ...]
    cold_by_cause: Mapping[CacheMissCause, float]
    unpriced_models: Mapping[str, int]
    unread_files: tuple[UnreadFile, ...]


def add_arguments(parser: ArgumentParser) -> None:
    """Adds the command's arguments to its parser."""
    parser.add_argument("--all", action="store_true", help="the conversations of all folders")
    parser.add_argument("--cwd", metavar="FOLDER", help="the conversations of this folder, not of the working one")
    parser.add_argument("--days", type=number, default=14, metavar="N", help="how many days are listed, the newest")
    add_drawing(parser)


_COLUMNS = (
    Column(name="Day"),
    Column(name="Work", right=True, rank=1),
    Column(name="Cold cache", right=True, rank=1),
    Column(name="Compactions", right=True, rank=2),
    Column(name="Sub-agents", right=True, rank=2),
    Column(name="Total", right=True, style="bold"),
    Column(name="Requests", right=True, rank=4, style="dim"),
    Column(name="Tokens", right=True, rank=3, style="dim"),
)
_DEAREST = 5
_CAUSES = {
    CacheMissCause.IDLE: "after a pause",
    CacheMissCause.MESSAGES: "earlier messages changed",
    CacheMissCause.PREFIX: "system prompt or tools changed, or dropped early",
    CacheMissCause.MODEL: "another model",
}


def run(args: Namespace) -> int:
    """Prints a screen or a `CostReport`. Returns 0. Raises `InputError` if the folder of `--cwd` doesn't exist."""
    options, screen = read_options(args, CostOptions), Screen.of(args)
    folder = None if options.all else Path(folder_called(options.cwd or "."))
    with working("Looking for conversations") as show, open_workspace(options.store, to_read=True) as workspace:
        found = read_folder_cost(
            workspace, options.store, folder, lambda done, of: show(f"Reading {done:,} of {of:,} conversations")
        )
    report = _report(found, folder)
    if options.json:
        print_json(report)
    else:
        screen.print(_lines(report, options.days, screen))
    return 0


def _report(found: FolderCost, folder: Path | None) -> CostReport:
    days: defaultdict[str, Spent] = defaultdict(Spent)
    cold, unpriced = defaultdict[CacheMissCause, float](float), Counter[str]()
    for one in found.conversations:
        for request in one.requests:
            spent = spent_on(request, is_side=one.is_side)
            days[_day(request.at)] += spent
            unpriced[request.model] += spent.unpriced
            if request.cause is not None and spent.cold:
                cold[request.cause] += spent.cold
    return CostReport(
        folder=None if folder is None else str(folder),
        prices_of=prices_date(),
        total=sum(days.values(), Spent()),
        days=tuple(filled(DayCost, (spent,), day=day) for day, spent in sorted(days.items())),
        conversations=tuple(sorted(map(_one, found.conversations), key=lambda one: -one.total)),
        cold_by_cause=dict(sorted(cold.items(), key=itemgetter(1), reverse=True)),
        unpriced_models={model: count for model, count in unpriced.most_common() if count},
        unread_files=found.unread,
    )


def _one(one: ConversationCost) -> OneCost:
    spent = sum((spent_on(request, is_side=one.is_side) for request in one.requests), Spent())
    return filled(OneCost, (spent, one))


def _day(at: int) -> str:
    """Returns the user's date of a time in Unix milliseconds, "" for 0."""
    return f"{datetime.fromtimestamp(at / 1000, UTC).astimezone():%Y-%m-%d}" if at else ""


def _lines(report: CostReport, most: int, screen: Screen) -> Iterator[Text | str]:
    folder = "all folders" if report.folder is None else clean(report.folder, screen.glyphs)
    if not report.days:
        yield from screen.prose(f"No request of {folder} is known. `ullage cost --all` has those of all folders.")
    else:
        yield Text(fit_end(folder, screen.room, screen.glyphs), "bold")
        shown, earlier = report.days[-most:], report.days[:-most]
        rows = [_row(_named(one.day), one) for one in reversed(shown)]
        if earlier:
            rows.append(_row("Earlier", sum(earlier[1:], filled(Spent, earlier[:1]))))
        rows.append([(cell if isinstance(cell, str) else cell[0], "bold") for cell in _row("Total", report.total)])
        yield from table(_COLUMNS, rows, screen.room, screen.glyphs)
        yield ""
        yield from _remarks(report, screen)
    yield from unread_lines(report.unread_files, screen)


def _remarks(report: CostReport, screen: Screen) -> Iterator[Text | str]:
    dearest = [one for one in report.conversations if one.total >= _CENT][:_DEAREST]
    if len(report.conversations) > 1 and dearest:
        yield Text("Dearest", "bold")
        for one in dearest:
            name = clean(one.title or one.agent_session_id, screen.glyphs)
            side = "sub-agent: " if one.is_side else ""
            yield fit_most(f"  {_dollars(one.total):>8}  {side}{name}", screen.room, screen.glyphs)
    if told := [
        f"{_dollars(spent)} {_CAUSES[cause]}" for cause, spent in report.cold_by_cause.items() if spent >= _CENT
    ]:
        yield from screen.prose(f"Cold cache: {', '.join(told)}.")
    for model, count in report.unpriced_models.items():
        yield f"No list price: {plural(count, 'request')} to {clean(model or 'an unnamed model', screen.glyphs)}"
    yield from screen.prose(f"By the list prices of {report.prices_of}; a subscription costs what it costs.")


_CENT = 0.005


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= _CENT else ""


def _row(name: str, spent: Spent) -> Sequence[Cell]:
    parts = (spent.work, spent.cold, spent.compactions, spent.sub_agents)
    total = _dollars(spent.total) or ("?" if spent.unpriced == spent.requests else "$0.00")
    return name, *map(_dollars, parts), total, f"{spent.requests:,}", short(spent.tokens)


def _named(day: str) -> str:
    """Returns a date as a user reads it: `Sat 28 Nov`, with the year if that is not this one."""
    if not day:
        return "No date"
    at = date.fromisoformat(day)
    return f"{at:%a %d %b}{'' if at.year == datetime.now(UTC).astimezone().year else f' {at.year}'}"
