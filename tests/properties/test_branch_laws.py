"""Going back in a transcript: the context is what leads to the last place, and nothing leaves the transcript."""

from hypothesis import given
from hypothesis import strategies as st

from ullage.formats.transcripts.builder import TranscriptBuilder, kept_place
from ullage.model.events import MessageAppended
from ullage.model.message import Role, TextBlock
from ullage.transcript.fold import project

# An operation, and a number that chooses the place to go back to. "keep" is a compaction that keeps two messages.
OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["say", "say", "say", "compact", "keep", "go back"]), st.integers(0, 1_000)), max_size=30
)


@given(OPERATIONS)
def test_the_context_is_what_leads_to_the_last_place(operations: list[tuple[str, int]]) -> None:
    builder = TranscriptBuilder("made up", "test")
    builder.add(Role.SYSTEM, (TextBlock(text="be brief"),), "s")
    contexts: dict[str, tuple[str, ...]] = {"": ()}
    now = ""
    said: list[str] = []
    for number, (operation, choice) in enumerate(operations):
        if operation == "say":
            said.append(builder.add(Role.USER, (TextBlock(text=str(number)),), f"m{number}"))
            contexts[said[-1]] = (*contexts[now], said[-1])
            now = said[-1]
        elif operation == "compact" and now:
            builder.compact("what was said", f"c{number}")
            now = f"c{number}"
            contexts[now] = (f"c{number}-marker",)
        elif operation == "keep" and now:
            kept = tuple(message_id for message_id in contexts[now] if not message_id.endswith("-marker"))[-2:]
            builder.compact("what was said", f"c{number}", kept=kept)
            contexts[f"c{number}"] = (f"c{number}-marker",)
            for length, message_id in enumerate(kept, start=1):
                contexts[kept_place(f"c{number}", message_id)] = (f"c{number}-marker", *kept[:length])
            now = list(contexts)[-1]
        elif operation == "go back":
            now = list(contexts)[choice % len(contexts)]
            builder.rewind(now)
        assert builder.tip == now
    view = [message.id for message in project(builder.events) if message.role is not Role.SYSTEM]
    assert tuple(view) == contexts[now]
    in_transcript = [event.message.id for event in builder.events if isinstance(event, MessageAppended)]
    assert in_transcript == ["s", *said]


@given(OPERATIONS, st.integers(1, 5))
def test_events_drained_in_pieces_are_all_events(operations: list[tuple[str, int]], every: int) -> None:
    builder = TranscriptBuilder("made up", "test")
    drained = list(builder.drain())
    for number, (operation, _) in enumerate(operations):
        if operation == "go back":
            builder.rewind(f"m{number // 2}")
        else:
            builder.add(Role.USER, (TextBlock(text=str(number)),), f"m{number}")
        if number % every == 0:
            drained += builder.drain()
    drained += builder.drain()
    assert tuple(drained) == builder.events
