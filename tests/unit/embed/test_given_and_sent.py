"""What a program gives to a manager is what it sends, and what cannot be used is said with the remedy."""

import asyncio
import inspect
import json
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_type_hints

import pytest

import ullage
from ullage import (
    AsyncContextManager,
    ContextCompactor,
    ContextManager,
    ContextPool,
    ContextSettings,
    EditNotFound,
    InvalidRequest,
    RangeTruncationStrategy,
    SelectiveStrategy,
    SessionNotFound,
    SlidingWindowStrategy,
    UllageError,
    Update,
    get_counter,
)

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")

Json = dict[str, Any]
T = TypeVar("T")
EXAMPLES = Path(ullage.__file__).parent.parent / "examples"
CACHED: Json = {"cache_control": {"type": "ephemeral"}}
PROMPT: list[Json] = [{"type": "text", "text": "You count trees."}, {"type": "text", "text": "Be exact.", **CACHED}]
ASKED: Json = {"role": "user", "content": "How many trees stand in row nine?"}
HOSTED: list[tuple[str, list[Json]]] = [
    (
        "anthropic",
        [
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
            {"type": "bash_20250124", "name": "bash"},
            {"name": "count", "description": "Counts.", "input_schema": {"type": "object"}, "strict": True, **CACHED},
        ],
    ),
    ("openai", [{"type": "function", "function": {"name": "count", "parameters": {}, "strict": True}}]),
    (
        "openai-responses",
        [{"type": "web_search"}, {"type": "custom", "name": "apply_patch", "format": {"type": "text"}}],
    ),
]


@pytest.mark.parametrize(("provider", "tools"), HOSTED)
def test_tools_are_sent_as_they_were_given(provider: str, tools: list[Json]) -> None:
    with ContextManager("gpt-4o", provider=provider, tools=tools) as manager:
        manager.add_message(ASKED)
        assert manager.get_request()["tools"] == tools
        manager.reset()
        assert manager.get_request()["tools"] == tools


def test_a_system_prompt_of_blocks_keeps_its_place_for_the_cache(tmp_path: Path) -> None:
    store = tmp_path / "contexts.db"
    with ContextManager("claude-sonnet-5-5", system=PROMPT, store=store) as manager:
        manager.add_message(ASKED)
        assert manager.get_request() == {"system": PROMPT, "messages": [ASKED]}
        session_id = manager.session_id
    with ContextManager("claude-sonnet-5-5", store=store, session_id=session_id) as manager:
        assert manager.get_request()["system"] == PROMPT
        manager.set_system_prompt("Be brief.")
        assert manager.get_request()["system"] == "Be brief."
        manager.set_system_prompt(PROMPT[:1])
        assert manager.get_request()["system"] == PROMPT[:1]
        manager.undo()
        manager.undo()
        assert manager.get_request()["system"] == PROMPT
        manager.reset()
        assert manager.get_request() == {"system": PROMPT, "messages": []}


def test_a_prompt_of_blocks_outlives_every_compaction() -> None:
    with ContextManager("claude-sonnet-5-5", system=PROMPT, window=8_000) as manager:
        manager.set_system_prompt(PROMPT)
        for number in range(30):
            manager.add_message({"role": "user", "content": f"Row {number}? " + "count the trees " * 100})
            manager.add_message({"role": "assistant", "content": "Twelve. " * 50})
            assert manager.get_request()["system"] == PROMPT
        assert manager.history()


def test_openais_formats_take_a_prompt_of_parts_too() -> None:
    for provider, key in (("openai", "messages"), ("openai-responses", "input")):
        with ContextManager("gpt-4o", provider=provider, system=PROMPT) as manager:
            manager.add_message(ASKED)
            assert manager.get_request()[key] == [{"role": "system", "content": PROMPT}, ASKED]


@pytest.mark.parametrize(
    "options",
    [
        {"window": 0},
        {"window": -5},
        {"window": "8000"},
        {"window": True},
        {"max_output": 0},
        {"max_output": 1.5},
        {"context": {"compact_at": 0.5}},
        {"context": ContextSettings(compact_at=2)},
        {"context": ContextSettings(exclude_tools="read")},  # type: ignore[arg-type]
        {"search": {"url": "http://localhost"}},
        {"tools": "count"},
        {"tools": [3]},
        {"system": 3},
        {"on_update": 3},
        {"store": 3},
        {"session_id": b"a"},
        {"provider": ["openai"]},
        {"offline": "yes"},
    ],
)
def test_a_value_that_an_option_cannot_have_is_named_with_the_remedy(options: Json) -> None:
    (name,) = options
    with pytest.raises(InvalidRequest, match=rf"{name}.*(give|a tool is)"):
        ContextManager("gpt-4o", **options)


@pytest.mark.parametrize(
    "usage", [None, 3, {}, {"tokens_in": 3}, {"prompt_tokens": "12"}, {"input_tokens": -7}, {"output_tokens": None}]
)
def test_a_usage_without_a_known_field_is_an_error(usage: Any) -> None:
    with ContextManager("gpt-4o") as manager:
        manager.add_message(ASKED, {"role": "assistant", "content": "Twelve."})
        with pytest.raises(InvalidRequest, match="input_tokens"):
            manager.update_usage(usage)


@pytest.mark.parametrize(
    ("provider", "usage"),
    [
        ("anthropic", {"input_tokens": 12, "output_tokens": 50}),
        ("openai", {"prompt_tokens": 12, "completion_tokens": 50, "total_tokens": 62}),
    ],
)
def test_a_usage_far_below_what_was_said_is_not_believed(provider: str, usage: Json) -> None:
    with ContextManager("gpt-4o", provider=provider) as manager:
        manager.add_message({"role": "user", "content": "The pear row has twelve trees. " * 900})
        manager.add_message({"role": "assistant", "content": "Twelve."})
        before = manager.token_usage
        manager.update_usage(usage)
        assert manager.token_usage == before > 5_000


def test_a_provider_that_was_guessed_wrongly_is_said_with_the_remedy() -> None:
    used: Json = {"type": "tool_use", "id": "t", "name": "count", "input": {}}
    cases: list[tuple[str, Json, str]] = [
        ("anthropic/claude-sonnet-5-5", {"role": "tool", "tool_call_id": "t", "content": "12"}, "openai"),
        ("gpt-4o", {"role": "assistant", "content": [used]}, "anthropic"),
        ("gpt-4o", {"type": "function_call", "call_id": "t", "name": "count", "arguments": "{}"}, "openai-responses"),
    ]
    for model, message, provider in cases:
        with ContextManager(model) as manager, pytest.raises(InvalidRequest, match=f"give `provider='{provider}'`"):
            manager.add_message(message)
        with ContextManager(model, provider=provider) as manager:
            manager.add_message(message)
            assert message in manager.get_messages()


def claude() -> Any:
    content = [
        {"type": "thinking", "thinking": "Row nine.", "signature": "c2ln"},
        {"type": "text", "text": "Twelve.", "citations": None},
    ]
    about = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn"}
    usage = {"input_tokens": 3_000, "output_tokens": 4}
    return anthropic.types.Message.model_validate({**about, "content": content, "stop_sequence": None, "usage": usage})


def completion() -> Any:
    said: Json = {"role": "assistant", "content": "Twelve.", "refusal": None, "annotations": []}
    choice = {"index": 0, "finish_reason": "stop", "logprobs": None, "message": said}
    usage = {"prompt_tokens": 3_000, "completion_tokens": 4, "total_tokens": 3_004}
    about = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    return openai.types.chat.ChatCompletion.model_validate({**about, "choices": [choice], "usage": usage})


def response() -> Any:
    said: Json = {"type": "output_text", "text": "Twelve.", "annotations": []}
    output: list[Json] = [
        {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "gAAA"},
        {"type": "message", "id": "msg", "role": "assistant", "status": "completed", "content": [said]},
    ]
    details = {
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    usage = {"input_tokens": 3_000, "output_tokens": 4, "total_tokens": 3_004, **details}
    about: Json = {"id": "r", "object": "response", "created_at": 1, "model": "m", "tools": [], "tool_choice": "auto"}
    whole: Json = {**about, "parallel_tool_calls": True, "output": output, "usage": usage}
    return openai.types.responses.Response.model_validate(whole)


@pytest.mark.parametrize(
    ("provider", "answer", "fields"),
    [
        ("anthropic", claude, {"role", "content"}),
        ("openai", completion, {"role", "content", "annotations"}),
        ("openai-responses", response, {"type", "id", "role", "status", "content"}),
    ],
)
def test_a_whole_answer_is_taken_with_its_usage(provider: str, answer: Callable[[], Any], fields: set[str]) -> None:
    for given in (answer(), answer().model_dump(), answer().to_dict()):
        with ContextManager("gpt-4o", provider=provider) as manager:
            manager.add_message(ASKED)
            manager.add_message(given)
            assert manager.token_usage == 3_004
            *_, last = said = manager.get_messages()
            assert last.keys() - {"parsed", "phase"} == fields
            assert len(said) == (3 if provider == "openai-responses" else 2)


def test_of_several_answers_that_are_added_at_once_the_usage_of_the_last_counts() -> None:
    first = claude().model_dump()
    last = {**first, "id": "msg_02", "usage": {"input_tokens": 4_000, "output_tokens": 5}}
    with ContextManager("gpt-4o", provider="anthropic") as manager:
        manager.add_message(ASKED, first, ASKED, last)
        assert manager.token_usage == 4_005


@pytest.mark.parametrize("provider", ["anthropic", "openai", "openai-responses"])
def test_answers_of_a_server_that_gives_them_all_one_id_are_all_kept(provider: str) -> None:
    whole = {"anthropic": claude, "openai": completion, "openai-responses": response}[provider]().model_dump_json()
    words = ("Eleven.", "Twelve.", "Twelve.", "Ten.", "Eleven.", "Ten.", "Ten.")
    answers = [json.loads(whole.replace("Twelve.", said)) for said in words]
    with ContextManager("gpt-4o", provider=provider) as manager:
        # Each in a call, and several in one.
        manager.add_message(ASKED, answers[0])
        for answer in answers[1:4]:
            manager.add_message(ASKED)
            manager.add_message(answer)
        manager.add_message(*(message for answer in answers[4:] for message in (ASKED, answer)))
        sent = str(manager.get_request())
        assert [word for word in re.findall(r"\w+\.", sent) if word in words] == [*words]


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_an_answer_that_is_given_again_right_after_itself_is_one_message(provider: str) -> None:
    answer = {"anthropic": claude, "openai": completion}[provider]()
    with ContextManager("gpt-4o", provider=provider) as manager:
        manager.add_message(ASKED, answer)
        manager.add_message(answer)
        assert len(manager.get_messages()) == 2


def within_a_minute(work: Callable[[], T]) -> T:
    """Returns what the work returns, or raises what it raises."""
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except Exception as error:  # noqa: BLE001 (raised again by the caller)
            done.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return done.result(60)


WRONG: dict[str, Callable[[ContextManager], Any]] = {
    "query": lambda manager: manager.search(3),  # type: ignore[arg-type]
    "limit": lambda manager: manager.search("trees", -1),
    "message_id": lambda manager: manager.pin(None),  # type: ignore[arg-type]
    "focus": lambda manager: manager.compact_sync(3),  # type: ignore[arg-type]
    "timestamp": lambda manager: manager.restore(timestamp=1.5),  # type: ignore[arg-type]
    "edit_id": lambda manager: manager.restore(timestamp=1, edit_id="e"),
    "messages": lambda manager: manager.count_tokens(3),
    "open_at_most": lambda _: ContextPool("gpt-4o", open_at_most=0),
    "window_size": lambda _: SlidingWindowStrategy(-1),
    "order": lambda _: SelectiveStrategy("tool"),
    "keep": lambda _: RangeTruncationStrategy("some"),
    "pinned": lambda _: ContextCompactor(model="gpt-4o").compact_sync([ASKED], 100, pinned=[1]),
    "counter": lambda _: ContextCompactor(model="gpt-4o").compact_sync([ASKED], 100, object()),  # type: ignore[arg-type]
    "encoding": lambda _: get_counter("gpt-4o", "o300k_base"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_argument_that_cannot_be_used_is_named_with_the_remedy(name: str) -> None:
    with ContextManager("gpt-4o") as manager, pytest.raises(InvalidRequest, match=rf"{name}.*give|give.*{name}"):
        WRONG[name](manager)


def test_an_edit_that_is_not_there_is_named_before_and_after_the_first_edit() -> None:
    with ContextManager("gpt-4o") as manager:
        manager.add_message(ASKED)
        assert manager.undo() == ()
        with pytest.raises(EditNotFound, match="e_7"):
            manager.undo("e_7")


def test_a_conversation_that_the_store_does_not_have_cannot_be_continued() -> None:
    with pytest.raises(SessionNotFound, match="s_7"):
        ContextManager("gpt-4o", session_id="s_7")


def test_on_update_may_call_the_manager() -> None:
    managers: list[ContextManager] = []
    seen: list[tuple[str, int]] = []

    def told(session_id: str, update: Update) -> None:
        for manager in managers:
            seen.append((session_id, manager.token_usage))
            if manager.needs_compaction():
                manager.compact_if_needed_sync()

    def work() -> int:
        with ContextManager("gpt-4o", window=8_000, on_update=told) as manager:
            managers.append(manager)
            for number in range(20):
                manager.add_message({"role": "user", "content": f"Row {number}? " + "count the trees " * 100})
                manager.add_message({"role": "assistant", "content": "Twelve. " * 50})
            managers.clear()
            return len(manager.history())

    assert within_a_minute(work) > 0
    assert len({session_id for session_id, _ in seen}) == 1


def test_what_on_update_led_to_is_done_before_the_call_returns() -> None:
    told: list[Update] = []
    with ContextManager("gpt-4o", on_update=lambda _, update: told.append(update)) as manager:
        for number in range(20):
            before = len(told)
            manager.add_message({"role": "user", "content": f"Row {number}?"})
            assert len(told) > before


async def test_on_update_may_call_a_pools_manager_from_its_own_thread() -> None:
    figures: list[int] = []

    def told(session_id: str, _: Update) -> None:
        figures.append(pool.open(session_id).token_usage)

    with ContextPool("gpt-4o", on_update=told) as pool:
        context = await pool.open_async("a")
        await context.add_message(ASKED)
        assert figures[-1] == await context.token_usage


def test_on_update_may_wait_for_another_thread_that_calls_the_manager() -> None:
    managers: list[ContextManager] = []
    figures: list[int] = []

    def told(*_: Any) -> None:
        if managers:
            asking = threading.Thread(target=lambda: figures.append(managers[0].token_usage))
            asking.start()
            asking.join()

    def work() -> int:
        with ContextManager("gpt-4o", on_update=told) as manager:
            managers.append(manager)
            manager.add_message(ASKED)
            return manager.token_usage

    assert within_a_minute(work) == figures[-1]


async def test_on_update_may_wait_for_the_programs_loop() -> None:
    loop, figures = asyncio.get_running_loop(), list[int]()
    managers: list[AsyncContextManager] = []

    def told(*_: Any) -> None:
        for manager in managers:
            figures.append(asyncio.run_coroutine_threadsafe(manager.get_stats(), loop).result(60).used)

    async with AsyncContextManager("gpt-4o", on_update=told) as manager:
        managers.append(manager)
        await manager.add_message(ASKED)
        assert figures[-1] == await manager.token_usage


def test_two_managers_may_call_each_other_in_on_update() -> None:
    managers: dict[str, ContextManager] = {}
    figures: list[int] = []

    def calls(other: str) -> Callable[[str, Update], None]:
        def told(*_: Any) -> None:
            if other in managers:
                figures.append(managers[other].token_usage)

        return told

    def work() -> int:
        a = ContextManager("gpt-4o", on_update=calls("b"))
        b = ContextManager("gpt-4o", on_update=calls("a"))
        with a, b:
            managers.update(a=a, b=b)
            threads = [threading.Thread(target=one.add_message, args=(ASKED,), daemon=True) for one in (a, b) * 5]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            managers.clear()
            return len(a.get_messages()) + len(b.get_messages())

    assert within_a_minute(work) == 10
    assert figures


@pytest.mark.parametrize("by", ["llm", "on_update"])
def test_a_manager_may_be_closed_by_what_it_calls(by: str) -> None:
    managers: list[ContextManager] = []

    def close(*_: Any) -> str:
        for manager in managers:
            manager.close()
        return "Twelve trees."

    options: Json = {by: close}

    def work() -> None:
        manager = ContextManager("gpt-4o", window=8_000, **options)
        for _ in range(14):
            manager.add_message({"role": "user", "content": "pears " * 60})
            manager.add_message({"role": "assistant", "content": "twelve " * 60})
        managers.append(manager)
        # The compaction may be over when the manager is closed.
        with suppress(RuntimeError):
            manager.compact_sync()
        with pytest.raises(RuntimeError, match="closed"):
            manager.get_messages()

    before = set(threading.enumerate())
    within_a_minute(work)
    deadline = time.monotonic() + 60
    left = {each for each in threading.enumerate() if each.name == "ullage"} - before
    for each in left:
        each.join(max(0.0, deadline - time.monotonic()))
    assert not any(each.is_alive() for each in left)


class Nosy:
    """A strategy that asks the manager that is calling it."""

    manager: ContextManager

    def truncate(self, messages: Any, target_tokens: int, counter: Any) -> list[Any]:
        return list(messages)[-1 * min(4, self.manager.token_usage) :]


def test_a_strategy_that_calls_its_manager_is_refused_at_once() -> None:
    strategy = Nosy()
    with ContextManager("gpt-4o", window=3_000, strategy=strategy) as manager:
        strategy.manager = manager
        for number in range(10):
            manager.add_message({"role": "user", "content": f"Row {number}? " + "count the trees " * 100})
        with pytest.raises(RuntimeError, match="must not call the manager"):
            within_a_minute(manager.get_request)


def test_one_prompt_of_many_tool_calls_always_gets_a_request_that_fits() -> None:
    """The provider's figure is above the estimate, so that what an edit leaves may still be too much."""
    tools = [{"name": "read", "description": "Reads a file.", "input_schema": {"type": "object"}}]
    with ContextManager("claude-sonnet-5-5", system="Be careful.", tools=tools, window=30_000) as manager:
        manager.add_message({"role": "user", "content": "Find the rounding mistake."})
        for number in range(100):
            sent = len(json.dumps(manager.get_request())) // 4
            calls: list[Json] = [
                {
                    "type": "tool_use",
                    "id": f"t{number}_{each}",
                    "name": "read",
                    "input": {"path": f"p{number}_{each}.py"},
                }
                for each in range(2)
            ]
            thinking: Json = {"type": "thinking", "thinking": f"step {number} " * 10, "signature": f"sig{number}"}
            usage = {"input_tokens": sent, "output_tokens": 100}
            manager.add_message({"role": "assistant", "content": [thinking, *calls]}, usage=usage)
            text = "\n".join(f"p{number}.py:{line}: value = round(v*{line},2)" for line in range(40))
            results = [{"type": "tool_result", "tool_use_id": call["id"], "content": text} for call in calls]
            manager.add_message({"role": "user", "content": results})
        assert manager.history()


def _named(hint: Any) -> set[Any]:
    inner = {each for arg in get_args(hint) for each in _named(arg)}
    return inner | ({hint} if isinstance(hint, type) and not get_args(hint) else set())


def test_every_type_that_the_managers_return_is_public() -> None:
    returned = _named(Update)
    for kind in (ContextManager, AsyncContextManager, ContextPool):
        for name, member in inspect.getmembers_static(kind):
            found = getattr(member, "fget", member)
            if not name.startswith("_") and inspect.isfunction(found):
                returned |= _named(get_type_hints(found).get("return"))
    ours = {each for each in returned if each.__module__.startswith("ullage.")}
    public = {getattr(ullage, name) for name in dir(ullage) if not name.startswith("_")}
    assert {each.__name__ for each in ours - public} - {"Awaited"} == _OF_DOORS
    assert isinstance(Update, UnionType)


# Updates of prompt turns, which a manager does not have.
_OF_DOORS = {"AgentMessageChunk", "AgentThoughtChunk", "ToolCall", "ToolCallUpdate", "UserMessageChunk"}


def test_every_error_of_the_guide_is_public_and_one_of_ullages() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guide" / "embedding.md").read_text(encoding="utf-8")
    errors = [
        name for name in dir(ullage) if inspect.isclass(found := getattr(ullage, name)) and issubclass(found, Exception)
    ]
    for name in errors:
        assert issubclass(getattr(ullage, name), UllageError)
        assert f"`{name}`" in guide


def test_the_examples_name_models_that_are_not_about_to_be_retired() -> None:
    from anthropic.resources.messages.messages import DEPRECATED_MODELS  # noqa: PLC0415

    places = [*EXAMPLES.glob("*.py"), *(Path(__file__).parents[3] / "docs" / "guide").glob("*.md")]
    texts = "\n".join(place.read_text(encoding="utf-8") for place in places)
    assert [model for model in DEPRECATED_MODELS if f'"{model}"' in texts] == []


def test_no_thread_is_left_by_updates() -> None:
    told: list[Update] = []
    with ContextManager("gpt-4o", on_update=lambda _, update: told.append(update)) as manager:
        manager.add_message(ASKED)
    assert not [thread for thread in threading.enumerate() if thread.name == "ullage-updates"]
