"""Laws of the one figure: of counting texts, of the tracker in whatever order things happen, and of made-up logs of an
agent."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.claude_log import ClaudeLog
from support.workspace import build_test_client
from ullage.model.message import Role
from ullage.model.usage import Breakdown, Usage, UsageSource
from ullage.tokens.calibration import Calibration
from ullage.tokens.counter import ApproximateCounter, TiktokenCounter, cut, well_formed
from ullage.tokens.families import Family
from ullage.tokens.tracker import ContextTracker
from ullage.tokens.vocabulary import SPECS, load_encoding

counts = st.integers(0, 10_000)
parts = st.builds(Breakdown, system_prompt=counts, memory=counts, messages=counts, tool_results=counts, summary=counts)
usages = st.builds(Usage, input_tokens=counts, output_tokens=counts, cache_read_input_tokens=counts)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), parts),
        st.tuples(st.just("report"), usages),
        st.tuples(st.just("tools"), counts),
        st.tuples(st.just("edit"), parts),
    ),
    max_size=60,
)


def apply(tracker: ContextTracker, index: int, step: tuple[str, object]) -> None:
    match step:
        case ("append", Breakdown() as count):
            tracker.append(f"m{index}", Role.ASSISTANT, count)
        case ("report", Usage() as usage):
            last = tracker.state.recent[-1:]
            tracker.report(usage, last[0].message_id if last else "gone", at=index)
        case ("tools", int() as tokens):
            tracker.declare_tools(tokens)
        case ("edit", Breakdown() as count):
            tracker.edited([("marker", Role.USER, count)])
        case _:
            raise AssertionError(step)


@given(steps)
def test_breakdown_sums_to_used_and_nothing_is_negative(script: list[tuple[str, object]]) -> None:
    tracker = ContextTracker()
    for index, step in enumerate(script):
        apply(tracker, index, step)
        reading = tracker.reading
        assert reading.breakdown.total == reading.used >= 0
        assert min(reading.breakdown.overhead, reading.breakdown.messages, reading.breakdown.tools) >= 0
        assert reading.error_share >= 0


@given(steps)
def test_restoring_a_state_changes_nothing(script: list[tuple[str, object]]) -> None:
    tracker = ContextTracker()
    for index, step in enumerate(script):
        apply(tracker, index, step)
        tracker = ContextTracker.restore(tracker.state)
    straight = ContextTracker()
    for index, step in enumerate(script):
        apply(straight, index, step)
    assert tracker.state == straight.state


@given(steps)
def test_reported_means_that_nothing_came_after_the_report(script: list[tuple[str, object]]) -> None:
    tracker = ContextTracker()
    for index, step in enumerate(script):
        apply(tracker, index, step)
        if tracker.reading.source is UsageSource.REPORTED:
            assert tracker.reading.pending_messages == 0


@given(steps)
def test_a_reading_is_the_same_however_often_it_was_asked_for(script: list[tuple[str, object]]) -> None:
    tracker = ContextTracker()
    for index, step in enumerate(script):
        apply(tracker, index, step)
        assert tracker.reading == ContextTracker.restore(tracker.state).reading


class Going:
    """A conversation whose user goes back and forth, and the reports of its contexts. No two messages have as many
    tokens."""

    def __init__(self) -> None:
        self.tracker = ContextTracker()
        self.view: list[tuple[str, Role, Breakdown]] = []
        self.reports: dict[tuple[object, ...], int] = {}
        self._left: list[list[tuple[str, Role, Breakdown]]] = [[]]
        self._tokens = self._made = 0

    @property
    def context(self) -> tuple[object, ...]:
        return self._tokens, *self.view

    def message(self, role: Role, kind: str) -> tuple[str, Role, Breakdown]:
        self._made += 1
        return f"m{self._made}", role, Breakdown(**{kind: 10 + self._made * 7_919 % 100_003})

    def step(self, name: str, choice: int) -> None:
        tracker, view = self.tracker, self.view
        match name:
            case "ask" | "result" | "answer":
                kind = "tool_results" if name == "result" else "messages"
                view.append(self.message(Role.ASSISTANT if name == "answer" else Role.USER, kind))
                tracker.append(*view[-1])
                if name == "answer":
                    counted = sum(parts.total for _, _, parts in view)
                    usage = Usage(input_tokens=30_000 + 2 * counted + self._made, output_tokens=self._made)
                    tracker.report(usage, view[-1][0], at=1)
                    self.reports[self.context] = usage.total
            case "back" | "return":
                self._left.append([*view])
                left = self._left[choice % len(self._left)]
                self.view = view[: choice % (len(view) + 1)] if name == "back" else [*left]
                tracker.edited(self.view, by_going_back=True)
            case "compact" | "replace":
                place = choice % (len(view) + 1)
                one = self.message(Role.USER, "summary")
                self.view = [one, *view[place:]] if name == "compact" else [*view[:place], one, *view[place + 1 :]]
                tracker.edited(self.view)
            case "tokenizer":
                self._tokens += 1
                tracker.recalibrate(Calibration(), Calibration())
            case _:
                self.tracker = ContextTracker.restore(tracker.state)


STEPS = ["ask", "ask", "result", "answer", "answer", "answer", "back", "back", "return", "compact", "replace"]


@settings(max_examples=400)
@given(
    st.lists(st.tuples(st.sampled_from([*STEPS, "tokenizer", "restart"]), st.integers(0, 50)), min_size=8, max_size=40)
)
def test_only_the_context_that_was_reported_has_the_figure_of_its_report(script: list[tuple[str, int]]) -> None:
    going = Going()
    for name, choice in script:
        going.step(name, choice)
        reading, context = going.tracker.reading, going.context
        if reading.source is UsageSource.REPORTED:
            assert reading.used == going.reports[context]
        elif reading.source is UsageSource.STALE:
            before = (context[:end] for end in range(2, len(context)))
            assert reading.reported in {going.reports.get(one) for one in before}


MODELS = ("claude-opus-4-6", "claude-haiku-4-5", "claude-opus-4-7", "gpt-5")
turns = st.lists(
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
@given(turns)
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
@given(turns, st.integers(1_000, 1_200_000), st.integers(1, 900))
def test_a_log_that_ends_with_a_report_has_that_reports_figure(
    script: list[tuple[str, Any]], tokens: int, output: int
) -> None:
    usage, _ = asyncio.run(figures_of(made_up(script).ask().answer(tokens, output)))
    assert (usage["used"], usage["_meta"]["ullage"]["source"]) == (tokens + output, "reported")


@settings(max_examples=60, deadline=None)
@given(turns)
def test_no_window_is_smaller_than_the_prompts_that_it_took_since_the_last_compaction(
    script: list[tuple[str, Any]],
) -> None:
    answers = [value for step, value in script if step == "answer"]
    if any(step in ("compact", "model") for step, _ in script) or not answers:
        return
    usage, _ = asyncio.run(figures_of(made_up(script)))
    assert usage["size"] >= min(max(answers), 1_000_000)


small_counts = st.integers(0, 5_000)


@given(
    st.lists(small_counts, max_size=5),
    st.integers(0, 50_000),
    small_counts,
    st.lists(st.tuples(st.booleans(), small_counts)),
)
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


COUNTERS = [TiktokenCounter(Family(name=name, encoding=name)) for name in SPECS]
# Long enough to be cut: a few fragments, joined by characters at which texts are cut, and repeated.
fragments = st.lists(st.sampled_from(["word", " ", "\n", "\r\n", "/", "\t", "été", "漢字", "...", "12345", "'s", "{}"]))


def repeated(parts: list[str], times: int) -> str:
    return ("".join(parts) * times)[:30_000]


texts = st.builds(repeated, fragments, st.integers(1, 2_000))


@settings(max_examples=60, deadline=None)
@given(texts)
def test_pieces_count_like_the_whole(text: str) -> None:
    for counter in COUNTERS:
        assert counter.count(text) == len(load_encoding(counter.name).encode_ordinary(text))


@given(st.text(st.characters(codec=None), max_size=5_000))
def test_pieces_concatenate_to_the_text(text: str) -> None:
    assert "".join(cut(text)) == text


@given(st.text(st.characters(categories=["L", "Z", "Cs", "Cc"]), max_size=200))
def test_any_string_is_counted(text: str) -> None:
    assert len(well_formed(text).encode()) >= len(text)
    for counter in (*COUNTERS, ApproximateCounter()):
        assert counter.count(text) >= (1 if text else 0)
        assert counter.count(text) == counter.count(text)
