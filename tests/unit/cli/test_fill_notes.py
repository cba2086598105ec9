"""When a note of the fill is due, and what it says."""

import json

import pytest

from ullage.cli.commands.hook import Fill
from ullage.cli.statusline.line import Figure

WINDOW = 200_000


def figure(used: int | None, calls: tuple[int, int] | None = None, window: int | None = WINDOW) -> Figure:
    return Figure(used=used, window=window, compacts_at=167_000, calls_left=calls)


class Told:
    """The notes of one session, each prompt a hook of its own."""

    def __init__(self) -> None:
        self._kept: str | None = None

    def __call__(self, now: Figure) -> str:
        fill = Fill(json.loads(self._kept) if self._kept else None)
        note = fill.note(now)
        self._kept = fill.given
        return note


@pytest.fixture
def told() -> Told:
    return Told()


def test_each_mark_is_told_once(told: Told) -> None:
    shares = [0.5, 0.69, 0.7, 0.75, 0.84, 0.86, 0.9]
    assert [bool(told(figure(int(share * WINDOW)))) for share in shares] == [
        *(False, False, True, False),
        *(False, True, False),
    ]


def test_two_calls_left_is_a_mark_wherever_the_agent_compacts(told: Told) -> None:
    assert not told(figure(100_000, (3, 9)))
    assert told(figure(110_000, (2, 5)))
    assert not told(figure(112_000, (1, 1)))
    assert told(figure(140_000, (1, 1)))


def test_marks_that_are_passed_at_once_are_one_note(told: Told) -> None:
    assert told(figure(190_000, (1, 1)))
    assert not told(figure(195_000, (1, 1)))


def test_a_new_fill_is_told_again(told: Told) -> None:
    assert told(figure(150_000))
    assert not told(figure(20_000))
    assert told(figure(141_000))
    # A little less is no new fill.
    assert not told(figure(139_000))
    assert not told(figure(141_000))


@pytest.mark.parametrize("unknown", [figure(None), figure(190_000, window=None), figure(190_000, window=0)])
def test_what_is_not_known_is_not_told(told: Told, unknown: Figure) -> None:
    assert not told(unknown)


def test_the_note_is_one_line_of_facts(told: Told) -> None:
    first, second = (
        "Context: 142,757 of 200,000 tokens (71 %).",
        "It is compacted at 167,000 tokens, at least 1 call of",
    )
    assert told(figure(142_757, (1, 4))) == f"{first} {second} the model from now."
    estimated = Figure(used=142_000, window=WINDOW, is_estimated=True)
    assert Told()(estimated) == "Context: about 142,000 of 200,000 tokens (71 %)."
    assert Told()(figure(166_000, (1, 1))).endswith(", 1 call of the model from now.")
