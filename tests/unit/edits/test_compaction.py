"""Planning a compaction: which old messages stay verbatim between the summary and the tail."""

from collections.abc import Sequence

from support.build import assistant, counted, user, words
from ullage.edits.compaction import CompactionLimits, plan_compaction
from ullage.model.message import Message, Role

MESSAGES = (
    user("first", "Port it."),
    *(message for n in range(20) for message in (assistant(f"a{n}", words(60)), user(f"u{n}", words(8)))),
)


def prompts_only(messages: Sequence[Message], group: range, tail: range) -> float:
    return float(messages[group.start].role is Role.USER)


def everything(messages: Sequence[Message], group: range, tail: range) -> float:
    return 1.0


def kept(old: int) -> tuple[str, ...]:
    limits = CompactionLimits(target=900, keep_tail=200, keep_old=old)
    plan = plan_compaction(counted(*MESSAGES), limits, (), "first", prompts_only)
    assert plan is not None
    return plan.kept


def test_messages_worth_their_tokens_stay_in_their_order() -> None:
    ids = kept(100)
    assert len(ids) > 2
    assert all(name.startswith("u") for name in ids)
    assert list(ids) == sorted(ids, key=lambda name: int(name[1:]))


def test_they_take_no_more_than_their_room() -> None:
    view = counted(*MESSAGES)
    tokens = dict(zip((message.id for message in view.messages), view.tokens, strict=True))
    assert sum(tokens[name] for name in kept(100)) <= 100
    assert kept(0) == ()


def test_a_head_that_is_worth_keeping_whole_is_compacted_all_the_same() -> None:
    messages: tuple[Message, ...] = MESSAGES[:7]
    view = counted(*messages)
    limits = CompactionLimits(target=view.used, keep_tail=80, keep_old=10_000)
    plan = plan_compaction(view, limits, (), "first", everything)
    assert plan is not None
    assert plan.messages_archived > 0
