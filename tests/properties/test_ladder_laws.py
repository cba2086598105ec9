"""The law of the ladder: after every append, the next request fits the window and the providers' rules, or the user
gets a notice about what is too large."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.build import assistant, results, system, thinking, user, uses, words
from support.provider_rules import anthropic_violations, openai_violations
from support.workspace import SMALL_MODEL, PacedSummarizer, TestClient, build_test_client
from ullage.formats.requests.anthropic import write_anthropic
from ullage.formats.requests.openai import write_openai
from ullage.model.errors import ProviderError
from ullage.model.events import MessageAppended, MessagePinned, SessionCreated, ToolsDeclared
from ullage.model.message import ImageBlock, Message, Role, ThinkingBlock, ToolDefinition

_HUGE = 30_000


def _image(id_: str) -> Message:
    return Message(id=id_, role=Role.USER, content=(ImageBlock(data="iVBORw0KGgo=", width=1_500, height=1_500),) * 6)


def _redacted(id_: str) -> Message:
    return Message(id=id_, role=Role.ASSISTANT, content=(ThinkingBlock(thinking="", redacted="A" * 60_000),))


def _call(id_: str, size: int) -> list[Message]:
    call = uses(f"{id_}u", f"t{id_}", name="Write", file_path="/a.py", content=words(size))
    return [call, results(f"{id_}r", f"t{id_}", text="written")]


def _read(id_: str, size: int) -> list[Message]:
    text = "\n".join(f"{i:6}\tline {i} of the file" for i in range(size // 5))
    return [uses(f"{id_}u", f"t{id_}", name="Read", path="/a.py"), results(f"{id_}r", f"t{id_}", text=text)]


def _parallel(id_: str, number: int) -> list[Message]:
    tools = [f"t{id_}-{i}" for i in range(number)]
    return [uses(f"{id_}u", *tools), *(results(f"{id_}r{i}", tool, text=words(40)) for i, tool in enumerate(tools))]


_sizes = st.sampled_from([1, 60, 600, 3_000, _HUGE])
_STEPS: dict[str, Callable[[str, int], list[Message]]] = {
    "prompt": lambda id_, size: [user(id_, words(size))],
    "answer": lambda id_, size: [assistant(id_, words(size))],
    "thinking": lambda id_, size: [thinking(id_, words(size)), assistant(f"{id_}a", "Yes.")],
    "only thinking": lambda id_, size: [thinking(f"{id_}-{i}", words(size // 10)) for i in range(10)],
    "redacted": lambda id_, _: [_redacted(id_)],
    "pictures": lambda id_, _: [_image(id_)],
    "input": _call,
    "read": _read,
    "lost call": lambda id_, size: [uses(id_, f"t{id_}", name="run", command=words(size))],
    "parallel": lambda id_, size: _parallel(id_, min(size, 60)),
    "tiny": lambda id_, size: [user(f"{id_}-{i}", "ok") for i in range(min(size, 600))],
    "tiny answers": lambda id_, size: [assistant(f"{id_}-{i}", "ok") for i in range(min(size, 600))],
    "note": lambda id_, size: [system(id_, words(min(size, 60)))],
}
_steps = st.tuples(st.sampled_from(sorted(_STEPS)), _sizes, st.booleans())


async def play(
    client: TestClient, steps: Sequence[tuple[str, int, bool]], tools: Sequence[ToolDefinition] = ()
) -> tuple[str, list[str]]:
    """Appends step by step, and waits after each step until its work is done. Returns the session's id and the kinds
    of the notices."""
    workspace = client.workspace
    session = workspace.adopt("s", [SessionCreated(model=SMALL_MODEL), ToolsDeclared(tools=tuple(tools))])
    for number, (kind, size, pinned) in enumerate(steps):
        messages = _STEPS[kind](f"m{number}", size)
        with session.one_change():
            session.record(*(MessageAppended(message=message) for message in messages))
            if pinned and len(messages) < 3:
                session.record(MessagePinned(message_id=messages[0].id))
        await session.settled()
        budget = session.budget
        assert budget is not None
        assert session.used <= budget.usable or session.guards.warned_unfit
        # A later usage may change the counts, so the view must fit by the counts that planning uses, too.
        assert session.projection.counted_view().used <= budget.usable or session.guards.warned_unfit
    view = session.transcript.view
    assert not anthropic_violations(write_anthropic(view).messages)
    assert not openai_violations(write_openai(view).messages)
    return "s", [kind for update in client.recorder.take() if (kind := _kind(update))]


def _kind(update: Any) -> str:
    return update["_meta"]["ullage"]["kind"] if update["sessionUpdate"] == "notice" else ""


@given(st.lists(_steps, min_size=1, max_size=8))
@settings(deadline=None, max_examples=40)
def test_whatever_comes_in_the_context_fits_the_window(steps: list[tuple[str, int, bool]]) -> None:
    _, kinds = asyncio.run(play(build_test_client(), steps))
    assert "compaction_failed" not in kinds


@given(st.lists(_steps, min_size=1, max_size=6))
@settings(deadline=None, max_examples=20)
def test_it_fits_when_no_summary_can_be_had_either(steps: list[tuple[str, int, bool]]) -> None:
    summarizer = PacedSummarizer((), ProviderError("no connection"))
    asyncio.run(play(build_test_client(summarizer=summarizer), steps))


@given(st.lists(_steps, min_size=1, max_size=4), st.integers(1, 90))
@settings(deadline=None, max_examples=20)
def test_tools_that_leave_little_room_cost_no_more_than_they_must(
    steps: list[tuple[str, int, bool]], number: int
) -> None:
    tools = [ToolDefinition(name=f"tool_{i}", description=words(60)) for i in range(number)]
    client = build_test_client()
    asyncio.run(play(client, steps, tools))


# They take minutes: the longest test of a whole run by far.
@pytest.mark.slow
@pytest.mark.long
@given(st.lists(_steps, min_size=1, max_size=14))
@settings(deadline=None, max_examples=1_500)
def test_many_more_histories_fit_the_window(steps: list[tuple[str, int, bool]]) -> None:
    asyncio.run(play(build_test_client(), steps))
