"""What a program gives by mistake is refused with a remedy: pieces of streams, lists in place of messages, what cannot
be stored; and a manager in a process that was forked."""

import copy
import multiprocessing
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from ullage import ContextCompactor, ContextManager, ContextPool, InvalidRequest

MODEL = "gpt-4o"
USER = {"role": "user", "content": "Hello"}
CIRCULAR: dict[str, Any] = {"role": "user", "content": "x"}
CIRCULAR["self"] = CIRCULAR


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels):
        value = {"in": value}
    return {"role": "user", "content": "x", "extra": value}


@pytest.mark.parametrize(
    "piece",
    [
        {"object": "chat.completion.chunk", "choices": [{"delta": {"role": "assistant", "content": "hi"}}]},
        {"type": "message_start", "message": {"role": "assistant", "content": []}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
        {"type": "response.output_text.delta", "delta": "hi"},
    ],
)
@pytest.mark.parametrize("provider", [None, "anthropic", "openai", "openai-responses"])
def test_a_piece_of_a_stream_is_no_message(piece: Any, provider: str | None) -> None:
    with ContextManager(MODEL, provider=provider) as context:
        with pytest.raises(InvalidRequest, match="message 1 is a piece of a stream; give the whole answer"):
            context.add_message(piece)
        assert context.get_messages() == []


@pytest.mark.parametrize("make", [lambda: [USER], lambda: (USER,), lambda: iter([USER]), {"a": USER}.values])
def test_several_messages_in_one_are_given_one_after_the_other(make: Callable[[], Any]) -> None:
    with ContextManager(MODEL) as context, pytest.raises(InvalidRequest, match=r"message 2 .*as in `\*messages`"):
        context.add_message(USER, make())


def test_a_stream_that_is_refused_is_left_as_it_is() -> None:
    seen: list[int] = []

    def stream() -> Iterator[int]:
        seen.append(1)
        yield 1

    with ContextManager(MODEL) as context, pytest.raises(InvalidRequest, match="of a stream the whole answer"):
        context.add_message(stream())
    assert seen == []


@pytest.mark.parametrize("wrong", [CIRCULAR, nested(201), nested(5_000)])
def test_what_is_nested_too_deeply_to_be_stored_is_refused(wrong: Any) -> None:
    with ContextManager(MODEL) as context:
        with pytest.raises(InvalidRequest, match="message 1 refers to itself or has more than 200 levels"):
            context.add_message(wrong)
        assert len(context.add_message(nested(150))) == 1
    with pytest.raises(InvalidRequest, match="message 1 refers to itself"):
        ContextCompactor().compact_sync([wrong], 1_000)


def test_a_choice_of_an_answer_is_its_message() -> None:
    answer = {"role": "assistant", "content": "hi"}
    given = {"index": 0, "finish_reason": "stop", "message": answer}
    choice = SimpleNamespace(model_dump=partial(dict, given))
    with ContextManager(MODEL) as context:
        context.add_message(USER, choice, {"index": 0, "message": answer})
        assert context.get_request()["messages"] == [USER, answer, answer]


def test_an_unknown_role_names_those_that_there_are() -> None:
    for provider, known in (("anthropic", "user, assistant, system"), ("openai", "system, developer, user, assistant")):
        with ContextManager(MODEL, provider=provider) as context, pytest.raises(InvalidRequest, match=known):
            context.add_message({"role": "model", "content": "hi"})


@pytest.mark.parametrize("again", [pickle.dumps, copy.deepcopy])
def test_a_manager_and_a_pool_say_how_to_make_another(again: Callable[[Any], Any]) -> None:
    with ContextManager(MODEL) as context, ContextPool(MODEL) as pool:
        for made in (context, pool):
            with pytest.raises(TypeError, match="give `store` and `session_id`, and make another"):
                again(made)


def _in_fork(context: ContextManager, told: Any) -> None:
    try:
        context.add_message(USER)
    except RuntimeError as error:
        told.put(str(error))
    context.close()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_manager_in_a_forked_process_says_so_and_leaves_its_parents_alone() -> None:
    forks = multiprocessing.get_context("fork")
    with ContextManager(MODEL) as context:
        context.add_message(USER)
        told = forks.Queue()
        child = forks.Process(target=_in_fork, args=(context, told))
        child.start()
        assert "forked after the manager or pool was made; make one here" in told.get(timeout=30)
        child.join(timeout=30)
        assert child.exitcode == 0
        context.add_message(USER)
        assert len(context.get_messages()) == 2
