"""A usage belongs to its answer, wherever a version of Codex writes it."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.codex_files import call, counted, event, line, output, said, session, usage
from support.foreign import messages_of, read_lines, reports_of
from ullage.model.message import Role

# A turn is a list of numbers of calls, one for each answer; the last answer of a turn calls nothing.
Turns = list[list[int]]
TURNS = st.lists(st.lists(st.integers(1, 3), max_size=3), min_size=1, max_size=4)


class Writer:
    """Writes the same conversation in the order of one version. Answer number n has a prompt of 1,000 times n."""

    def __init__(self) -> None:
        self.lines: list[dict[str, Any]] = [session()]
        self.answers = 0

    def count(self) -> None:
        self.lines.append(counted(1_000 * self.answers))

    def turn(self, calls: list[int], answer: Callable[["Writer", list[str]], None]) -> None:
        self.lines += [said("user", "question"), event("user_message", message="question")]
        for number in [*calls, 0]:
            self.answers += 1
            answer(self, [f"c{self.answers}-{index}" for index in range(number)])


def usage_first(writer: Writer, calls: list[str]) -> None:
    """0.34: the usage, then the answer, each call with its result."""
    writer.count()
    writer.lines.append(said("assistant", f"answer {writer.answers}"))
    writer.lines += [one for name in calls for one in (call(name), output(name))]


def usage_first_and_repeated(writer: Writer, calls: list[str]) -> None:
    """0.55: the same; the usage is repeated when the turn continues."""
    usage_first(writer, calls)
    writer.lines.append(line("turn_context", model="m"))
    writer.count()


def usage_after_answer(writer: Writer, calls: list[str]) -> None:
    writer.lines += [said("assistant", f"answer {writer.answers}"), *map(call, calls)]
    writer.count()
    writer.lines += map(output, calls)


def usage_after_results(writer: Writer, calls: list[str]) -> None:
    writer.lines += [said("assistant", f"answer {writer.answers}"), *map(call, calls), *map(output, calls)]
    writer.count()


def usage_recorded(writer: Writer, calls: list[str]) -> None:
    """0.169: a record after the answer, repeated as an event after the results."""
    prompt = 1_000 * writer.answers
    writer.lines += [said("assistant", f"answer {writer.answers}"), *map(call, calls)]
    writer.lines.append(line("token_usage_record", usage=usage(prompt), thread_token_usage={"total_tokens": prompt}))
    writer.lines += map(output, calls)
    writer.count()


ORDERS = [usage_first, usage_first_and_repeated, usage_after_answer, usage_after_results, usage_recorded]
every_order = pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.__name__)


def expect_prompts(lines: list[dict[str, Any]], answers: int) -> None:
    transcript = read_lines(*lines)
    said_by_model = [message for message in messages_of(transcript) if message.role is Role.ASSISTANT]
    assert [message.text for message in said_by_model] == [f"answer {number}" for number in range(1, answers + 1)]
    expected = [(message.id, 1_000 * number) for number, message in enumerate(said_by_model, start=1)]
    assert [(report.message_id, report.usage.prompt) for report in reports_of(transcript)] == expected
    assert [skipped for skipped in transcript.skipped if not skipped.expected] == []


@every_order
@given(turns=TURNS)
def test_every_answer_has_its_own_usage_in_any_order_of_the_file(
    order: Callable[[Writer, list[str]], None], turns: Turns
) -> None:
    writer = Writer()
    for calls in turns:
        writer.turn(calls, order)
    expect_prompts(writer.lines, writer.answers)


@given(turns=TURNS, resumed=TURNS, orders=st.permutations(ORDERS))
def test_another_version_may_continue_the_file(
    turns: Turns, resumed: Turns, orders: list[Callable[[Writer, list[str]], None]]
) -> None:
    writer = Writer()
    for calls in turns:
        writer.turn(calls, orders[0])
    for calls in resumed:
        writer.turn(calls, orders[1])
    expect_prompts(writer.lines, writer.answers)
