"""The methods `team/*`: params, results and handlers."""

from typing import Annotated

from msgspec import Meta, Struct

from ullage.model.errors import InvalidRequest
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.store import ReadsTeam, TeamHit, TeamOpenResult


class TeamSearchParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Searches the team's archive: the redacted copies that its members share with the user, and the user's own. The
    query is that of `context/search`."""

    query: str
    limit: Annotated[int, Meta(ge=1, le=100)] = 10


class TeamHitRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """A message in the team's archive that matches. `owner` is the role of the database whose it is; `folder` and
    `title` are those of its session. `index`, `role`, `score`, `snippet` and `fits` are as in `SearchHit`, `text` is
    the part of the message that matches. `sessionId` names the copy, which `team/open` alone takes."""

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


class TeamOpenParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Reads a whole message in the team's archive: one that `team/search` has found, or one before or after it."""

    session_id: str
    index: Annotated[int, Meta(ge=0)]


async def search(workspace: Workspace, params: TeamSearchParams) -> TeamSearchResult:
    found = await _team(workspace, "team/search").search(params.query, params.limit)
    return TeamSearchResult(hits=tuple(map(_row, found)))


async def open_message(workspace: Workspace, params: TeamOpenParams) -> TeamOpenResult:
    (message,) = await _team(workspace, "team/open").open(params.session_id, params.index, params.index + 1)
    return message


def _team(workspace: Workspace, method: str) -> ReadsTeam:
    if workspace.team is None:
        raise InvalidRequest(f"{method}: this server has no team's archive; run `ullage lsp`")
    return workspace.team


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
