"""The method `context/lost`: what a compaction left out. Params, result and handler."""

import asyncio
from typing import Annotated

from msgspec import Meta, Struct

from ullage.api.context_methods import Limit
from ullage.ledger.ledger_entry import Entry, Kind, Life
from ullage.lost.brief import LONGEST, write_brief
from ullage.model.errors import EditNotFound
from ullage.service.conversation.workspace import Workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.lost.left_out import LeftOut


class LostParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Lists what the compaction `editId` left out, or without it the last one in force. `limit` is the most entries of
    each kind, `briefSize` the most UTF-16 units of the brief."""

    session_id: str
    edit_id: str | None = None
    limit: Limit = 100
    brief_size: Annotated[int, Meta(ge=1, le=100_000)] = LONGEST


class LostEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    """One thing that was left out. `text` is as it was written, without secrets; it may have several lines. `state` is
    its newest state, such as `open`, `failed` or `created`. `detail` is what is needed to understand it: the question
    that a reply answers, how a check ended, the line of the summary that says otherwise; may be empty. `index` is the
    message that it was in."""

    kind: Kind
    state: Life
    text: str
    detail: str
    index: int


class LostResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """What a compaction left out, by kind and then in the order of the conversation.

    `editId` is null, and the rest empty, if no compaction is in force. `timestamp` is the compaction's time in Unix
    milliseconds, 0 if unknown. `messages` counts those before it, `kept` those among them that the agent still has.
    `readable` is false if the summary is encrypted, so that what it leaves out is not known. `counts` has how many were
    left out of each kind, whether listed or not. `brief` quotes it as a page to be given back to the agent; empty if
    nothing was left out or there is no room for a line.
    """

    edit_id: str | None = None
    timestamp: int = 0
    messages: int = 0
    kept: int = 0
    readable: bool = True
    counts: dict[str, int] = {}
    entries: tuple[LostEntry, ...] = ()
    brief: str = ""


async def lost(workspace: Workspace, params: LostParams) -> LostResult:
    # Imported on use: what finds losses takes 50 ms to import, and the answer to `initialize` needs none of it.
    from ullage.lost.left_out import left_out  # noqa: PLC0415

    conversation = workspace.open(params.session_id)
    read, cwd = workspace.ports.store.read_apart, conversation.transcript.cwd
    # In a thread: reading a long conversation for the first time takes a second.
    found = await asyncio.to_thread(lambda: left_out(read(conversation.id), cwd, params.edit_id))
    if found is None:
        if params.edit_id is not None:
            raise EditNotFound(f"context/lost: no compaction {params.edit_id!r} is in force in this session")
        return LostResult()
    return _result(found, params)


def _result(found: "LeftOut", params: LostParams) -> LostResult:
    compaction = found.compaction
    of_kind = ([entry for entry in found.entries if entry.kind is kind] for kind in Kind)
    rows = (entry for entries in of_kind for entry in entries[: params.limit])
    return LostResult(
        edit_id=compaction.edit_id,
        timestamp=compaction.timestamp,
        messages=len(compaction.before),
        kept=compaction.kept,
        readable=compaction.is_readable,
        counts=found.counts,
        entries=tuple(_entry(entry, found.cwd) for entry in rows),
        brief=write_brief(found.entries, params.brief_size, cwd=found.cwd).text,
    )


def _entry(entry: Entry, cwd: str) -> LostEntry:
    from ullage.lost.left_out import detail_of, text_of  # noqa: PLC0415

    return LostEntry(
        kind=entry.kind, state=entry.life, text=text_of(entry, cwd), detail=detail_of(entry), index=entry.index
    )
