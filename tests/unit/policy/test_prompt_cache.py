"""How long a prompt is kept in the provider's cache, what the next one costs, why one was written anew, and when an
agent compacts because a conversation idles."""

from collections.abc import Sequence
from typing import Any

import pytest

from support.build import assistant, user
from ullage.agents.own_context import Given, Setup, Texts
from ullage.agents.table import AGENTS
from ullage.known_models import price_of
from ullage.model.events import CompactionEdit, ContextEdited, Event, ModelChanged, RewindEdit, UsageReported
from ullage.model.message import Message, Role, ToolUseBlock
from ullage.model.usage import CacheMissCause, CacheSource, IdleCompaction, PromptCache, Usage
from ullage.policy.prompt_cache import CachedPrompt, idle_compaction, prompt_cache

AT, SECOND, MINUTE = 1_763_805_600_000, 1_000, 60_000
COMPACTION = CompactionEdit(
    id="e1", timestamp=AT, tokens_saved=0, start=0, end=1, marker=assistant("m1", "Summary."), by_agent=True
)
REWIND = RewindEdit(id="e1", timestamp=AT, tokens_saved=0, message_ids=("a1",))
# A price list that is easy to read: an input token costs a dollar, and Anthropic's shares of it for the cache.
DOLLARS = {"input": 1.0, "read": 0.1, "write": 1.25, "hour": 2.0}


def cost(usage: Usage) -> float:
    hour = usage.cache_creation_1h_input_tokens
    return (
        usage.input_tokens * DOLLARS["input"]
        + usage.cache_read_input_tokens * DOLLARS["read"]
        + (usage.cache_creation_input_tokens - hour) * DOLLARS["write"]
        + hour * DOLLARS["hour"]
    )


def report(answer: str, *, new: int = 0, read: int = 0, wrote: int = 0, hour: int = 0) -> UsageReported:
    usage = Usage(
        input_tokens=new,
        cache_read_input_tokens=read,
        cache_creation_input_tokens=wrote + hour,
        cache_creation_1h_input_tokens=hour,
        output_tokens=7,
    )
    return UsageReported(usage=usage, message_id=answer)


def state(*events: tuple[Event, int]) -> CachedPrompt:
    cached = CachedPrompt()
    for event, at in events:
        cached = cached.after(event, at)
    return cached


def shown(*events: tuple[Event, int], used: int) -> PromptCache | None:
    return prompt_cache(state(*events), used, cost)


def test_what_was_written_for_five_minutes_is_kept_for_five_minutes_after_its_last_use() -> None:
    cache = shown((report("a1", new=10, wrote=1_000), AT), used=1_100)
    assert cache == PromptCache(
        until=AT + 5 * MINUTE,
        keeps=5 * MINUTE,
        source=CacheSource.PROMISED,
        tokens=1_000,
        warm=1_000 * 0.1 + 100 * 1.25,
        cold=1_100 * 1.25,
    )
    # A request that reads keeps it again, although it writes nothing.
    again = shown((report("a1", wrote=1_000), AT), (report("a2", new=5, read=1_000), AT + 4 * MINUTE), used=1_100)
    assert again is not None
    assert (again.until, again.tokens) == (AT + 9 * MINUTE, 1_000)


def test_what_was_written_for_an_hour_is_kept_for_an_hour_and_costs_twice_the_input() -> None:
    cache = shown((report("a1", hour=1_000), AT), used=1_500)
    assert cache is not None
    assert (cache.until, cache.keeps) == (AT + 60 * MINUTE, 60 * MINUTE)
    assert (cache.warm, cache.cold) == (1_000 * 0.1 + 500 * 2.0, 1_500 * 2.0)
    # The kind of entry may change from one request to the next.
    five = shown((report("a1", hour=1_000), AT), (report("a2", read=1_000, wrote=20), AT + MINUTE), used=1_020)
    assert five is not None
    assert five.keeps == 5 * MINUTE


def test_a_provider_that_promises_nothing_is_believed_what_the_log_shows() -> None:
    events: list[tuple[Event, int]] = [
        (report("a1", new=2_000), AT),
        (report("a2", new=500, read=1_500), AT + 20 * SECOND),
        (report("a3", new=300, read=2_000), AT + 40 * SECOND),
    ]
    # Twenty seconds are no pause in which a person types.
    assert shown(*events, used=2_400) is None
    events.append((report("a4", new=100, read=2_300), AT + 40 * SECOND + 7 * MINUTE))
    cache = shown(*events, used=2_600)
    assert cache is not None
    assert (cache.source, cache.keeps) == (CacheSource.SEEN, 7 * MINUTE)
    assert cache.until == AT + 40 * SECOND + 14 * MINUTE
    # Its writes cost what input costs.
    assert (cache.warm, cache.cold) == (2_400 * 0.1 + 200, 2_600)


CAUSES: list[tuple[Sequence[tuple[Event, int]], UsageReported, int, CacheMissCause]] = [
    ([], report("a2", wrote=1_100), 6 * MINUTE, CacheMissCause.IDLE),
    ([], report("a2", read=200, wrote=900), 6 * MINUTE, CacheMissCause.IDLE),
    ([], report("a2", wrote=1_100), MINUTE, CacheMissCause.PREFIX),
    ([], report("a2", read=200, wrote=900), MINUTE, CacheMissCause.MESSAGES),
    ([(ModelChanged(model="other"), 0)], report("a2", wrote=1_100), MINUTE, CacheMissCause.MODEL),
    (
        [(ContextEdited(edit=COMPACTION), 0)],
        report("a2", read=200, wrote=300),
        MINUTE,
        CacheMissCause.COMPACTION,
    ),
]


@pytest.mark.parametrize(("between", "after", "pause", "cause"), CAUSES)
def test_a_miss_has_its_cause(
    between: Sequence[tuple[Event, int]], after: UsageReported, pause: int, cause: CacheMissCause
) -> None:
    cached = state((report("a1", wrote=1_000), AT), *between, (after, AT + pause))
    assert cached.miss is not None
    assert cached.miss.cause is cause
    assert cached.miss.at == AT + pause
    assert cached.miss.tokens == after.usage.prompt - after.usage.cache_read_input_tokens


def test_nothing_is_said_of_a_prompt_that_was_replaced() -> None:
    wrote = (report("a1", wrote=1_000), AT)
    assert shown(wrote, (ModelChanged(model="other"), 0), used=1_000) is None
    assert shown(wrote, (ContextEdited(edit=REWIND), 0), used=500) is None


def test_nothing_is_said_without_a_cache_or_a_time() -> None:
    assert shown(used=0) is None
    assert shown((report("a1", new=1_000), AT), used=1_000) is None
    assert shown((report("a1", wrote=1_000), 0), used=1_000) is None


def test_an_answer_that_is_reported_again_is_one_request() -> None:
    first = report("a1", wrote=1_000)
    cached = state((first, AT), (first, AT + 2 * SECOND))
    assert cached.miss is None
    assert cached.at == AT + 2 * SECOND


def test_without_a_price_only_the_time_is_known() -> None:
    cache = prompt_cache(state((report("a1", wrote=1_000), AT)), 1_000, lambda _: None)
    assert cache is not None
    assert (cache.warm, cache.cold, cache.until) == (None, None, AT + 5 * MINUTE)


def test_the_prices_are_those_of_the_list() -> None:
    price = price_of("claude-opus-4-5")
    assert price is not None
    cache = prompt_cache(state((report("a1", wrote=100_000), AT)), 100_000, price.cost)
    # Anthropic's list: 5 dollars for a million tokens, a tenth for reading, 1.25 times for writing.
    assert cache is not None
    assert (cache.warm, cache.cold) == (0.05, 0.625)


(CLAUDE,) = (agent for agent in AGENTS if agent.name == "Claude Code")
ANSWER = assistant("a1", "Done.")
CALL = Message(id="a1", role=Role.ASSISTANT, content=(ToolUseBlock(id="t1", name="Read", input={}),))
HOUR = Usage(cache_creation_input_tokens=9, cache_creation_1h_input_tokens=9)
FIVE_MINUTES = Usage(cache_creation_input_tokens=9)
READ_ONLY = Usage(cache_read_input_tokens=9)


def announced(
    *usages: Usage,
    used: int = 240_000,
    last: Message | None = ANSWER,
    at: int | None = AT,
    version: str = "2.1.332",
    started_by: str = "cli",
    files: tuple[dict[str, Any], ...] = (),
    **variables: str,
) -> IdleCompaction | None:
    cached = CachedPrompt()
    for usage in usages:
        cached = cached.after(UsageReported(usage=usage, message_id="a1"), AT)
    assert CLAUDE.own_settings is not None
    given: Given = CLAUDE.own_settings.given(Texts(files=files, variables=variables))
    rule = CLAUDE.own_context.idle(Setup(version=version, window=1_000_000, given=given, started_by=started_by))
    return idle_compaction(rule, cached, used, at, last)


def test_a_conversation_that_idles_is_compacted_54_minutes_after_its_last_answer() -> None:
    assert announced(HOUR) == IdleCompaction(at=AT + 54 * MINUTE, setting='"idleCompaction": false')
    # A request that wrote nothing to the cache leaves it as it was.
    assert announced(HOUR, READ_ONLY) is not None
    assert announced(FIVE_MINUTES, HOUR) is not None
    assert announced(HOUR, started_by="claude-vscode") is not None
    assert announced(HOUR, started_by="") is not None


MISSING: list[tuple[list[Usage], dict[str, Any]]] = [
    ([FIVE_MINUTES], {}),
    ([HOUR, FIVE_MINUTES], {}),
    ([READ_ONLY], {}),
    ([HOUR], {"used": 199_999}),
    ([HOUR], {"last": user("u2", "Go on.")}),
    ([HOUR], {"last": CALL}),
    ([HOUR], {"last": None}),
    ([HOUR], {"at": None}),
    ([HOUR], {"version": "2.1.285"}),
    ([HOUR], {"started_by": "sdk-ts"}),
    ([HOUR], {"started_by": "sdk-cli"}),
    ([HOUR], {"files": ({}, {"idleCompaction": False})}),
    ([HOUR], {"files": ({}, {"autoCompactEnabled": False})}),
    ([HOUR], {"DISABLE_AUTO_COMPACT": "1"}),
    ([HOUR], {"CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS": "300000"}),
    ([HOUR], {"used": 90_000, "CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS": "50000"}),
]


@pytest.mark.parametrize(("usages", "facts"), MISSING)
def test_nothing_is_announced_if_something_is_missing(usages: list[Usage], facts: dict[str, Any]) -> None:
    assert announced(*usages, **facts) is None


def test_the_least_size_is_that_of_the_users_variable() -> None:
    assert announced(HOUR, used=110_000, CLAUDE_CODE_IDLE_COMPACT_MIN_TOKENS="100000") is not None
