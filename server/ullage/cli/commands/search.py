"""`ullage search`: searches all messages of stored sessions, archived ones included."""

import asyncio
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence

from msgspec import to_builtins
from rich.text import Text

from ullage.app.agent_following import count_unread
from ullage.app.compose import open_workspace
from ullage.cli.draw.text import clean, fit_most, plural
from ullage.cli.output import Screen, print_json, working
from ullage.cli.reports import HitRow, MessageReport, SearchReport
from ullage.cli.short_ids import ShortIds
from ullage.cli.team_search import search_team
from ullage.cli.typed_arguments import SearchOptions, read_options
from ullage.model.errors import InvalidRequest
from ullage.model.message import number_of
from ullage.model.settings import SearchSettings, Settings, SummarySettings
from ullage.service.archive.naming import find_message, find_session
from ullage.service.archive.recall import message_lines
from ullage.service.archive.search import Found, find_entry, search
from ullage.service.conversation.pages import Entry
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import SearchHit
from ullage.service.ports.world import Indexing, SearchWait

_INDENT = "    "
# Cells that a snippet has at least.
_LEAST = 20
# Seconds that the embeddings server is waited for: what it makes after the command ends would be lost.
_EMBEDDINGS = 60.0


class IndexingShown:
    """Shows how much of the store is not indexed yet, while a search waits for the index, by `show`."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show

    def indexing(self, progress: Indexing) -> None:
        """Shows the progress of indexing, or at its end that the search runs."""
        left = f"Indexing first: {progress.left:,} of {progress.total:,} records left"
        self._show(left if progress.left else "Searching")


def run(args: Namespace) -> int:
    """Prints the messages that match, or with `--show` one whole message; with `--team` those in the team's archive.
    Returns 1 if nothing is found, otherwise
    0."""
    options, screen = read_options(args, SearchOptions), Screen.of(args)
    if options.team:
        return search_team(options, screen, _hit)
    url, model = options.embeddings or ("", "")
    # Without settings of an editor, summaries are written offline.
    settings = Settings(
        summary=SummarySettings(writer="offline"), search=SearchSettings(embeddings_url=url, embeddings_model=model)
    )
    with open_workspace(options.store, settings, to_read=True) as workspace:
        return _show(workspace, options, screen) if options.show else _search(workspace, options, screen)


def _search(workspace: Workspace, options: SearchOptions, screen: Screen) -> int:
    session = find_session(workspace.ports.store, options.session) if options.session else None
    with working("Searching") as show:
        workspace.indexing_listeners.append(IndexingShown(show))
        found = asyncio.run(search_to_end(workspace, session, options.query or "", options.limit))
    hits = found.hits
    note = found.note or ("" if hits or session else _unread(count_unread(workspace, options.store)))
    if options.json:
        print_json(SearchReport(hits=tuple(map(_row, hits)), unread=found.unread, note=note))
        return 0 if hits else 1
    none = () if hits else (f"Nothing found for {options.query!r}.",)
    doubt = _doubt(hits, options, screen) if hits else ()
    screen.print([*none, *screen.prose(note), *doubt, *hit_lines(hits, workspace, screen)])
    return 0 if hits else 1


def _unread(count: int) -> str:
    if not count:
        return ""
    whose = f"{plural(count, 'conversation')} of agents on this machine {'was' if count == 1 else 'were'} not read yet"
    return f"{whose}, so nothing of them is found. To read them: ullage watch --since 99999999"


async def search_to_end(workspace: Workspace, session: str | None, query: str, limit: int) -> Found:
    """Returns what matches. Waits for the whole index; Ctrl-C then shows what is found so far."""
    workspace.search_wait = SearchWait(most=None, embeddings=_EMBEDDINGS)
    try:
        return await search(workspace, session, query, limit)
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        workspace.search_wait = SearchWait(most=0)
        return await search(workspace, session, query, limit)


def _show(workspace: Workspace, options: SearchOptions, screen: Screen) -> int:
    if options.session is None:
        raise InvalidRequest("--show needs --session SESSION: messages are numbered within one")
    conversation = workspace.open(find_session(workspace.ports.store, options.session))
    entry = find_entry(conversation, find_message(conversation, options.show or ""))
    if options.json:
        print_json(_message(entry, conversation.id))
    else:
        lines = (line for text in message_lines(entry.message) for line in screen.prose(text))
        screen.print([_head(entry), *lines])
    return 0


def _row(hit: SearchHit) -> HitRow:
    return HitRow(
        session_id=hit.session_id,
        number=number_of(hit.index),
        message_id=hit.message_id,
        role=hit.role,
        score=hit.score,
        snippet=hit.snippet,
        fits=hit.fits,
    )


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
    return Text(f"#{number_of(entry.index)} {entry.message.role} {entry.message.id}{state}", "dim")


def hit_lines(hits: Sequence[SearchHit], workspace: Workspace, screen: Screen) -> Iterator[Text]:
    """Yields the lines for all hits. The hits of one session are listed together under its title, and the session with
    the best hit is first. Without hits there are none."""
    if not hits:
        return
    names = ShortIds(workspace.ports.store, screen)
    for session_id in dict.fromkeys(hit.session_id for hit in hits):
        name, title = names(session_id), workspace.ports.store.info(session_id).title
        room = max(_LEAST, screen.room - len(name) - 2)
        yield Text.assemble((name, "bold"), "  ", fit_most(title, room, screen.glyphs))
        for hit in hits:
            if hit.session_id == session_id:
                yield from _hit(hit, screen)
    first = hits[0]
    show = f"A whole message: ullage search --session {names(first.session_id)} --show {number_of(first.index)}"
    yield from (Text(line, "dim") for line in screen.prose(show))


def _doubt(hits: Sequence[SearchHit], options: SearchOptions, screen: Screen) -> Sequence[Text]:
    """Returns the line that says that none of the hits fits the query; none if one does."""
    if any(hit.fits for hit in hits):
        return []
    words = f"Nothing fits {options.query!r} well: no message has most of these words. The nearest:"
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
