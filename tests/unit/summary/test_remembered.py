"""Bounded caches of what was read of texts, and of messages by their ids."""

from msgspec.structs import replace

from support.conversations import agent
from ullage.summary.reading.digest import read_messages
from ullage.summary.reading.text_reader import Reader, Remembered, RememberedOf

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


class ReadingOf:
    """Returns a list's texts in one, with their characters, and keeps the lists it was called with."""

    def __init__(self) -> None:
        self.read: list[list[str]] = []

    def __call__(self, texts: list[str]) -> tuple[str, int]:
        self.read.append(texts)
        return "".join(texts), sum(map(len, texts))


def test_what_equals_the_value_of_its_key_is_not_read_again() -> None:
    reading, remembered = ReadingOf(), RememberedOf(ROOM)
    assert [remembered("m1", (["a", "b"],), reading) for _ in range(3)] == ["ab"] * 3
    assert reading.read == [["a", "b"]]


def test_a_value_that_changed_under_its_key_is_read_again() -> None:
    reading, remembered = ReadingOf(), RememberedOf(ROOM)
    assert remembered("m1", (["whole"],), reading) == "whole"
    assert remembered("m1", (["short"],), reading) == "short"
    assert remembered("m2", (["short"],), reading) == "short"
    assert reading.read == [["whole"], ["short"], ["short"]]


def test_of_values_too_those_that_are_asked_for_stay_and_others_are_forgotten() -> None:
    reading, remembered = ReadingOf(), RememberedOf(ROOM)
    for number in range(1_000):
        remembered("always", (["always"],), reading)
        remembered(f"m{number}", ([str(number) * 20],), reading)
    remembered("m0", (["0" * 20],), reading)
    assert reading.read.count(["always"]) == 1
    assert reading.read.count(["0" * 20]) == 2


def test_a_message_that_was_shortened_is_read_as_it_is_now() -> None:
    reader = Reader()
    whole = agent("I found that `load_config` knows JSON only. It must know TOML, too.")
    short = replace(whole, content=agent("I found that `load_config` knows JSON only.").content)
    for message in (whole, short, whole):
        digest = read_messages((message,), (0,), reader)
        assert digest == read_messages((message,), (0,), Reader())
