"""A bounded cache of a function's results for texts."""

from ullage.summary.reading.reader import Remembered

ROOM = 8_000


class Reading:
    """Returns a text in capitals, and keeps the texts it was called with."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, text: str) -> str:
        self.read.append(text)
        return text.upper()


def test_a_text_is_read_once_however_often_it_is_asked_for() -> None:
    reading = Reading()
    remembered = Remembered(reading, ROOM)
    assert [remembered("a"), remembered("b"), remembered("a")] == ["A", "B", "A"]
    assert reading.read == ["a", "b"]


def test_an_equal_text_from_elsewhere_is_not_read_again() -> None:
    reading = Reading()
    remembered = Remembered(reading, ROOM)
    for half in ("one ", "one "):
        remembered(half + str(len(half)))
    assert reading.read == ["one 4"]


def test_what_is_not_asked_for_any_more_is_forgotten_and_what_is_stays() -> None:
    reading = Reading()
    remembered = Remembered(reading, ROOM)
    for number in range(1_000):
        remembered("always")
        remembered(f"{number}" * 20)
    remembered("0" * 20)
    assert reading.read.count("always") == 1
    assert reading.read.count("0" * 20) == 2


def test_a_text_too_large_for_its_room_pushes_nothing_out() -> None:
    reading = Reading()
    remembered = Remembered(reading, ROOM)
    remembered("small")
    for _ in range(3):
        assert remembered("x" * ROOM) == "X" * ROOM
    remembered("small")
    assert reading.read.count("small") == 1
    assert reading.read.count("x" * ROOM) == 3
