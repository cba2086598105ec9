"""The embeddable API: a conversation in each provider's format, from the first message to the tenth compaction."""

import asyncio
import gc
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from support.provider_rules import openai_violations
from ullage import ContextManager, SummaryTask
from ullage.model.errors import InvalidRequest, NothingToCompact, WindowUnknown
from ullage.model.updates import Level, Notice, Update
from ullage.model.usage import UsageSource

WINDOW = 8_000
USABLE = 6_000


@pytest.fixture
def manager() -> Iterator[ContextManager]:
    with ContextManager("gpt-4o", "anthropic", system="Be brief.", window=WINDOW) as context:
        yield context


def user(number: int, words: int = 250) -> dict[str, Any]:
    return {"role": "user", "content": f"Question {number}: " + "why is that so? " * (words // 4)}


def answer(number: int, words: int = 250) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": f"Answer {number}:" + " because." * words}]}


def fill(context: ContextManager, exchanges: int) -> None:
    for number in range(exchanges):
        context.add_message(user(number), answer(number))


def test_a_request_holds_what_the_call_takes_and_nothing_empty() -> None:
    with ContextManager("gpt-4o", "openai") as context:
        context.add_message({"role": "user", "content": "Hi."})
        assert context.get_request() == {"messages": [{"role": "user", "content": "Hi."}]}
        context.set_system_prompt("Be brief.")
        context.set_tools([{"type": "function", "function": {"name": "run", "parameters": {}}}])
        request = context.get_request()
        assert request["messages"][0] == {"role": "system", "content": "Be brief."}
        assert [tool["function"]["name"] for tool in request["tools"]] == ["run"]


def test_the_system_prompt_can_be_replaced_and_counts_once(manager: ContextManager) -> None:
    manager.add_message(user(0))
    before = manager.token_usage
    manager.set_system_prompt("Speak as a sailor would. " * 40)
    assert manager.get_request()["system"] == "Speak as a sailor would. " * 40
    manager.set_system_prompt("Be brief.")
    assert manager.get_request()["system"] == "Be brief."
    assert manager.token_usage == before


def test_room_is_made_only_when_it_is_due(manager: ContextManager) -> None:
    fill(manager, 3)
    assert not manager.needs_compaction()
    assert manager.compact_if_needed_sync() is None
    before = manager.get_messages()
    fill(manager, 10)
    assert manager.needs_compaction()
    used = manager.token_usage
    made = manager.compact_if_needed_sync()
    assert made is not None
    assert made.summary
    assert made.saved_tokens == used - manager.token_usage > 0
    assert len(made.removed) > 10
    assert {message.id for message in made.removed}.isdisjoint(message.id for message in made.messages)
    assert not manager.needs_compaction()
    assert manager.get_messages()[: len(before)] == before


def test_compacting_by_hand_and_taking_it_back(manager: ContextManager) -> None:
    with pytest.raises(NothingToCompact):
        manager.compact_sync()
    fill(manager, 6)
    before = manager.get_request()
    made = manager.compact_sync(focus="Answer 2")
    assert made.summary
    assert manager.get_request() != before
    assert len(manager.undo()) == 1
    assert manager.get_request() == before
    assert manager.undo() == ()
    assert [edit.reverted for edit in manager.history()] == [True]


def test_the_providers_account_is_believed(manager: ContextManager) -> None:
    with pytest.raises(InvalidRequest, match="assistant"):
        manager.update_usage({"input_tokens": 100, "output_tokens": 10})
    manager.add_message(user(0), answer(0))
    assert manager.get_stats().source is UsageSource.ESTIMATED
    manager.update_usage({"input_tokens": 1_000, "output_tokens": 500})
    stats = manager.get_stats()
    assert (stats.used, stats.source) == (1_500, UsageSource.REPORTED)
    assert manager.available_tokens == USABLE - 1_500
    response = {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}
    manager.add_message(user(1), {**response, "usage": {"input_tokens": 2_000, "output_tokens": 3}})
    assert manager.token_usage == 2_003
    manager.add_message(user(2), response, usage={"input_tokens": 3_000, "output_tokens": 4})
    assert manager.token_usage == 3_004


def test_stats_say_how_the_window_is_shared(manager: ContextManager) -> None:
    fill(manager, 12)
    stats = manager.get_stats()
    shares = stats.shares
    assert shares is not None
    assert shares.system_prompt + shares.tools + shares.conversation + shares.reserve == stats.size == WINDOW
    assert (stats.level, shares.available) == (Level.CRITICAL, manager.available_tokens)
    assert shares.overflow == stats.used - USABLE > 0


def test_pins_outlive_every_compaction_and_what_is_archived_is_found(manager: ContextManager) -> None:
    pinned, _ = manager.add_message(user(0), {"role": "assistant", "content": "The password of the day is walnut."})
    manager.add_message(user(1))
    kept = manager.add_message({"role": "user", "content": "Never mention whales."})[0]
    manager.pin(kept)
    for number in range(20):
        manager.add_message(answer(number), user(number))
        manager.compact_if_needed_sync()
    sent = json.dumps(manager.get_request())
    assert "Never mention whales." in sent
    hits = manager.search("walnut")
    assert [hit.role for hit in hits] == ["assistant"]
    assert pinned != kept


def test_a_summarizer_of_ones_own_gets_the_messages_and_the_last_summary() -> None:
    tasks: list[SummaryTask] = []

    def summarize(task: SummaryTask) -> str:
        tasks.append(task)
        return f"Summary {len(tasks)}."

    with ContextManager("gpt-4o", "openai", window=WINDOW, llm=summarize) as context:
        for number in range(40):
            context.add_message(user(number), {"role": "assistant", "content": "Because. " * 200})
            context.compact_if_needed_sync()
        sent = json.dumps(context.get_request())
    assert len(tasks) >= 2
    assert tasks[0].previous == ""
    written = [task.previous.partition("\n\n## What the user said")[0] for task in tasks[1:]]
    assert written == [f"Summary {number}." for number in range(1, len(tasks))]
    assert f"Summary {len(tasks)}." in sent
    assert openai_violations(tasks[0].request["messages"]) == []


def test_a_summarizer_that_fails_costs_a_summary_not_the_limit() -> None:
    def summarize(task: SummaryTask) -> str:
        raise TimeoutError("no answer")

    told: list[Update] = []

    def tell(session_id: str, update: Update) -> None:
        told.append(update)

    with ContextManager("gpt-4o", window=WINDOW, llm=summarize, on_update=tell) as context:
        fill(context, 12)
        made = context.compact_sync()
        assert made.summary, "the summary is composed by code instead"
        fill(context, 12)
        context.get_request()
        assert context.token_usage <= USABLE
    assert any(isinstance(update, Notice) and "no answer" in str(update.description) + update.title for update in told)


def test_an_unknown_window_is_said_at_once() -> None:
    with pytest.raises(WindowUnknown, match="give it as `window`"):
        ContextManager("nobody-knows-this-model")
    with ContextManager("nobody-knows-this-model", window=10_000) as context:
        assert context.get_stats().size == 10_000


@pytest.mark.parametrize(
    ("provider", "message"),
    [
        ("anthropic", {"role": "tool", "content": "x"}),
        ("openai", {"content": "x"}),
        ("openai-responses", {"content": "x"}),
    ],
)
def test_what_is_no_message_is_refused_and_changes_nothing(provider: str, message: dict[str, str]) -> None:
    with ContextManager("gpt-4o", provider) as context:
        used = context.token_usage
        with pytest.raises(InvalidRequest, match=f"not in the format of {provider}"):
            context.add_message({"role": "user", "content": "Hi."}, message)
        assert context.token_usage == used


def test_an_unknown_provider_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidRequest, match="no provider 'gemini'; there are anthropic, openai, openai-responses"):
        ContextManager("gpt-4o", provider="gemini")


async def test_it_can_be_used_inside_a_running_event_loop() -> None:
    with ContextManager("gpt-4o", window=WINDOW) as context:
        fill(context, 12)
        assert context.compact_if_needed_sync() is not None
        assert await asyncio.to_thread(lambda: context.token_usage) == context.token_usage


def test_a_forgotten_manager_leaves_no_thread_behind() -> None:
    # Compared one by one: a thread of an earlier test may end meanwhile.
    before = set(threading.enumerate())
    context = ContextManager("gpt-4o")
    (loop,) = set(threading.enumerate()) - before
    del context
    gc.collect()
    assert not loop.is_alive()


def test_a_manager_that_is_closed_while_it_reads_ahead_ends_what_it_began(caplog: pytest.LogCaptureFixture) -> None:
    before = set(threading.enumerate())
    with ContextManager("gpt-4o", "anthropic", window=WINDOW) as context:
        while context.token_usage < USABLE * 3 // 4:
            context.add_message(user(context.token_usage), answer(context.token_usage))
    gc.collect()
    assert not caplog.records
    assert set(threading.enumerate()) <= before
