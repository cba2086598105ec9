"""The facts that the list of sessions shows, folded from a session's events."""

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from ullage.model.events import Event, ModelChanged, SessionCreated, SessionForked, SessionRenamed


class SessionFacts(Struct, frozen=True, kw_only=True):
    """A session's listed facts. A fork inherits `cwd` and `model` as they were where it began; its title is its own."""

    title: str = ""
    cwd: str = ""
    model: str = ""


# The events from which a fork inherits facts.
INHERITED = (SessionCreated, ModelChanged)


def fold_facts(facts: SessionFacts, events: Iterable[Event]) -> SessionFacts:
    """Returns the facts after these events."""
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
