"""`ullage search`: searches all messages of all conversations on this machine, archived ones included. What the store
lacks of agents' conversations is read first, and what is found meanwhile is shown."""

import asyncio
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct, to_builtins
from msgspec.structs import asdict, replace
from rich.text import Text

from ullage.agents.inserted import speaker_of
from ullage.app.catalogue import ReadingAll
from ullage.app.compose import open_workspace
from ullage.app.team_sending import open_archive
from ullage.cli.arguments import StoreOptions, add_drawing, add_embeddings, number, read_options
from ullage.cli.drawing import Screen, bar, clean, fit_most, plural, print_json, step_lines, working
from ullage.cli.reports import Report, filled
from ullage.cli.session_source import ShortIds
from ullage.model.errors import InvalidRequest
from ullage.model.message import index_of, number_of
from ullage.model.settings import SearchSettings, Settings, SummarySettings
from ullage.service.archive.naming import find_message, find_session, known_info
from ullage.service.archive.search import SearchResult, find_entry, message_lines, search
from ullage.service.conversation.conversation import Entry
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import Indexing, SearchWait
from ullage.service.ports.store import SearchHit
from ullage.store.search.query import read_query, written_forms
from ullage.store.sqlite.catalogue import Keeping
from ullage.store.store_place import local_path, may_write
from ullage.store.team.team_archive import find_in_team, open_in_team
from ullage.system.team_choices import archive_of, choices_path, read_choices

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.service.ports.store import TeamHit


class SearchOptions(StoreOptions, frozen=True, kw_only=True):
    """The arguments of `ullage search`."""

    query: str | None
    session: str | None
    limit: int
    show: str | None
    team: bool = False
    archive: str | None = None
    embeddings: tuple[str, str] | None = None


class MessageReport(Report, frozen=True, kw_only=True):
    """What `ullage search --show --json` prints: one whole message, as content blocks."""

    session_id: str
    number: int
    id: str
    role: str
    archived: bool
    content: list[Any]


class HitRow(Struct, frozen=True, kw_only=True):
    """A message that matches the query. A higher `score` is better. In `snippet`, the matches are between `**`. `fits`
    says whether the message has most of the query's words near each other."""

    session_id: str
    number: int
    message_id: str
    role: str
    score: float
    snippet: str
    fits: bool


class SearchReport(Report, frozen=True, kw_only=True):
    """What `ullage search --json` prints: the hits, the best first. `unread` is the number of stored records that were
    not indexed, so that nothing of them was found; `note` says what else is to know of the results, "" if nothing."""

    hits: tuple[HitRow, ...]
    unread: int
    note: str


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", metavar="WORDS", help="words, names or a question; archived messages count")
    parser.add_argument("--conversation", dest="session", metavar="WHICH", help="only in this conversation")
    parser.add_argument("--limit", type=number, default=10, metavar="N", help="how many, the best first")
    parser.add_argument(
        "--show",
        metavar="MESSAGE",
        help="print this message of the conversation whole (number or id), instead of searching",
    )
    parser.add_argument(
        "--team",
        action="store_true",
        help="search what the team shares, others' and yours; with --conversation and --show, open a message of it",
    )
    parser.add_argument("--archive", metavar="ADDRESS", help="with --team: the team's database, as of `ullage team`")
    add_embeddings(parser)
    add_drawing(parser)


_INDENT = "    "
# Cells that a snippet has at least.
_LEAST = 20
# Seconds between two searches while conversations are read, and cells of the bar that shows how many were.
_FOUND_EVERY, _CELLS = 3.0, 20
# Seconds that the embeddings server is waited for: what it makes after the command ends would be lost.
_EMBEDDINGS = 60.0
# Seconds for which what was read is indexed when the user has ended the reading.
_AFTER_CTRL_C = 1.0


class IndexingShown:
    """Shows how much of the store is not indexed yet, while a search waits for the index, by `show`."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show

    def indexing(self, progress: Indexing) -> None:
        """Shows the progress of indexing, or at its end that the search runs."""
        left = f"Preparing the search, once: {progress.left:,} of {progress.total:,} left"
        self._show(left if progress.left else "Searching")


class _Everything:
    """A search of all conversations, which reads first what the store lacks of them. `show` shows how far it is. Making
    one looks for the conversations: not in a task, which Ctrl-C would end only when the look is over."""

    def __init__(
        self, workspace: Workspace, options: SearchOptions, screen: Screen, show: Callable[[str], None]
    ) -> None:
        self._workspace = workspace
        self._options = options
        self._screen = screen
        self._show = show
        self._reading = ReadingAll(workspace, options.store)
        # The messages that were printed while it was read.
        self.shown: set[str] = set()
        # Only who waits at a terminal is shown what is found meanwhile.
        self._is_watched = sys.stdout.isatty() and not options.json

    async def search(self) -> SearchResult:
        """Returns what is found in all conversations. Ctrl-C ends the reading; then it is what was found so far. Who
        does not want agents' conversations kept gets none into the store by a search."""
        reading = self._reading
        path = local_path(self._options.store)
        is_writable = may_write(self._options.store)
        is_kept = is_writable and Keeping(path).wanted is not False
        query, limit = self._options.query or "", self._options.limit
        try:
            if is_kept:
                await self._read()
            found = await search_to_end(self._workspace, None, query, limit)
        except asyncio.CancelledError:
            found = await search_after_ctrl_c(self._workspace, None, query, limit)
        if not reading.left:
            return found
        read = f"{reading.total - reading.left:,} of {plural(reading.total, 'conversation')} were read so far."
        if not is_kept:
            left = plural(reading.left, "conversation")
            why = "it reads none for a search after `ullage keep off`"
            why = why if is_writable else f"it can't write {path}: choose another file with --store"
            read = f"Not searched: {left} that Ullage has not read; {why}."
        return replace(found, note=" ".join(filter(None, (read, found.note))))

    async def _read(self) -> None:
        reading, due = self._reading, time.monotonic()
        async for _ in reading.read(written_forms(self._options.query or "")):
            done = reading.total - reading.left
            drawn = bar(done, reading.total, None, _CELLS, self._screen.glyphs)
            self._show(f"{drawn}  {done:,} of {reading.total:,} conversations read (Ctrl-C ends it)")
            is_awaited = self._is_watched and len(self.shown) < self._options.limit
            if is_awaited and reading.left and time.monotonic() >= due:
                self._workspace.search_wait = SearchWait(most=_FOUND_EVERY, embeddings=0.0)
                found = await search(self._workspace, None, self._options.query or "", self._options.limit)
                new = [hit for hit in found.hits if hit.fits and hit.message_id not in self.shown]
                self.shown.update(hit.message_id for hit in new)
                for line in hit_lines(new, self._workspace, self._screen):
                    self._screen.print([line])
                due = time.monotonic() + _FOUND_EVERY


class TeamHitRow(Struct, frozen=True, kw_only=True):
    """A message in the team's archive that matches: as `HitRow`, with the role of the database whose it is, and the
    folder and the title of its session."""

    owner: str
    folder: str
    title: str
    session_id: str
    number: int
    role: str
    score: float
    snippet: str
    fits: bool


class TeamMessageReport(Report, frozen=True, kw_only=True):
    """What `ullage search --team --show --json` prints: a whole message in the team's archive, with the role of the
    database whose it is, the folder and the title of its session, and the number of the messages that the archive has
    of this session."""

    owner: str
    folder: str
    title: str
    session_id: str
    number: int
    role: str
    text: str
    messages: int


class TeamSearchReport(Report, frozen=True, kw_only=True):
    """What `ullage search --team --json` prints: the hits, the best first."""

    hits: tuple[TeamHitRow, ...]


def run(args: Namespace) -> int:
    """Prints the messages that match, or with `--show` one whole message; with `--team` those in the team's archive.
    Returns 1 if nothing is found, otherwise 0."""
    args.query = " ".join(args.query) or None
    options, screen = read_options(args, SearchOptions), Screen.of(args)
    if options.team:
        return _search_team(options, screen)
    url, model = options.embeddings or ("", "")
    # Without settings of an editor, summaries are written offline.
    settings = Settings(
        summary=SummarySettings(writer="offline"), search=SearchSettings(embeddings_url=url, embeddings_model=model)
    )
    to_read = bool(options.session) or not may_write(options.store) or not ReadingAll.has_place(options.store)
    with open_workspace(options.store, settings, to_read=to_read) as workspace:
        return _show(workspace, options, screen) if options.show else _search(workspace, options, screen)


def _search(workspace: Workspace, options: SearchOptions, screen: Screen) -> int:
    session, query = find_session(workspace.ports.store, options.session) if options.session else None, options.query
    # A query without a word is refused before anything is read.
    read_query(query or "")
    shown = set[str]()
    with working("Searching") as show:
        workspace.indexing_listeners.append(IndexingShown(show))
        if session is None:
            everything = _Everything(workspace, options, screen, show)
            found = asyncio.run(everything.search())
            shown = everything.shown
        else:
            found = asyncio.run(search_to_end(workspace, session, query or "", options.limit))
    hits, note = found.hits, found.note
    if options.json:
        rows = tuple(filled(HitRow, (hit,), number=number_of(hit.index)) for hit in hits)
        print_json(SearchReport(hits=rows, unread=found.unread, note=note))
        return 0 if hits else 1
    none = () if hits else (f"Nothing found for {options.query!r}.",)
    doubt = _doubt(hits, options, screen) if hits else ()
    # What was printed while it was read is printed again only if that was not the best.
    again = () if shown and shown >= {hit.message_id for hit in hits} else hits
    heading = ("", "The best of all:") if shown and again else ()
    screen.print([*none, *screen.prose(note), *heading, *doubt, *hit_lines(again, workspace, screen)])
    return 0 if hits else 1


async def search_to_end(workspace: Workspace, session: str | None, query: str, limit: int) -> SearchResult:
    """Returns what matches. Waits for the whole index; Ctrl-C then shows what is found so far."""
    workspace.search_wait = SearchWait(most=None, embeddings=_EMBEDDINGS)
    try:
        return await search(workspace, session, query, limit)
    except asyncio.CancelledError:
        return await search_after_ctrl_c(workspace, session, query, limit)


async def search_after_ctrl_c(workspace: Workspace, session: str | None, query: str, limit: int) -> SearchResult:
    """Returns what matches in what a second more can index."""
    if (task := asyncio.current_task()) is not None:
        task.uncancel()
    workspace.search_wait = SearchWait(most=_AFTER_CTRL_C, embeddings=0.0)
    return await search(workspace, session, query, limit)


def _show(workspace: Workspace, options: SearchOptions, screen: Screen) -> int:
    if options.session is None:
        raise InvalidRequest("--show needs --conversation WHICH: messages are numbered within one")
    conversation = workspace.open(find_session(workspace.ports.store, options.session))
    entry = find_entry(conversation, find_message(conversation, options.show or ""))
    if options.json:
        print_json(_message(entry, conversation.id))
    else:
        lines = (line for text in message_lines(entry.message) for line in screen.prose(text))
        screen.print([_head(entry), *lines])
    return 0


def _message(entry: Entry, session_id: str) -> MessageReport:
    return MessageReport(
        session_id=session_id,
        number=number_of(entry.index),
        id=entry.message.id,
        role=entry.message.role.value,
        archived=entry.archived,
        content=to_builtins(entry.message.content),
    )


def _head(entry: Entry) -> Text:
    state = ", archived" if entry.archived else ""
    return Text(f"#{number_of(entry.index)} {speaker_of(entry.message)} {entry.message.id}{state}", "dim")


def hit_lines(hits: Sequence[SearchHit], workspace: Workspace, screen: Screen) -> Iterator[Text]:
    """Yields the lines for all hits. The hits of one session are listed together under its title, and the session with
    the best hit is first. Without hits there are none."""
    if not hits:
        return
    names = ShortIds(workspace.ports.store, screen)
    for session_id in dict.fromkeys(hit.session_id for hit in hits):
        info, name = known_info(workspace.ports.store, session_id), names(session_id)
        room = max(_LEAST, screen.room - len(name) - 2)
        yield Text.assemble((name, "bold"), "  ", fit_most(info.title if info else "", room, screen.glyphs))
        for hit in hits:
            if hit.session_id == session_id:
                yield from _hit(hit, screen)
    first = hits[0]
    show = f"ullage search --conversation {names(first.session_id)} --show {number_of(first.index)}"
    yield from map(Text, step_lines([(show, "in full")], screen.room, screen.glyphs))


def _doubt(hits: Sequence[SearchHit], options: SearchOptions, screen: Screen) -> Sequence[Text]:
    """Returns the line that says that none of the hits fits the query; none if one does."""
    if any(hit.fits for hit in hits):
        return []
    words = f"Nothing fits {options.query!r} well: no message has most of these words together. The nearest:"
    return [Text(line) for line in screen.prose(words)]


def _hit(hit: SearchHit, screen: Screen) -> Iterator[Text]:
    """Yields the lines for one hit: its number and role, then its snippet with the matches in bold."""
    head = f"  #{number_of(hit.index)} {hit.role}"
    yield Text(head, "dim")
    snippet = Text()
    for place, piece in enumerate(" ".join(hit.snippet.split()).split("**")):
        snippet.append(clean(piece, screen.glyphs), "bold" if place % 2 else "")
    for line in snippet.wrap(screen.console(), max(_LEAST, screen.room - len(_INDENT))):
        line.rstrip()
        yield Text.assemble(_INDENT, line)


def _search_team(options: SearchOptions, screen: Screen) -> int:
    """Prints the messages in the team's archive that match, or with `--show` one whole message. Returns 1 if nothing is
    found, otherwise 0. Raises `InvalidRequest` if no archive was chosen or the options don't go together."""
    if (options.session is None) != (options.show is None):
        raise InvalidRequest(
            "--team searches all that is shared: --conversation and --show only open a message, together"
        )
    archive = archive_of(options.archive, read_choices(choices_path()))
    if options.session is not None:
        return _show_of_team(options.session, options.show or "", archive, options, screen)
    with working("Searching"), open_archive(archive, is_team=True) as team:
        hits = find_in_team(team, options.query or "", options.limit)
    if options.json:
        found = ((hit, hit.passage.hit) for hit in hits)
        rows = tuple(filled(TeamHitRow, both, number=number_of(both[1].index)) for both in found)
        print_json(TeamSearchReport(hits=rows))
    else:
        none = () if hits else (f"Nothing found for {options.query!r}.",)
        screen.print([*none, *_team_lines(hits, screen)])
    return 0 if hits else 1


def _show_of_team(session: str, shown: str, archive: str, options: SearchOptions, screen: Screen) -> int:
    digits = shown.removeprefix("#")
    if not digits.isdecimal() or not int(digits):
        raise InvalidRequest(f"--show {shown!r}: a message in the team's archive is shown by its number, from 1 on")
    index = index_of(int(digits))
    with open_archive(archive, is_team=True) as team:
        (message,) = open_in_team(team, session, index, index + 1)
    if options.json:
        fields = {name: value for name, value in asdict(message).items() if name != "index"}
        print_json(TeamMessageReport(number=number_of(index), **fields))
    else:
        place = f"#{number_of(index)} of {message.messages:,}, {message.role}"
        head = (_whose(message.owner, message.folder, message.title, screen), Text(place, "dim"))
        screen.print([*head, *screen.prose(message.text)])
    return 0


def _team_lines(hits: "Sequence[TeamHit]", screen: Screen) -> Iterator[Text]:
    """Yields the lines for all hits, those of one session together under whose it is, its folder and its title."""
    for session_id in dict.fromkeys(hit.passage.hit.session_id for hit in hits):
        of = [hit for hit in hits if hit.passage.hit.session_id == session_id]
        yield _whose(of[0].owner, of[0].folder, of[0].title, screen)
        for hit in of:
            yield from _hit(hit.passage.hit, screen)
    if hits:
        found = hits[0].passage.hit
        show = f"ullage search --team --conversation {found.session_id} --show {number_of(found.index)}"
        yield from map(Text, step_lines([(show, "in full")], screen.room, screen.glyphs))


def _whose(owner: str, folder: str, title: str, screen: Screen) -> Text:
    whose = f"{owner}  {folder}"
    room = max(len(owner), screen.room - len(whose) - 2)
    return Text.assemble((whose, "bold"), "  ", fit_most(title, room, screen.glyphs))
