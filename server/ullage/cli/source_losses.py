"""What the last compaction of a command's session left out."""

from ullage.cli.session_source import Source
from ullage.lost.left_out import LeftOut
from ullage.lost.left_out import left_out as left_out_of
from ullage.model.errors import InputError


def left_out(source: Source) -> LeftOut:
    """Returns what the last compaction of the session left out. Raises `InputError` if there is none, or if its summary
    is not readable."""
    conversation = source.conversation
    found = left_out_of(source.workspace.ports.store.read(conversation.id), conversation.transcript.cwd)
    if found is None:
        raise InputError(
            f"{source.name}: no compaction is in force, so nothing was left out; `ullage context` shows how full it is"
        )
    if not found.compaction.is_readable:
        raise InputError(
            f"{source.name}: the provider keeps the summary of the last compaction encrypted, so what it left out "
            "is not known; `ullage messages` lists what was said before it"
        )
    return found
