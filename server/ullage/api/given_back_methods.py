"""The method `context/givenBack`: what hooks gave back to the agent of a conversation. Result and handler."""

import asyncio
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import asdict

from ullage.api.session_methods import SessionParams
from ullage.model.edits import CompactionEdit
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.given_back import GivenBack
from ullage.transcript.fold import compaction_edits

# Milliseconds. An agent may write its compaction into its file a moment after the hook has answered, with the time of
# the writing.
_LATE = 60_000


class GivenBackRow(Struct, frozen=True, kw_only=True, rename="camel"):
    """A text that a hook gave the agent, `at` a time in Unix milliseconds.

    `why` is `compact` at the restart after a compaction, `resume` when the session was resumed, `prompt` at the next
    prompt, and `fill` for a note of how full the context is. `editId` is the compaction in force that it was given
    after; null if there is none, and for a note. `counts` has how many of each kind are in the text, with the kinds of
    `context/lost`. `characters` are UTF-16 units, `tokens` an estimate of what it costs.
    """

    at: int
    why: str
    edit_id: str | None
    counts: dict[str, int]
    characters: int
    tokens: int
    text: str


class GivenBackResult(Struct, frozen=True, kw_only=True):
    """What hooks gave back to the agent, the oldest first."""

    rows: tuple[GivenBackRow, ...]


async def given_back(workspace: Workspace, params: SessionParams) -> GivenBackResult:
    conversation = workspace.open(params.session_id)
    origin = conversation.transcript.origin
    receipts = await asyncio.to_thread(workspace.receipts, origin.origin_id) if origin and origin.origin_id else ()
    return GivenBackResult(rows=_rows(conversation, receipts))


def _rows(conversation: Conversation, receipts: Sequence[GivenBack]) -> tuple[GivenBackRow, ...]:
    records = conversation.workspace.ports.store.read_edits(conversation.id) if receipts else ()
    edits = compaction_edits(records)
    return tuple(GivenBackRow(edit_id=_edit_of(receipt, edits), **asdict(receipt)) for receipt in receipts)


def _edit_of(receipt: GivenBack, edits: Sequence[CompactionEdit]) -> str | None:
    before = [edit.id for edit in edits if edit.timestamp <= receipt.at + _LATE]
    return before[-1] if before and receipt.why != "fill" else None
