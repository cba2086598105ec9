"""A compaction as a person asks for it: all of the context, or from one message, or up to one."""

from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.counted import CountedView
from ullage.edits.stretch import find_stretch, plan_stretch
from ullage.model import words
from ullage.model.edits import EditTrigger
from ullage.model.errors import MessageNotFound, NothingToCompact
from ullage.service.compact.run import manual_limits, plan, planned_on
from ullage.service.conversation.session import Planned, Session
from ullage.service.conversation.workspace import Workspace


class Asked(Struct, frozen=True, kw_only=True):
    """What to keep above all, and the first and the last message of what is to go, each left out for that end of the
    context; without either the usual limits decide."""

    focus: str = ""
    first_id: str | None = None
    last_id: str | None = None


async def plan_asked(workspace: Workspace, session: Session, asked: Asked) -> Planned:
    """Decides what goes. Raises `NothingToCompact`, `MessageNotFound`."""
    if asked.first_id is None and asked.last_id is None:
        limits = manual_limits(session.used, workspace.budget(session))
        return await plan(workspace, session, limits, EditTrigger.MANUAL)
    transcript, view = session.transcript, session.counted_view()
    stretch = find_stretch(view, _place(view, asked.first_id), _place(view, asked.last_id))
    first_user_id = transcript.first_user_id
    pinned = frozenset(transcript.pinned)
    planning = partial(plan_stretch, view, stretch, transcript.messages, pinned, first_user_id)
    planned = await planned_on(workspace, session, view, lambda _: planning(), EditTrigger.MANUAL)
    if planned is None:
        raise NothingToCompact(words.nothing_in_stretch(stretch.note))
    return replace(planned, note=stretch.note)


def _place(view: CountedView, message_id: str | None) -> int | None:
    if message_id is None:
        return None
    for place, item in enumerate(view.items):
        if item.message.id == message_id:
            return place
    raise MessageNotFound(f"no message {message_id!r} in the context; only what is in it can be compacted")
