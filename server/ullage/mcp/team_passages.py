"""What a team's archive has about a query, as a model gets it."""

from collections.abc import Iterator

from ullage.mcp.asked import Asked
from ullage.mcp.result_size import MAX_RESULT
from ullage.mcp.shown_passages import around
from ullage.model.errors import InvalidRequest
from ullage.model.message import number_of
from ullage.redaction.quoting import RECORD, one_line, quoted, size_of
from ullage.service.ports.team import TeamHit

# Bytes of the line that says whose a passage is, and from which conversation: others have chosen its words.
_WHOSE = 200
# Characters of a passage: eight of them have room.
_PASSAGE = 360
# Bytes that the words around the passages need.
_REST = 100


async def search_team(asked: Asked, query: str, limit: int) -> str:
    """Returns the passages in the team's archive that match `query` best, each with whose it is.

    Raises `InvalidRequest` if no archive was chosen or the query has no word."""
    search = asked.own.workspace.searches_team
    if search is None:
        raise InvalidRequest("search: there is no team's archive here")
    hits = await search(query, limit)
    if not hits:
        return "Nothing in the team's archive matches. Try names as they stood, or other words."
    doubt = (
        "" if any(hit.passage.hit.fits for hit in hits) else " None has most of the words, so there may be no answer."
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
    return "\n".join([*lines, "", *left, "`open` can't show more of these conversations, which are others'."])


def _found(hit: TeamHit, length: int) -> Iterator[str]:
    found = hit.passage.hit
    yield one_line(" · ".join(filter(None, (hit.owner, hit.folder, hit.title))), _WHOSE)
    yield f"message {number_of(found.index)}, {found.role}:"
    yield from quoted(around(hit.passage.text, found.snippet, length))
