"""Compaction of plain message lists, and the names that `ullage` itself exports."""

import ast
import asyncio
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import ullage
from support.build import assistant, results, user, uses, words
from ullage import ContextCompactor, ContextManager, ContextPool, SummaryTask, ToolResultCompactor, get_counter
from ullage.embed.adapters.framework_messages import Given, Mirror
from ullage.embed.adapters.openai_agents import UllageSession
from ullage.formats.provider import Provider
from ullage.model.errors import CannotFit
from ullage.model.message import ToolResultBlock

EXAMPLES = Path(__file__).resolve().parents[3] / "server" / "examples"
COUNTER = get_counter("gpt-4o")


def chat(count: int, words_each: int = 200) -> list[dict[str, Any]]:
    roles = ("user", "assistant")
    return [{"role": roles[number % 2], "content": f"{number}: {words(words_each)}"} for number in range(count)]


def test_messages_are_brought_to_a_number_of_tokens_by_a_summary() -> None:
    history = chat(20)
    left = ContextCompactor("gpt-4o").compact_sync(history, 1_500, pinned=[5])
    assert COUNTER.count_messages(left) <= 1_500
    assert [message for message in left if message in history] == [history[0], history[5], *history[18:]]
    assert any("Earlier" in str(message) or "compact" in str(message).lower() for message in left)


def test_the_result_of_a_compaction_is_compacted_again_as_its_continuation() -> None:
    counter, compactor = get_counter("gpt-4o"), ContextCompactor()
    rules = [f"Rule {number}: keep part {number} of the price list." for number in range(16)]
    said: list[dict[str, Any]] = []
    for number, rule in enumerate(rules):
        said += [{"role": "user", "content": rule}, {"role": "assistant", "content": f"Noted {number}. " + words(300)}]
    result: list[Any] = []
    for part in range(4):
        result = compactor.compact_sync([*result, *said[part * 8 : part * 8 + 8]], 3_000, counter)
    text = "\n".join(str(message["content"]) for message in result)
    # One summary, with the messages before the first compaction, under the numbers of the whole conversation.
    assert text.count("[Compaction ") == text.count("[Compaction 2:") == 1
    assert sum(rule in text for rule in rules) == len(rules)
    number_of_rule_1 = 2 * 1 + 1
    assert f"#{number_of_rule_1} {rules[1]}" in text


def test_messages_of_the_engine_are_taken_and_handed_back_as_well() -> None:
    history = [user(f"u{i}", words(200)) if i % 2 == 0 else assistant(f"a{i}", words(200)) for i in range(20)]
    left = ContextCompactor("gpt-4o").compact_sync(history, 1_500)
    assert COUNTER.count_messages(left) <= 1_500
    assert {"u0", "a19"} <= {message.id for message in left}


def test_a_compactor_asks_the_summarizer_it_was_given() -> None:
    def summarize(task: SummaryTask) -> str:
        return f"{len(task.request['messages'])} messages about {task.focus}, in {task.max_tokens} tokens."

    made = ContextCompactor(summarize, max_summary_tokens=77).compact_sync(chat(20), 1_500, focus="words")
    assert "messages about words, in 77 tokens." in str(made)


class Model:
    """A model object as agent frameworks have it."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.loop: asyncio.AbstractEventLoop | None = None
        self.asked = ""

    async def ainvoke(self, text: str) -> Any:
        self.asked, self.loop = text, asyncio.get_running_loop()
        return self.answer


class Answer:
    content = "All went well."


@pytest.mark.parametrize("answer", ["All went well.", Answer()])
async def test_a_model_object_is_asked_in_the_programs_own_loop(answer: Any) -> None:
    model = Model(answer)
    left = await ContextCompactor(model, summary_prompt="Mind the gap.").compact(chat(20), 1_500, COUNTER)
    assert COUNTER.count_messages(left) <= 1_500
    assert "All went well." in str(left)
    assert model.loop is asyncio.get_running_loop()
    assert "1: word" in model.asked and model.asked.endswith("Mind the gap.")


async def raising(_: SummaryTask) -> str:
    raise TimeoutError("no answer")


async def silent(_: SummaryTask) -> Any:
    return None


def empty(_: SummaryTask) -> str:
    return "  "


def endless(task: SummaryTask) -> str:
    return "on and on " * task.max_tokens * 4


@pytest.mark.parametrize("llm", [raising, silent, empty, endless, Model(7)])
def test_whatever_a_summarizer_does_the_limit_is_kept(llm: Any) -> None:
    compactor = ContextCompactor(llm)
    left = compactor.compact_sync(chat(20), 1_500, COUNTER)
    assert COUNTER.count_messages(left) <= 1_500
    assert len(left) < 20
    if llm is not endless:
        assert compactor.summarize_messages_sync(chat(6))


async def test_messages_are_summarized_without_being_replaced() -> None:
    async def summarize(task: SummaryTask) -> str:
        return f"About {task.focus}: {len(task.request['messages'])} messages; the key is sk-ant-{'a1B2' * 12}"

    said = await ContextCompactor(summarize).summarize_messages(chat(4), focus="ships")
    assert said.startswith("About ships: 4 messages")
    assert "a1B2a1B2" not in said
    assert await ContextCompactor().summarize_messages([]) == ""


def test_a_counter_of_ones_own_keeps_its_own_limit() -> None:
    class Letters:
        def count(self, text: str) -> int:
            return len(text)

    left = ContextCompactor().compact_sync(chat(20), 6_000, Letters())
    assert 3_000 < sum(len(str(message["content"])) for message in left) <= 6_000


def test_what_fits_is_left_as_it_is_and_what_cannot_fit_is_said() -> None:
    history = chat(2, 50)
    left = ContextCompactor("gpt-4o").compact_sync(history, 1_000)
    assert left == history and all(one is other for one, other in zip(left, history, strict=True))
    with pytest.raises(CannotFit):
        ContextCompactor("gpt-4o").compact_sync(history, 2)


def test_a_model_that_cannot_be_asked_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="cannot write summaries"):
        ContextCompactor(5)  # pyright: ignore[reportArgumentType]


def test_old_tool_results_are_emptied_and_long_ones_shortened() -> None:
    history = [user("u", "Look.")]
    for number in range(6):
        history += [uses(f"c{number}", f"t{number}"), results(f"r{number}", f"t{number}", text=words(2_000))]
    left = ToolResultCompactor(300, keep=2).compact(history, COUNTER)
    assert [message.id for message in left] == [message.id for message in history]
    sizes = [COUNTER.count_message(m) for m in left if isinstance(m.content[0], ToolResultBlock)]
    assert max(sizes[:4]) < 50
    assert sizes[4] <= 320
    assert sizes[5] > 2_000, "what is to be answered stays whole"


def test_a_long_tool_result_ends_with_the_programs_own_notice() -> None:
    compactor = ToolResultCompactor(truncation_message="[cut]")
    output = "\n".join(f"{number}: fine" for number in range(3_000)) + "\nerror: no such file"
    text = compactor.compact_result(output, COUNTER)
    assert COUNTER.count(text) <= compactor.max_result_tokens == 1_000
    assert text.startswith("0: fine") and "error: no such file" in text and text.endswith("[cut]")
    assert compactor.compact_result("short", COUNTER) == "short"
    calls = [{"id": "c", "type": "function", "function": {"name": "run", "arguments": "{}"}}]
    history = [
        {"role": "user", "content": "Run."},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": output},
        {"role": "assistant", "content": "It failed."},
    ]
    left = compactor.compact(history, COUNTER)
    assert left[2]["content"].endswith("[cut]") and COUNTER.count_message(left[2]) <= 1_010
    assert [left[at] for at in (0, 1, 3)] == [history[at] for at in (0, 1, 3)]


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(example: Path) -> None:
    command = [sys.executable, "-W", "error", str(example)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert ran.stderr == ""
    assert ran.stdout.count("\n") >= 2


def test_every_public_name_is_importable_and_known_to_type_checkers() -> None:
    tree = ast.parse(Path(ullage.__file__).read_text(encoding="utf-8"))
    declared = {alias.asname for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    (homes,) = (node.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict))
    offered = {key.value for key in homes.keys if isinstance(key, ast.Constant)}
    assert offered == {name for name in declared if name}
    for name in offered:
        assert isinstance(name, str)
        assert ullage.__getattr__(name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        ullage.__getattr__("Nothing")


def test_importing_ullage_loads_nothing_of_it() -> None:
    program = "import sys, ullage; print(*(name for name in sys.modules if name.startswith('ullage.')))"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=300)
    assert ran.stdout.strip() == ""


# Law: a list that was compacted may be compacted again, by another process and at every door. Its summary continues
# with its number, and the numbers of messages continue


Json = dict[str, Any]
WINDOW = 8_000
TURNS, ROUNDS = 20, 3
_HEAD = re.compile(r"\[Compaction (\d+): (\d+) earlier messages are archived\.")


def turns(begin: int) -> list[Json]:
    return [
        message
        for number in range(begin, begin + TURNS)
        for message in (
            {"role": "user", "content": f"Round value_{number} in file_{number}.py. " + "Why is that so? " * 60},
            {"role": "assistant", "content": f"I changed file_{number}.py. " + "Because. " * 100},
        )
    ]


def by_manager(provider: Provider) -> Callable[[list[Json]], Awaitable[list[Json]]]:
    async def compact(messages: list[Json]) -> list[Json]:
        with ContextManager("gpt-4o", provider=provider, window=WINDOW) as manager:
            for message in messages:
                manager.add_message(message)
            assert manager.get_messages() == messages
            return manager.get_request()["input" if provider is Provider.OPENAI_RESPONSES else "messages"]

    return compact


async def by_compactor(messages: list[Json]) -> list[Json]:
    return await ContextCompactor().compact(messages, 4_000, get_counter("gpt-4o"))


async def by_adapter(messages: list[Json]) -> list[Json]:
    given = [Given(id=f"{at}-{len(messages)}", raw=message, read=[message]) for at, message in enumerate(messages)]
    with ContextPool("gpt-4o", window=WINDOW) as pool:
        shown = await pool.wait_for("s", partial(Mirror("framework").fit, given))
    return [message for one in shown for message in one.changed or [one.raw or {}]]


async def by_agents_session(items: list[Json]) -> list[Json]:
    with ContextPool("gpt-4o", window=WINDOW) as pool:
        session = UllageSession("s", pool)
        await session.add_items(items)
        return await session.get_items()


DOORS: dict[str, Callable[[list[Json]], Awaitable[list[Json]]]] = {
    **{f"manager-{provider}": by_manager(provider) for provider in Provider},
    "compactor": by_compactor,
    "adapter": by_adapter,
    "agents-session": by_agents_session,
}


@pytest.mark.parametrize("door", DOORS)
async def test_a_compacted_list_is_compacted_again_with_its_number_and_numbers(door: str) -> None:
    compact = DOORS[door]
    messages: list[Json] = []
    for number in range(ROUNDS):
        given = turns(number * TURNS)
        messages = await compact([*messages, *given])
        heads = _HEAD.findall(str(messages))
        assert [int(at) for at, _ in heads] == [number + 1], "one summary, with the next number"
        # Every message is archived or in the list.
        assert int(heads[0][1]) == 2 * TURNS * (number + 1) - (len(messages) - 1)
        assert messages[-1] == given[-1]


@pytest.mark.parametrize("door", DOORS)
async def test_a_compacted_list_that_fits_is_left_as_it_is(door: str) -> None:
    messages = await DOORS[door](turns(0))
    assert await DOORS[door](messages) == messages


OF_PROVIDERS: list[tuple[Provider, Json]] = [
    (Provider.OPENAI_RESPONSES, {"type": "compaction", "id": "cmp", "encrypted_content": "gA" * 2_000}),
    (Provider.ANTHROPIC, {"role": "assistant", "content": [{"type": "compaction", "content": "So far: pears."}]}),
]


@pytest.mark.parametrize(("provider", "summary"), OF_PROVIDERS)
def test_a_providers_own_compaction_outlives_every_cut(provider: Provider, summary: Json) -> None:
    with ContextManager("gpt-4o", provider=provider, window=WINDOW) as manager:
        manager.add_message({"role": "user", "content": "Count the trees."}, summary)
        for number in range(0, 3 * TURNS, TURNS):
            for message in turns(number):
                manager.add_message(message)
                assert summary in manager.get_request()["input" if "type" in summary else "messages"]
        assert manager.history()


async def test_a_providers_own_compaction_stays_in_a_session_of_the_agents_sdk() -> None:
    (_, summary), *_ = OF_PROVIDERS
    with ContextPool("gpt-4o", window=WINDOW) as pool:
        session = UllageSession("s", pool)
        await session.add_items([{"role": "user", "content": "Count the trees."}, summary, *turns(0)])
        items = await session.get_items()
        assert summary in items
        assert len(items) < 2 * TURNS


async def test_a_list_of_items_is_recognised_and_no_item_loses_its_partner() -> None:
    items: list[Json] = []
    for number in range(TURNS):
        items += [
            {"role": "user", "content": f"Round value_{number}. " + "Why is that so? " * 60},
            {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "g" * 400},
            {"type": "function_call", "id": f"fc_{number}", "call_id": f"c{number}", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": f"c{number}", "output": "pear " * 200},
        ]
    left = await by_compactor(items)
    assert len(left) < len(items)
    assert left[-1] == items[-1]
    for at, item in enumerate(left):
        if item.get("type") == "reasoning":
            assert [each["type"] for each in left[at + 1 : at + 3]] == ["function_call", "function_call_output"]


async def test_an_adapters_edit_changes_what_it_names_of_a_providers_message() -> None:
    given: list[Given] = []
    for number in range(TURNS):
        function = {"name": "read", "arguments": "{}"}
        calls = [{"id": f"c{number}", "type": "function", "function": function, "extra": number}]
        messages: list[Json] = [
            {"role": "user", "content": f"Question {number}?", "name": "ann"},
            {"role": "assistant", "content": None, "tool_calls": calls, "reasoning_content": "Hm."},
            {"role": "tool", "tool_call_id": f"c{number}", "content": "pear " * 400, "extra": number},
        ]
        given += [Given(id=f"{number}-{at}", raw=raw, read=[raw]) for at, raw in enumerate(messages)]
    with ContextPool("gpt-4o", window=WINDOW) as pool:
        shown = await pool.wait_for("s", partial(Mirror("framework").fit, given))
    cleared = [one.changed[0] for one in shown if one.raw and one.changed and one.raw["role"] == "tool"]
    assert cleared
    for message in cleared:
        raw = next(one.raw for one in given if one.raw.get("tool_call_id") == message["tool_call_id"])
        assert {**message, "content": raw["content"]} == raw
