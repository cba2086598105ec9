"""What a team's archive has, as a model gets it: passages about a query, and whole messages."""

from collections.abc import Iterator

from ullage.mcp.asked import Asked
from ullage.mcp.message_pages import shown_page
from ullage.mcp.references import Reference, reference_of
from ullage.mcp.result_size import MAX_RESULT
from ullage.mcp.shown_passages import around
from ullage.model.errors import InvalidRequest
from ullage.redaction.quoting import RECORD, one_line, quoted, size_of
from ullage.service.ports.store import ReadsTeam, TeamHit

# Bytes of the line that says whose a passage is, and from which conversation: others have chosen its words.
_WHOSE = 200
# Characters of a passage: eight of them have room.
_PASSAGE = 360
# Bytes that the words around the passages need.
_REST = 100


async def search_team(asked: Asked, query: str, limit: int) -> str:
    """Returns the passages in the team's archive that match `query` best, each with whose it is.

    Raises `InvalidRequest` if no archive was chosen or the query has no word."""
    hits = await _team(asked, "search").search(query, limit)
    if not hits:
        return "Nothing in the team's archive matches. Try names as they stood, or other words."
    doubt = (
        ""
        if any(hit.passage.hit.fits for hit in hits)
        else " None has most of the words together, so there may be no answer."
    )
    lines = [RECORD, f"The best matches in the team's archive, the best first.{doubt}"]
    room = MAX_RESULT - sum(map(size_of, lines)) - _REST
    shown = 0
    for hit in hits:
        shows = ["", *_found(hit, _PASSAGE)]
        room -= sum(map(size_of, shows))
        if room < 0:
            break
        lines += shows
        shown += 1
    left = [f"{len(hits) - shown} more did not fit here."] if shown < len(hits) else []
    return "\n".join([*lines, "", *left, "A whole message: open with its reference."])


async def open_shared(asked: Asked, text: str, reference: Reference, page: int) -> str:
    """Returns a page of the messages in the team's archive that the reference `text` means. Raises `InvalidRequest`,
    `SessionNotFound` or `MessageNotFound`."""
    team = _team(asked, "open")
    messages = await team.open(reference.session, reference.first - 1, reference.last)
    whose = _whose(messages[0].owner, messages[0].folder, messages[0].title)
    heads = {one.index: _head(one.index, one.session_id, one.role) for one in messages}
    heads[messages[0].index] = f"{whose}\n{heads[messages[0].index]}"
    return shown_page(text, heads, {one.index: one.text for one in messages}, page)


def _team(asked: Asked, tool: str) -> ReadsTeam:
    if asked.own.workspace.team is None:
        raise InvalidRequest(f"{tool}: there is no team's archive here")
    return asked.own.workspace.team


def _whose(*names: str) -> str:
    return one_line(" · ".join(filter(None, names)), _WHOSE)


def _head(index: int, session_id: str, role: str) -> str:
    return f"{reference_of(index, session_id)} {role}"


def _found(hit: TeamHit, length: int) -> Iterator[str]:
    found = hit.passage.hit
    yield _whose(hit.owner, hit.folder, hit.title)
    yield f"{_head(found.index, found.session_id, found.role)}:"
    yield from quoted(around(hit.passage.text, found.snippet, length))
