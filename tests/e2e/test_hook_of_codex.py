"""`ullage hook codex` as a real process: the summary is in Codex's file when the hook after a compaction runs."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from support.codex_files import compacted, said, session
from support.command_line import ullage
from support.foreign import to_lines
from support.hook_place import Place, answer, hook_place, is_silent
from ullage.lost.left_out import HEAD

NEXT = "And the one beside it?"
DECISION = "Decided: the port stays 8443, because src/shop/proxy.py expects it."
PROMPT = said("user", "Which port is it?")
BEFORE = (session(), PROMPT, said("assistant", DECISION), said("user", NEXT))
COMPACTED = compacted("A port was found.", PROMPT, said("user", "A port was found."))


@pytest.fixture
def place(tmp_path: Path) -> Generator[Place]:
    with hook_place(tmp_path, "codex", to_lines(*BEFORE)) as made:
        yield made


def compact(place: Place, record: dict[str, Any] = COMPACTED) -> None:
    """Does what Codex does: the hook before the compaction, then the record of it."""
    assert is_silent(place.begun())
    with place.transcript.open("ab") as file:
        file.write(to_lines(record))


def given_back(place: Place) -> str:
    """What Codex is given after the compaction. On a busy machine the next prompt gives it."""
    ran = place.started()
    return answer(ran if ran.out else place.given_late())["additionalContext"]


def test_what_the_summary_left_out_is_given_back_once(place: Place) -> None:
    compact(place)
    given = given_back(place)
    assert given.startswith(HEAD)
    assert f"> #2 {DECISION}" in given
    assert f"> #3 {NEXT}" in given.splitlines()
    assert "Which port" not in given
    for _ in range(3):
        assert is_silent(place.prompted())
    assert [receipt.counts for receipt in place.receipts] == [{"said": 1, "words": 1}]


def test_a_new_context_window_without_a_summary_is_given_all_that_the_user_said(place: Place) -> None:
    compact(place, compacted("", said("developer", "Context window lineage. Current: b")))
    lines = given_back(place).splitlines()
    assert "> #1 Which port is it?" in lines
    assert f"> #3 {NEXT}" in lines
    assert f"> #2 {DECISION}" in lines
    ran = ullage("lost", place.transcript)
    assert "the agent kept no summary and no message" in " ".join(ran.out.split())


def test_a_second_compaction_gives_back_what_the_second_left_out(place: Place) -> None:
    compact(place)
    given_back(place)
    with place.transcript.open("ab") as file:
        file.write(to_lines(said("assistant", "Decided: the host is berta.example, because it has the key.")))
    compact(place)
    assert "berta.example" in given_back(place)


def test_a_file_without_a_compaction_gives_nothing_back(place: Place) -> None:
    assert is_silent(place.started())
    assert place.arrivals[-1]["outcome"] != "given"
