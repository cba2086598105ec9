"""The methods `transcripts/*`: params, results and handlers."""

from typing import Annotated

from msgspec import Meta, Struct

from ullage.agents.discovery import UnreadFile, Wanted, is_in
from ullage.service.archive.discovered import Listed, list_found
from ullage.service.conversation.workspace import Workspace

# Users do not read longer lists.
_LIMIT, _MOST = 30, 500


class ListTranscriptsParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Lists the conversations that coding agents keep on this machine, the newest first.

    `cwd` is an absolute path: the conversations of this folder and the folders in it are listed before the others. If
    `all` is false, the others are left out. Without `cwd`, all are listed. `limit` is the largest number of
    conversations.
    """

    cwd: str = ""
    all: bool = True
    limit: Annotated[int, Meta(ge=1, le=_MOST)] = _LIMIT


class FoundTranscript(Struct, frozen=True, kw_only=True, rename="camel"):
    """A conversation in an agent's own file. A text is "" if it is not known.

    `path` and `run` are those of `session/import`; `run` is null if the file contains one conversation. `agent` is the
    product's name, `format` the name of the file's format, and `originId` the agent's own id of the conversation.
    `here` says whether it began in `cwd` or in a folder in it. `updatedAt` is Unix milliseconds, `bytes` the size of
    the file. `sessionId` is the id of the stored session that was imported from it last, or null.
    """

    path: str
    run: int | None
    agent: str
    format: str
    origin_id: str
    title: str
    cwd: str
    here: bool
    model: str
    updated_at: int
    bytes: int
    session_id: str | None


class ListTranscriptsResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The conversations, without those of sub-agents, and the files that could not be read."""

    transcripts: tuple[FoundTranscript, ...]
    unread: tuple[UnreadFile, ...]


async def list_transcripts(workspace: Workspace, params: ListTranscriptsParams) -> ListTranscriptsResult:
    wanted = Wanted(folder=params.cwd, limit=params.limit, alone=bool(params.cwd) and not params.all)
    listing = await list_found(workspace, wanted)
    return ListTranscriptsResult(
        transcripts=tuple(_row(listed, params.cwd) for listed in listing.conversations), unread=listing.unread
    )


def _row(listed: Listed, cwd: str) -> FoundTranscript:
    found = listed.found
    return FoundTranscript(
        path=found.path,
        run=found.run,
        agent=found.agent,
        format=found.format,
        origin_id=found.origin_id,
        title=found.title,
        cwd=found.cwd,
        here=is_in(found.cwd, cwd),
        model=found.model,
        updated_at=found.updated_at,
        bytes=found.size,
        session_id=listed.session_id,
    )
