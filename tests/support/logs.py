"""Short ways to write records and messages in tests of stores."""

from collections.abc import Sequence

from ullage.model.events import Event, MessageAppended, Record, SessionCreated, SessionForked
from ullage.model.message import Message, Role, TextBlock


def message(message_id: str, text: str = "hello") -> MessageAppended:
    """Returns a user's message."""
    return MessageAppended(message=Message(id=message_id, role=Role.USER, content=(TextBlock(text=text),)))


def records(*events: Event, start: int = 0, timestamp: int = 1_000) -> tuple[Record, ...]:
    """Returns the events as records from position `start` on, the one at position p at `timestamp + p`."""
    return tuple(
        Record(position=position, timestamp=timestamp + position, event=event)
        for position, event in enumerate(events, start)
    )


def conversation(*texts: str, title: str = "", cwd: str = "/project", model: str = "m-1") -> tuple[Record, ...]:
    """Returns a new session's records: its creation, then a message `m0`, `m1`, … per text."""
    created = SessionCreated(title=title, cwd=cwd, model=model)
    return records(created, *(message(f"m{index}", text) for index, text in enumerate(texts)))


def fork(parent_id: str, position: int, *events: Event, title: str = "") -> tuple[Record, ...]:
    """Returns a fork's first records."""
    return records(SessionForked(parent_id=parent_id, position=position, title=title), *events, start=position + 1)


def events(log: Sequence[Record]) -> list[Event]:
    """Returns the records' events."""
    return [record.event for record in log]
