"""Laws of the weights: which of two names has more weight, whatever the fitted numbers are."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from support.conversations import agent, call, places, user
from ullage.model.message import Message
from ullage.summary.choosing.weights import Mention, count_mentions, weight_of
from ullage.summary.reading.digest import read_messages
from ullage.summary.reading.text_reader import Reader
from ullage.summary.tuning import TUNING

counts = st.integers(0, 50)
mentions = st.builds(Mention, said=counts, called=counts, since=st.floats(0, 500))


def mentions_of(*messages: Message, tail: tuple[Message, ...] = ()) -> dict[str, Mention]:
    digest, behind = (read_messages(each, places(each), Reader()) for each in (messages, tail))
    return count_mentions(digest.contents, behind.contents)


@given(mentions)
def test_a_weight_is_between_nothing_and_that_of_a_name_that_is_certain_to_be_needed(mention: Mention) -> None:
    assert 0 < weight_of(mention) < 1


@given(st.integers(1, 50))
def test_a_name_that_was_said_outweighs_one_written_in_calls_and_that_one_only_seen(times: int) -> None:
    said, called, seen = Mention(said=times), Mention(called=times), Mention()
    assert weight_of(said) > weight_of(called) > weight_of(seen)


@given(mentions)
def test_a_name_weighs_more_for_each_time_the_agent_wrote_it(mention: Mention) -> None:
    assert weight_of(replace(mention, said=mention.said + 1)) > weight_of(mention)
    assert weight_of(replace(mention, called=mention.called + 1)) > weight_of(mention)


@given(mentions, st.floats(0.1, 100))
def test_of_two_names_written_alike_the_later_one_weighs_more(mention: Mention, more: float) -> None:
    assert weight_of(mention) > weight_of(replace(mention, since=mention.since + more))


@given(mentions, st.floats(0.1, 5))
def test_a_larger_base_raises_every_weight_and_leaves_the_order_as_it_is(mention: Mention, more: float) -> None:
    raised = replace(TUNING, base=TUNING.base + more)
    assert weight_of(mention, raised) > weight_of(mention)
    assert weight_of(Mention(said=1), raised) > weight_of(Mention(called=1), raised) > weight_of(Mention(), raised)


def test_a_mention_counts_who_said_a_name_and_how_long_ago() -> None:
    found = mentions_of(
        user("Fix it."),
        agent("I think `load_config` is wrong."),
        *call("Edit", {"file_path": "src/app.py", "new_string": "load_config(spool_path)"}, "load_config changed"),
        agent("And now for something else, with no name in it. " * 100),
    )
    mention, other = found["load_config"], found["spool_path"]
    assert (mention.said, mention.called, mention.times, mention.last_index) == (1, 1, 3, 3)
    assert (other.said, other.called, other.times, other.last_index) == (0, 1, 1, 2)
    assert mention.written
    assert other.since > mention.since > 0.9


def test_messages_after_the_stretch_make_its_names_older_and_add_no_names() -> None:
    said = agent("I think `load_config` is wrong.")
    alone, followed = mentions_of(said), mentions_of(said, tail=(agent("Now `write_config` next. " * 40),))
    assert alone.keys() == followed.keys() == {"load_config"}
    assert followed["load_config"].since > alone["load_config"].since
