"""Planning a compaction: which old messages stay verbatim between the summary and the tail."""

from support.build import assistant, counted, user, words
from support.views import judging
from ullage.edits.compaction import CompactionLimits, plan_compaction
from ullage.model.message import Message, Role

MESSAGES = (
    user("first", "Port it."),
    *(message for n in range(20) for message in (assistant(f"a{n}", words(60)), user(f"u{n}", words(8)))),
)


def is_prompt(message: Message, _: int) -> bool:
    return message.role is Role.USER


def kept(old: int, forbidden: frozenset[str] = frozenset()) -> tuple[str, ...]:
    limits = CompactionLimits(target=900, keep_tail=200, keep_old=old)
    plan = plan_compaction(counted(*MESSAGES), limits, (), "first", judging(is_prompt, forbidden))
    assert plan is not None
    return plan.kept


def test_a_message_that_may_not_stay_leaves_its_room_to_the_next() -> None:
    newest = kept(100)[-1]
    others = kept(100, frozenset({newest}))
    assert newest not in others
    assert len(others) == len(kept(100))


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
    plan = plan_compaction(view, limits, (), "first", judging(lambda _, __: True))
    assert plan is not None
    assert plan.messages_archived > 0


def test_a_summary_gets_a_larger_share_of_a_small_context() -> None:
    turns = ((assistant(f"a{n}", words(10)), user(f"u{n}", words(10))) for n in range(2_000))
    view = counted(user("first", "Port it."), *(message for turn in turns for message in turn))

    def tail_share(target: int) -> float:
        limits = CompactionLimits(target=target, keep_tail=target, summary=target)
        plan = plan_compaction(view, limits, (), "first")
        assert plan is not None
        return sum(view.tokens[plan.end :]) / target

    assert 0.2 < tail_share(2_000) < 0.26 < tail_share(4_000) < tail_share(16_000) < 0.35
