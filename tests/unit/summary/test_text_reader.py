"""A reader's cache does not change the composed summary."""

import pytest
from msgspec.structs import replace

from support.conversations import agent, bash, places, user
from support.counting import LengthCounter
from ullage.model.artifacts import Outcome
from ullage.summary.choosing.composition import compose
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.text_reader import Reader
from ullage.summary.summary_request import SummaryRequest

COUNTER = LengthCounter()
MESSAGES = (
    user("Fix `load_config`, and never touch config/legacy.ini."),
    *bash("pytest tests/test_config.py", "==== 1 failed in 0.2s ====", is_error=True, call_id="t1"),
    agent("I found that `_reader_for` in src/config.py knows JSON only."),
    *bash("cd src && sed -i s/json/toml/ config.py", "", call_id="t2"),
    *bash("pytest tests/test_config.py", "==== 1 passed in 0.2s ====", call_id="t3"),
)
REQUEST = SummaryRequest(messages=MESSAGES, indices=places(MESSAGES), max_tokens=900)


def test_cached_readings_give_the_same_next_summary_as_reading_again() -> None:
    reader = Reader()
    for request in (
        REQUEST,
        replace(REQUEST, max_tokens=300),
        replace(REQUEST, messages=MESSAGES[:3], indices=(5, 6, 7)),
    ):
        for _ in range(2):
            assert compose(request, COUNTER, reader) == compose(request, COUNTER)


def test_a_reader_without_room_reads_all_the_same() -> None:
    assert compose(REQUEST, COUNTER, Reader(room=0)) == compose(REQUEST, COUNTER)


def test_a_command_that_failed_by_its_tool_differs_from_one_that_only_printed_a_failure() -> None:
    reader = Reader()
    ends = [reader.end("done", failed)[0] for failed in (None, True, False, None)]
    assert ends == [Outcome.UNKNOWN, Outcome.FAILED, Outcome.PASSED, Outcome.UNKNOWN]


def test_no_secret_is_in_what_was_said_called_or_shown() -> None:
    secret, reader = "ghp_" + "Zk3" * 12, Reader()
    text = f"The header was {secret} in src/auth.py."
    called, shown = reader.called(text), reader.shown(text)
    read = [(piece.text, piece.anchors) for piece in reader.said(text)]
    read += [pair for lines in (called, shown) for pair in zip(lines.listing.texts, lines.names, strict=True)]
    assert len(read) == 3
    assert all(secret not in line for lines in (called, shown) for line in lines.listing.lines)
    assert all(secret not in piece and "src/auth.py" in names for piece, names in read)


@pytest.mark.parametrize(
    ("said", "pieces"),
    [
        (
            "It is in the repo root.But os.Getwd differs: string.Looking at it shows that",
            ("It is in the repo root. But os.Getwd differs: string. Looking at it shows that",),
        ),
        ("It is 33406b6b748dWait for it", ("It is 33406b6b748d Wait for it",)),
        ("It found uncommittedSo the hook ran", ("It found uncommitted So the hook ran",)),
        ("The tools are:- Write- Edit- mcp__acp__Edit", ("The tools are:", "Write", "Edit", "mcp__acp__Edit")),
        (
            "The order is: 1. `a.py` reads2. `b.py` writes f8b5a0142eee3. It ends",
            ("The order is: 1. `a.py` reads", "`b.py` writes f8b5a0142eee", "It ends"),
        ),
        ("1. pre- and post-build, version 2. It has App.But()", ("pre- and post-build, version 2. It has App.But()",)),
    ],
)
def test_sentences_and_entries_that_were_run_together_are_parted(said: str, pieces: tuple[str, ...]) -> None:
    assert tuple(piece.text for piece in Reader().said(said)) == pieces


def test_a_name_after_an_escaped_line_break_has_no_letter_of_it() -> None:
    assert find_anchors(r'"text": "Done.\nLoadConfig\n\nRead the file in C:\new_files"') == ("LoadConfig", "new_files")
