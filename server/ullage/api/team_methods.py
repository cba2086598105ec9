"""The methods `team/*`: params, results and handlers."""

from typing import Annotated

from msgspec import Meta, Struct

from ullage.model.errors import InvalidRequest
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.team import TeamHit


class TeamSearchParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Searches the team's archive: the redacted copies that its members share with the user, and the user's own. The
    query is that of `context/search`."""

    query: str
    limit: Annotated[int, Meta(ge=1, le=100)] = 10


class TeamHitRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """A message in the team's archive that matches. `owner` is the role of the database whose it is; `folder` and
    `title` are those of its session. `index`, `role`, `score`, `snippet` and `fits` are as in `SearchHit`, `text` is
    the part of the message that matches. `sessionId` names the copy, which no other method takes."""

    owner: str
    folder: str
    title: str
    session_id: str
    index: int
    role: str
    score: float
    snippet: str
    fits: bool
    text: str


class TeamSearchResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The messages that match, best first."""

    hits: tuple[TeamHitRow, ...]


async def search(workspace: Workspace, params: TeamSearchParams) -> TeamSearchResult:
    if workspace.searches_team is None:
        raise InvalidRequest("team/search: this server has no team's archive; run `ullage lsp`")
    return TeamSearchResult(hits=tuple(map(_row, await workspace.searches_team(params.query, params.limit))))


def _row(hit: TeamHit) -> TeamHitRow:
    found = hit.passage.hit
    return TeamHitRow(
        owner=hit.owner,
        folder=hit.folder,
        title=hit.title,
        session_id=found.session_id,
        index=found.index,
        role=found.role,
        score=found.score,
        snippet=found.snippet,
        fits=found.fits,
        text=hit.passage.text,
    )
