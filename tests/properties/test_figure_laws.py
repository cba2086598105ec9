"""Laws of the one figure, on made-up logs of an agent and on made-up scripts of the tracker."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.claude_log import ClaudeLog
from support.workspace import build_test_client
from ullage.model.message import Role
from ullage.model.usage import Breakdown, Usage
from ullage.tokens.tracker import ContextTracker

MODELS = ("claude-opus-4-6", "claude-haiku-4-5", "claude-opus-4-7", "gpt-5")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(1, 300)),
        st.tuples(st.just("answer"), st.integers(1_000, 1_200_000)),
        st.tuples(st.just("compact"), st.integers(1_000, 1_000_000)),
        st.tuples(st.just("model"), st.integers(0, len(MODELS) - 1)),
        st.tuples(st.just("version"), st.sampled_from(["2.1.1", "2.1.39", "1.0.53", "3"])),
    ),
    min_size=1,
    max_size=12,
)


def made_up(script: list[tuple[str, Any]]) -> ClaudeLog:
    log = ClaudeLog().ask("Please begin.")
    for step, value in script:
        match step:
            case "ask":
                log.ask("word " * value)
            case "answer":
                log.answer(value, value % 700)
            case "compact":
                log.compact(value, "manual" if value % 3 == 0 else "auto")
            case "model":
                log.model = MODELS[value]
            case _:
                log.version = value
    return log


async def figures_of(log: ClaudeLog) -> tuple[Any, Any]:
    """Returns the usage after an import, and after the session was opened again by another process."""
    client = build_test_client()
    session = (await client.call("session/import", text=log.text))["session"]
    again = build_test_client(store=client.workspace.ports.store)
    return session["usage"], await again.call("context/get", sessionId=session["sessionId"])


@settings(max_examples=60, deadline=None)
@given(steps)
def test_the_figures_of_any_log_agree_with_each_other_and_with_a_reload(script: list[tuple[str, Any]]) -> None:
    log = made_up(script)
    usage, again = asyncio.run(figures_of(log))
    meta = usage["_meta"]["ullage"]
    used, size, window, threshold = usage["used"], usage["size"], meta["window"], meta["threshold"]
    assert again == usage
    assert sum(meta["breakdown"].values()) == used
    assert meta["hidden"]["tokens"] == meta["breakdown"].get("overhead", 0)
    assert window["size"] == size
    assert meta["percent"] == (200 * used + size) // (2 * size)
    assert meta["asOf"] <= log.now
    assert meta["managedBy"] == "agent"
    assert 0 <= meta["errorShare"] <= 1
    if threshold is None:
        assert meta["compactAt"] is None
    else:
        assert 0 < threshold["tokens"] <= size
        assert meta["compactAt"] == threshold["tokens"]
        assert meta["left"] == max(0, threshold["tokens"] - used)
        assert (threshold["source"] == "learned") == (threshold["times"] > 0)
        assert meta["warnAt"] <= meta["compactAt"]


@settings(max_examples=60, deadline=None)
@given(steps, st.integers(1_000, 1_200_000), st.integers(1, 900))
def test_a_log_that_ends_with_a_report_has_that_reports_figure(
    script: list[tuple[str, Any]], tokens: int, output: int
) -> None:
    usage, _ = asyncio.run(figures_of(made_up(script).ask().answer(tokens, output)))
    assert (usage["used"], usage["_meta"]["ullage"]["source"]) == (tokens + output, "reported")


@settings(max_examples=60, deadline=None)
@given(steps)
def test_no_window_is_smaller_than_the_prompts_that_it_took_since_the_last_compaction(
    script: list[tuple[str, Any]],
) -> None:
    answers = [value for step, value in script if step == "answer"]
    if any(step in ("compact", "model") for step, _ in script) or not answers:
        return
    usage, _ = asyncio.run(figures_of(made_up(script)))
    assert usage["size"] >= min(max(answers), 1_000_000)


counts = st.integers(0, 5_000)


@given(st.lists(counts, max_size=5), st.integers(0, 50_000), counts, st.lists(st.tuples(st.booleans(), counts)))
def test_a_message_never_makes_the_figure_smaller_unless_reasoning_leaves(
    before: list[int], prompt: int, answer: int, later: list[tuple[bool, int]]
) -> None:
    tracker = ContextTracker()
    used = 0
    for number, count in enumerate(before):
        tracker.append(f"b{number}", Role.USER, Breakdown(messages=count))
        assert tracker.reading.used >= used
        used = tracker.reading.used
    tracker.append("a", Role.ASSISTANT, Breakdown(messages=answer))
    # The answer's output is what its text counts, so it holds no reasoning.
    tracker.report(Usage(input_tokens=prompt, output_tokens=answer), "a", at=1)
    used = tracker.reading.used
    for number, (is_user, count) in enumerate(later):
        role = Role.USER if is_user else Role.ASSISTANT
        tracker.append(f"l{number}", role, Breakdown(messages=count))
        assert tracker.reading.used >= used
        used = tracker.reading.used
