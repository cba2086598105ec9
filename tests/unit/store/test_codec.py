"""The encoding of events as JSON."""

from math import inf

from hypothesis import given
from hypothesis.strategies import binary

from support.logs import message
from ullage.model.events import MessageAppended, SessionRenamed, UsageReported
from ullage.model.message import Message, Role, ToolUseBlock
from ullage.model.usage import Usage
from ullage.store.tables.connection import decode_event, encode_event, event_name, packed, storable, unpacked


def test_half_surrogate_pairs_and_huge_integers_survive() -> None:
    block = ToolUseBlock(id="t", name="n", input={"huge": 2**70, "broken\ud800": "\udfff", "emoji": "\U0001f377"})
    event = MessageAppended(message=Message(id="m", role=Role.ASSISTANT, content=(block,)))
    assert decode_event(encode_event(event)) == event


def test_the_payload_starts_with_the_events_name() -> None:
    assert encode_event(SessionRenamed(title="t")) == b'{"type":"session_renamed","title":"t"}'


def test_an_event_and_its_class_have_the_same_name() -> None:
    event = UsageReported(usage=Usage(), message_id="m")
    assert event_name(event) == event_name(UsageReported) == "usage_reported"


def test_storable_text_differs_only_where_a_surrogate_pair_is_broken() -> None:
    assert storable("a\udce9\U0001f377") == "a\\udce9\U0001f377"


@given(binary(max_size=700) | binary(min_size=400, max_size=600).map(lambda value: b"x" + value))
def test_any_value_comes_out_of_its_packing_as_it_was(value: bytes) -> None:
    assert unpacked(packed(value)) == value
    assert unpacked(packed(value, inf)) == value


def test_a_long_payload_is_kept_compressed_and_a_short_one_as_it_is() -> None:
    short, long = (encode_event(message("m", "A walnut tree. " * count)) for count in (5, 500))
    assert packed(short) == short
    assert len(packed(long)) < len(long) / 20
    assert decode_event(packed(long)) == decode_event(long)
