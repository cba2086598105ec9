"""The tool `lost` and the brief: what the conversation's last compaction left out."""

import asyncio

from ullage.lost.brief import LONGEST, characters, write_brief
from ullage.lost.left_out import LeftOut, left_out
from ullage.mcp.result_size import MAX_RESULT
from ullage.model.errors import UllageError
from ullage.redaction.quoting import size_of
from ullage.service.conversation.conversation import Conversation

_NOTHING = (
    "Everything that the user typed is in what the last compaction kept, and so are the open tasks and problems, the "
    "changed files and the last commit."
)
_LAST = "A whole message: ullage_open with its number, such as #85."


class Unknown(UllageError):
    """What was left out is not known."""


async def lost_text(own: Conversation, kind: str | None) -> str:
    """Returns what the last compaction left out, as much as a result may hold of what is needed most: of one kind, or
    of all. Says so if nothing was left out, or if that is not known."""
    try:
        entries = (await _found(own)).entries
    except Unknown as error:
        return str(error)
    chosen = [entry for entry in entries if kind in (None, entry.kind.value)]
    if not chosen:
        return _NOTHING if kind is None else f"The last compaction left out no entry of the kind {kind}."
    brief = write_brief(chosen, MAX_RESULT - size_of(_LAST) - 2, _bytes, cwd=own.transcript.cwd)
    return f"{brief.text}\n\n{_LAST}"


async def brief_text(own: Conversation) -> str:
    """Returns the brief that is given back to an agent after its compaction, or why there is none."""
    try:
        entries = (await _found(own)).entries
    except Unknown as error:
        return str(error)
    return write_brief(entries, LONGEST, characters, cwd=own.transcript.cwd).text or _NOTHING


async def _found(own: Conversation) -> LeftOut:
    """Returns what the last compaction left out. Raises `Unknown`."""
    records = own.workspace.ports.store.read(own.id)
    # In a thread, because reading a long conversation for the first time takes a second.
    found = await asyncio.to_thread(left_out, records, own.transcript.cwd)
    if found is None:
        raise Unknown("This conversation has no compaction in force, so nothing was left out of your context.")
    if not found.compaction.is_readable:
        raise Unknown(
            "The summary of the last compaction is encrypted, so what it leaves out is not known. Use ullage_search."
        )
    return found


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))
