"""The cuts of a recorded conversation: where its agent compacted, or else places that are chosen here."""

from collections.abc import Iterator, Sequence
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from ullage.formats.transcripts.imported import ImportedTranscript
from ullage.model.edits import CompactionEdit
from ullage.model.events import ContextEdited, Event, MessageAppended, ModelChanged, UsageReported, first_messages
from ullage.model.message import Message, Role
from ullage.tokens.counter import TokenCounter
from ullage.transcript.cut_points import cut_points

# The shares of a conversation's tokens at which it is cut if its agent never compacted.
CHOSEN = (0.5, 0.75)


class Cut(Struct, frozen=True, kw_only=True):
    """A place in a conversation. The first `at` messages are before it, and actions are replayed up to message `stop`.
    `before` are the events up to it, without figures. `edit` is the agent's own compaction, None at a chosen place."""

    at: int
    stop: int
    before: tuple[Event, ...]
    edit: ContextEdited | None = None


def messages_of(transcript: ImportedTranscript) -> tuple[Message, ...]:
    """Returns all messages of a transcript."""
    return tuple(event.message for event in transcript.events if isinstance(event, MessageAppended))


def find_cuts(transcript: ImportedTranscript, counter: TokenCounter, *, only_recorded: bool) -> list[Cut]:
    """Returns the places where the agent compacted. If it never did, returns chosen places, unless `only_recorded`."""
    # Reports and models would change how tokens are counted from cut to cut.
    events = tuple(event for event in transcript.events if not isinstance(event, UsageReported | ModelChanged))
    recorded = list(_recorded(events))
    if recorded or only_recorded:
        return recorded
    return list(_chosen(events, messages_of(transcript), counter))


def _recorded(events: Sequence[Event]) -> Iterator[Cut]:
    total = sum(isinstance(event, MessageAppended) for event in events)
    found = list[Cut]()
    count = 0
    for place, event in enumerate(events):
        count += isinstance(event, MessageAppended)
        if isinstance(event, ContextEdited) and isinstance(event.edit, CompactionEdit):
            found.append(Cut(at=count, stop=total, before=tuple(events[:place]), edit=event))
    stops = [*(cut.at for cut in found[1:]), total]
    yield from (replace(cut, stop=stop) for cut, stop in zip(found, stops, strict=bool(found)))


def _chosen(events: Sequence[Event], messages: Sequence[Message], counter: TokenCounter) -> Iterator[Cut]:
    """Yields a cut at each chosen share: the next place at which a model was asked."""
    places = [at for at in cut_points(messages)[1:-1] if messages[at].role is Role.ASSISTANT]
    before = [0, *accumulate(map(counter.count_message, messages))]
    chosen = {next((at for at in places if before[at] >= part * before[-1]), None): None for part in CHOSEN}
    for at in chosen:
        if at is not None:
            yield Cut(at=at, stop=len(messages), before=tuple(first_messages(events, at)))
