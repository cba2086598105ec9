"""Lines that a crash, a full disk or a program of another encoding has damaged."""

import pytest

from ullage.formats.parsing import parse_document, parse_lines

WHOLE = b'{"type":"user","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}'


def read(line: bytes) -> list[object]:
    """Returns the objects of a line after a good one, None for each part that is unread."""
    return [one.value and one.value["type"] for one in parse_lines(b'{"type":"first"}\n' + line)[1:]]


@pytest.mark.parametrize("cut", [1, 5, 9, 20, 27, 40, 60, 78, len(WHOLE) - 1])
def test_a_whole_record_after_a_torn_one_is_read_and_the_torn_one_is_named(cut: int) -> None:
    torn = WHOLE[:cut]
    if not torn.rstrip().endswith((b":", b",", b"[")):
        assert read(torn + WHOLE) == [None, "user"]


@pytest.mark.parametrize("cut", range(1, len(WHOLE)))
def test_no_part_of_a_torn_record_is_taken_for_a_record(cut: int) -> None:
    assert read(WHOLE[:cut]) == [None]


def test_what_stands_before_a_whole_record_does_not_hide_it() -> None:
    assert read(b"\0" * 50 + WHOLE) == ["user"]
    assert read('{"type":"user","text":"Häufig? '.encode() + b"\xc3" + WHOLE) == [None, "user"]
    assert read(WHOLE[:30] + WHOLE + WHOLE) == [None, "user", "user"]
    assert read(WHOLE + WHOLE[:30]) == ["user", None]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_file_in_utf_16_is_read_by_its_byte_order_mark(encoding: str) -> None:
    text = "\ufeff" + '{"type":"a"}\r\n{"type":"ü"}\r\n'
    assert [value["type"] for value in parse_document(text.encode(encoding), "log").objects] == ["a", "ü"]
