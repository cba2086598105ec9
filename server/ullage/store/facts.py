"""What the list of sessions shows of a session, folded from its events."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from ullage.model.events import Event, ModelChanged, SessionCreated, SessionForked, SessionRenamed


class SessionFacts(Struct, frozen=True, kw_only=True):
    """A fork inherits `cwd` and `model` as they were where it branched off; its title is its own."""

    title: str = ""
    cwd: str = ""
    model: str = ""


# The events that a fork inherits facts from.
INHERITED = (SessionCreated, ModelChanged)


def fold_facts(facts: SessionFacts, events: Iterable[Event]) -> SessionFacts:
    """The facts after these events."""
    for event in events:
        facts = _apply(facts, event)
    return facts


def _apply(facts: SessionFacts, event: Event) -> SessionFacts:
    match event:
        case SessionCreated():
            return SessionFacts(title=event.title, cwd=event.cwd, model=event.model)
        case SessionForked() | SessionRenamed():
            return msgspec.structs.replace(facts, title=event.title)
        case ModelChanged():
            return msgspec.structs.replace(facts, model=event.model)
        case _:
            return facts
