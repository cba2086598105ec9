"""Lines that a crash, a full disk or a program of another encoding has damaged."""

import json

import pytest

from support.tables import every
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


@every("cut", range(1, len(WHOLE)))
def test_no_part_of_a_torn_record_is_taken_for_a_record(cut: int) -> None:
    assert read(WHOLE[:cut]) == [None]


def test_what_stands_before_a_whole_record_does_not_hide_it() -> None:
    assert read(b"\0" * 50 + WHOLE) == ["user"]
    assert read(b"\xef\xbb\xbf" + WHOLE) == ["user"]
    assert read('{"type":"user","text":"Häufig? '.encode() + b"\xc3" + WHOLE) == [None, "user"]
    assert read(WHOLE[:30] + WHOLE + WHOLE) == [None, "user", "user"]
    assert read(WHOLE + WHOLE[:30]) == ["user", None]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_file_in_wide_characters_is_read_by_its_byte_order_mark_or_its_first_character(encoding: str) -> None:
    text = '{"type":"a"}\r\n{"type":"ü"}\r\n'
    for begin in ("\ufeff", ""):
        data = (begin + text).encode(encoding)
        assert [value["type"] for value in parse_document(data, "log").objects] == ["a", "ü"]


@pytest.mark.parametrize("indent", [None, 2])
def test_the_records_of_an_array_are_read_as_lines(indent: int | None) -> None:
    records = [{"type": "a"}, {"type": "ü"}]
    lines = parse_document(json.dumps(records, indent=indent).encode(), "log").lines
    assert [(line.number, line.value) for line in lines] == [(1, records[0]), (2, records[1])]


@pytest.mark.parametrize(
    "text", ["one\ntwo", "one\r\ntwo\r\n", "a\n\n\nb", "if (x) {\n}\n", 'a\n// b\n[1]\n"c', "tab\tand\nfeed"]
)
def test_a_record_whose_string_has_raw_line_feeds_is_one_record(text: str) -> None:
    quoted = text.replace('"', '\\"')
    record = f'{{"type":"user","text":"{quoted}","more":{{"is":true}}}}'.encode()
    first, whole, last = parse_lines(b'{"type":"first"}\n' + record + b'\n{"type":"last"}\n')
    assert (first.number, whole.number, whole.value and whole.value["text"]) == (1, 2, text)
    assert last.value == {"type": "last"}


def test_lines_of_no_record_stay_unread_and_take_no_record_with_them() -> None:
    lines = [b'{"type":"first"}', b'{"text":"torn', b"lost}", WHOLE, b'{"text":"a', b'{"text":"b', b'c"}']
    read_lines = parse_lines(b"\n".join(lines))
    assert [bool(line.problem) for line in read_lines] == [False, True, True, False, True, False]
    assert [line.number for line in read_lines] == [1, 2, 3, 4, 5, 6]
    assert read_lines[-1].value == {"text": "b\nc"}
