"""The words by which programs call Ullage: every name, option, attribute and method that is public, used once as a
newcomer would use it. None of them may ever go away or change its kind."""

import asyncio
import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import ullage
from support.build import words
from support.documents import ROOT
from ullage.model.errors import InvalidRequest, WindowUnknown

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "You fix bugs."},
    {"role": "user", "content": "Why does the parser fail?"},
    *({"role": "user" if at % 2 else "assistant", "content": f"{at}: {words(60)}"} for at in range(40)),
]
COUNTER = ullage.get_counter("gpt-4")
PUBLIC = [
    "ApproximateCounter",
    "AsyncContextManager",
    "CannotFit",
    "CompactionResult",
    "CompactionSummaryChunk",
    "CompactionUpdate",
    "CompositeStrategy",
    "ConcurrentAppend",
    "ContextBudget",
    "ContextCompactor",
    "ContextHistoryStorage",
    "ContextLimits",
    "ContextManager",
    "ContextPool",
    "ContextSettings",
    "ContextStats",
    "ContextTracker",
    "ContextUpdateApplicator",
    "EditInfo",
    "EditNotFound",
    "FileReadOptimizer",
    "HistoryEntry",
    "InvalidRequest",
    "JsonLogFormatter",
    "Level",
    "MemoryTool",
    "Message",
    "MessageNotFound",
    "NothingToCompact",
    "Notice",
    "OptimizationMetrics",
    "ProviderError",
    "RangeTruncationStrategy",
    "Role",
    "SearchHit",
    "SearchResults",
    "SearchSettings",
    "SelectiveStrategy",
    "SessionFollowed",
    "SessionInfoUpdate",
    "SessionNotFound",
    "Severity",
    "SlidingWindowStrategy",
    "SmartTruncationStrategy",
    "StoreError",
    "StoreTooNew",
    "StoreUnavailable",
    "SummaryTask",
    "TiktokenCounter",
    "TokenBudgetStrategy",
    "TokenCounter",
    "ToolResultCompactor",
    "TruncationCalculator",
    "TruncationMode",
    "TruncationStrategy",
    "UllageError",
    "Update",
    "UsageSource",
    "UsageUpdate",
    "WindowUnknown",
    "get_counter",
    "read_messages",
    "write_request",
]


def test_every_public_name_is_shown_and_comes_with_a_star() -> None:
    found: dict[str, Any] = {}
    exec("from ullage import *", found)
    for name in PUBLIC:
        assert name in dir(ullage)
        assert found[name] is getattr(ullage, name)
    assert set(PUBLIC) == set(ullage.__getattr__("__all__"))


@pytest.mark.parametrize("model", [None, "gpt-4", "claude-3-opus"])
def test_a_counter_counts_texts_and_plain_messages(model: str | None) -> None:
    counter = ullage.TiktokenCounter(model)
    assert counter.encoding_name in ("cl100k_base", "o200k_base")
    assert counter.decode(counter.encode("hello world")) == "hello world"
    assert 0 < counter.count("hello world") <= 4
    assert counter.count_messages(CHAT) == sum(map(counter.count_message, CHAT)) > 2_000
    assert ullage.get_counter(model or "gpt-4o").count_messages(CHAT) == counter.count_messages(CHAT)


# The shapes of OpenAI's published sample: instructions, named system messages as examples of a dialogue, a prompt.
NAMED = [
    {"role": "system", "content": "You rewrite harbour jargon as words that a visitor to the port understands."},
    {"role": "system", "name": "example_user", "content": "She's laid up for a bottom job."},
    {"role": "system", "name": "example_assistant", "content": "The ship is out of the water to be cleaned."},
    {"role": "system", "name": "example_user", "content": "We'll warp her in at slack water."},
    {
        "role": "system",
        "name": "example_assistant",
        "content": "We will pull the ship in by ropes when the tide rests.",
    },
    {"role": "user", "content": "Tell the agent the pilot boards off the bell, no sooner than the ebb."},
]


@pytest.mark.parametrize("model", ["gpt-4", "gpt-4o"])
def test_a_prompt_counts_as_by_openais_published_formula(model: str) -> None:
    # OpenAI's cookbook, "How to count tokens with tiktoken": 3 a message, its values, 1 for a name, 3 for the reply.
    counter = ullage.TiktokenCounter(model)
    expected = 3 + sum(
        3 + ("name" in message) + sum(len(counter.encode(value)) for value in message.values()) for message in NAMED
    )
    assert counter.count_prompt(NAMED) == expected == counter.count_messages(NAMED) + 3
    tools: list[dict[str, Any]] = [{"type": "function", "function": {"name": "run", "parameters": {}}}]
    assert counter.count_prompt(NAMED, tools) == expected + counter.count_tools(tools)
    assert counter.count_prompt([]) == 0
    assert ullage.TiktokenCounter("claude-3-opus").count_prompt(NAMED) == ullage.TiktokenCounter(
        "claude-3-opus"
    ).count_messages(NAMED)


def test_an_approximate_counter_counts_by_words() -> None:
    assert ullage.ApproximateCounter().tokens_per_word == 1.3
    assert ullage.ApproximateCounter(tokens_per_word=2).count("a b c d e f g h") == 16
    assert ullage.ApproximateCounter().count_messages(CHAT) > 1_000
    assert ullage.get_counter("gpt-4", "approximate").name == "approximate"


def test_a_budget_says_what_is_free() -> None:
    budget = ullage.ContextBudget(total=8_192, system_prompt=500, conversation=5_000, tools=500, response_reserve=2_000)
    assert (budget.available, budget.overflow) == (192, 0)
    assert ullage.ContextBudget(total=1_000, conversation=1_200).overflow == 200
    tools: list[dict[str, Any]] = [{"type": "function", "function": {"name": "run", "parameters": {}}}]
    made = ullage.ContextBudget.for_request(ullage.ContextLimits.for_model("gpt-4"), CHAT, tools)
    assert made.system_prompt + made.conversation == COUNTER.count_messages(CHAT)
    assert made.tools > 0 and made.available == 8_192 - COUNTER.count_messages(CHAT) - made.tools - 2_048


def test_limits_are_the_models_or_ones_own() -> None:
    limits = ullage.ContextLimits.for_model("gpt-4")
    assert (limits.max_tokens, limits.max_output_tokens, limits.reserved_tokens) == (8_192, 4_096, 2_048)
    own = ullage.ContextLimits(model="x", max_tokens=8_000, max_output_tokens=4_000)
    assert (own.reserved_tokens, own.usable_tokens) == (1_000, 7_000)
    with pytest.raises(WindowUnknown):
        ullage.ContextLimits.for_model("nobody-knows-this-model")


def test_a_tracker_follows_a_list_of_messages() -> None:
    tracker = ullage.ContextTracker("gpt-4")
    assert not tracker.exceeds_limit() and tracker.overflow_amount() == 0
    assert tracker.update(CHAT) == tracker.used_tokens == COUNTER.count_messages(CHAT)
    before = tracker.available_tokens
    tracker.add_message({"role": "user", "content": words(100)})
    assert tracker.available_tokens < before
    for _ in range(60):
        tracker.add_message({"role": "assistant", "content": words(100)})
    assert tracker.exceeds_limit() and tracker.overflow_amount() == tracker.used_tokens - 6_144
    tracker.update_usage({"prompt_tokens": 5_000, "completion_tokens": 100})
    assert (tracker.used_tokens, tracker.source.value) == (5_100, "reported")
    assert tracker.exceeds_limit(additional=2_000) and not tracker.exceeds_limit()


STRATEGIES = [
    ullage.SlidingWindowStrategy(window_size=5),
    ullage.TokenBudgetStrategy(),
    ullage.SelectiveStrategy(["assistant"]),
    ullage.SmartTruncationStrategy(preserve_first=2, preserve_last=10),
    ullage.RangeTruncationStrategy("quarter"),
    ullage.CompositeStrategy([ullage.SlidingWindowStrategy(), ullage.TokenBudgetStrategy()]),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: type(strategy).__name__)
def test_a_strategy_takes_plain_messages_and_hands_the_same_ones_back(strategy: ullage.TruncationStrategy) -> None:
    left = strategy.truncate(CHAT, 500, COUNTER)
    assert COUNTER.count_messages(left) <= 500
    assert left[:2] == CHAT[:2] and left[-1] is CHAT[-1]
    assert sum(message not in CHAT for message in left) == 1, "one notice"
    assert issubclass(type(strategy), ullage.TruncationStrategy)


def test_strategies_have_the_fields_that_they_were_made_with() -> None:
    window = ullage.SlidingWindowStrategy()
    assert (window.window_size, window.preserve_system) == (20, True)
    assert repr(window) == "SlidingWindowStrategy(window_size=20, preserve_system=True)"
    smart = ullage.SmartTruncationStrategy()
    assert (smart.preserve_first, smart.preserve_last) == (2, 10)
    left = ullage.SlidingWindowStrategy(window_size=4, preserve_system=False).truncate(CHAT, 10_000, COUNTER)
    assert CHAT[0] not in left and left[-4:] == CHAT[-4:]


class KeepsLast:
    """A program's own strategy."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.asked: list[int] = []

    def truncate(self, messages: Sequence[Any], target_tokens: int, counter: ullage.TokenCounter) -> list[Any]:
        assert counter.count("hello world") == 2
        self.asked.append(target_tokens)
        return list(messages[-self.number :])


def test_a_strategy_of_ones_own_works_in_a_chain_and_in_a_manager() -> None:
    own = KeepsLast(7)
    left = ullage.CompositeStrategy([own, ullage.TokenBudgetStrategy()]).truncate(CHAT, 900, COUNTER)
    assert own.asked and len([message for message in left if message in CHAT[2:]]) == 7
    with ullage.ContextManager("gpt-4", strategy=KeepsLast(7), window=3_000) as context:
        assert isinstance(context.strategy, KeepsLast)
        context.add_message(*CHAT)
        sent = context.get_context_for_request()
        assert sent[-7:] == CHAT[-7:]
        assert context.get_messages() == CHAT[1:]
    with pytest.raises(TypeError, match="needs a method truncate"):
        ullage.CompositeStrategy([object()])  # pyright: ignore[reportArgumentType]


def test_what_may_ask_a_model_is_a_coroutine_with_a_twin() -> None:
    for kind, name in [
        (ullage.ContextManager, "compact_if_needed"),
        (ullage.ContextManager, "compact"),
        (ullage.ContextCompactor, "compact"),
        (ullage.ContextCompactor, "summarize_messages"),
    ]:
        assert inspect.iscoroutinefunction(getattr(kind, name))
        twin = getattr(kind, f"{name}_sync")
        assert not inspect.iscoroutinefunction(twin)
        assert inspect.signature(twin) == inspect.signature(getattr(kind, name))
    assert ullage.ContextCompactor.max_summary_tokens == 500


def test_a_manager_has_properties_and_parts() -> None:
    async def llm(task: ullage.SummaryTask) -> str:
        await asyncio.sleep(0)
        return "They spoke of words."

    with ullage.ContextManager("gpt-4", ullage.TruncationMode.SUMMARIZE, llm, system="Be brief.") as context:
        context.set_system_prompt("You are careful.")
        context.add_message({"role": "user", "content": "hello " * 20})
        context.add_message({"role": "assistant", "content": "world " * 20})
        assert context.get_context_for_request()[0] == {"role": "system", "content": "You are careful."}
        assert isinstance(context.token_usage, int) and isinstance(context.available_tokens, int)
        assert context.count_tokens("hello world") == 2
        assert context.count_tokens(CHAT) == COUNTER.count_messages(CHAT)
        assert context.tracker.used_tokens == context.token_usage
        assert context.tracker.available_tokens == context.available_tokens == context.budget.available
        assert isinstance(context.strategy, ullage.SmartTruncationStrategy)
        assert context.compactor.llm is llm
        assert context.get_stats().percent == round(100 * context.token_usage / 8_192)
        assert context.get_stats().oldest_message_age is not None
        assert ullage.ContextManager.get_context_limit("gpt-4") == 8_192
        context.reset()
        assert context.get_messages() == []


async def test_a_managers_coroutine_leaves_the_loop_free_and_asks_the_model_in_it() -> None:
    loops: list[Any] = []

    async def llm(task: ullage.SummaryTask) -> str:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return "They spoke of words."

    with ullage.ContextManager("gpt-4", llm=llm) as context:
        context.add_message(*CHAT, *CHAT[1:], *CHAT[1:])
        made = await context.compact_if_needed()
        assert made and made.summary.startswith("They spoke of words.\n\n## What the user said")
        assert loops == [asyncio.get_running_loop()]
        assert await context.compact_if_needed() is None


@pytest.mark.parametrize("mode", list(ullage.TruncationMode))
def test_each_mode_is_an_option(mode: ullage.TruncationMode) -> None:
    for given in (mode, mode.value):
        with ullage.ContextManager("gpt-4", given) as context:
            context.add_message(*CHAT, *CHAT[1:], *CHAT[1:], *CHAT[1:])
            assert COUNTER.count_messages(context.get_context_for_request()) <= 6_144


@pytest.mark.parametrize(
    ("name", "option", "nearest"),
    [
        ("ContextManager", "windw", "window"),
        ("SlidingWindowStrategy", "windowsize", "window_size"),
        ("SmartTruncationStrategy", "preserve_frist", "preserve_first"),
        ("ContextCompactor", "lllm", "llm"),
        ("ToolResultCompactor", "truncate_message", "truncation_message"),
        ("ContextTracker", "limit", "limits"),
        ("TiktokenCounter", "encoding", "encoding_name"),
    ],
)
def test_an_unknown_option_is_refused_with_the_nearest_known_one(name: str, option: str, nearest: str) -> None:
    with pytest.raises(TypeError, match=f"{name}.. has no option '{option}'; did you mean '{nearest}'"):
        getattr(ullage, name)("gpt-4", **{option: 5})


def test_an_unknown_mode_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidRequest, match="no mode 'sliding-window'; there are sliding_window"):
        ullage.ContextManager("gpt-4", "sliding-window")


def test_a_warning_reaches_the_program_once() -> None:
    told: list[Any] = []
    with ullage.ContextManager("gpt-4", on_update=lambda _, update: told.append(update)) as context:
        for message in (*CHAT, *CHAT[1:], *CHAT[1:]):
            context.add_message(message)
    warnings = [update for update in told if type(update).__name__ == "Notice" and "full" in update.title]
    assert len(warnings) == 1
    # Nothing happens until the program asks for a request.
    assert "Due for compaction at 67% (5.5K)." in warnings[0].title
    assert "by itself" not in warnings[0].title


def test_the_memory_tool_keeps_notes_in_its_folder(tmp_path: Path) -> None:
    memory = ullage.MemoryTool(tmp_path / "notes")
    assert memory.name == "memory" == memory.definition()["name"]
    assert memory.definition("openai")["function"]["name"] == "memory"
    memory.execute({"command": "create", "path": "/memories/plan.md", "file_text": "one\ntwo\n"})
    assert (tmp_path / "notes" / "plan.md").read_text() == "one\ntwo\n"
    assert "two" in memory.execute({"command": "view", "path": "/memories/plan.md", "view_range": [2, 2]})
    assert memory.run({"command": "view", "path": "/memories/../../etc/passwd"}).is_error


def test_the_sdks_own_objects_are_messages() -> None:
    openai = pytest.importorskip("openai.types.chat")
    anthropic = pytest.importorskip("anthropic.types")
    answer = openai.ChatCompletionMessage(role="assistant", content="Fine.")
    with ullage.ContextManager("gpt-4") as context:
        context.add_message({"role": "user", "content": "Hi."}, answer)
        assert context.get_messages()[1] == {"role": "assistant", "content": "Fine."}
    block = anthropic.TextBlock(type="text", text="Fine.")
    with ullage.ContextManager("claude-sonnet-4-5") as context:
        context.add_message({"role": "user", "content": "Hi."}, {"role": "assistant", "content": [block]})
        assert context.get_messages()[1]["content"] == [{"type": "text", "text": "Fine."}]


def test_repeated_reads_are_found_measured_kept_and_applied(tmp_path: Path) -> None:
    body = "\n".join(f"line {number} of the file, long enough to matter" for number in range(80))
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read it twice."}]
    for number in range(2):
        call = {"type": "tool_use", "id": f"t{number}", "name": "read_file", "input": {"path": "src/a.py"}}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": body}
        messages += [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
    edit = ullage.FileReadOptimizer().find_and_save_duplicates(messages, COUNTER, timestamp=1)
    assert edit is not None and [file.path for file in edit.files] == ["src/a.py"]
    impact = ullage.OptimizationMetrics().calculate_impact(messages, [edit], COUNTER)
    assert impact.before - impact.after == edit.tokens_saved and 0.3 < impact.share < 0.6
    storage = ullage.ContextHistoryStorage(tmp_path / "task")
    assert storage.load_from_disk() == ()
    storage.save_to_disk([edit])
    assert storage.load_from_disk() == (edit,)
    applied = ullage.ContextUpdateApplicator().apply_updates(messages, storage.load_from_disk())
    assert applied[2] != messages[2] and applied[4] is messages[4]
    assert COUNTER.count_messages(applied) == impact.after
    storage.path.write_text("{")
    with pytest.raises(ullage.model.errors.StoreUnavailable):
        storage.load_from_disk()


def test_ranges_are_calculated_as_coding_agents_do() -> None:
    messages = [{"role": "user" if at % 2 == 0 else "assistant", "content": str(at)} for at in range(22)]
    calculate = ullage.TruncationCalculator().calculate_range
    assert calculate(messages, "lastTwo") == (2, 19)
    assert calculate(messages, "half") == (2, 11)
    assert calculate(messages, "quarter") == (2, 15)
    assert calculate(messages, "none") == (2, 21)
    assert calculate(messages, "half", (2, 11)) == (2, 15)
    assert calculate(messages[:2], "half") is None


# The programs of the cookbook, and what it says that they print


_RECIPE = re.compile(r"^## (.+?)\n.*?^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TEXT = (ROOT / "docs" / "guide" / "cookbook.md").read_text(encoding="utf-8")
RECIPES = {title: (program, printed) for title, program, printed in _RECIPE.findall(_TEXT)}


def test_each_heading_has_a_program_and_what_it_prints() -> None:
    assert [*RECIPES] == re.findall(r"^## (.+)$", _TEXT, re.MULTILINE)


@pytest.mark.parametrize("title", RECIPES)
def test_a_program_of_the_cookbook_prints_what_the_cookbook_says(
    title: str, capsys: pytest.CaptureFixture[str]
) -> None:
    program, printed = RECIPES[title]
    exec(compile(program, title, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out == printed
