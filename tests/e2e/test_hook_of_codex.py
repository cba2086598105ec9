"""`ullage hook codex` as a real process: the summary is in Codex's file when the hook after a compaction runs."""

from collections.abc import Generator
from pathlib import Path

import pytest

from support.codex_files import compacted, said, session
from support.foreign import to_lines
from support.hook_place import Place, answer, hook_place, is_silent
from ullage.lost.brief import HEAD

DECISION = "Decided: the port stays 8443, because src/shop/proxy.py expects it."
PROMPT = said("user", "Which port is it?")
BEFORE = (session(), PROMPT, said("assistant", DECISION), said("user", "And the one beside it?"))
COMPACTED = compacted("A port was found.", PROMPT, said("user", "A port was found."))


@pytest.fixture
def place(tmp_path: Path) -> Generator[Place]:
    with hook_place(tmp_path, "codex", to_lines(*BEFORE)) as made:
        yield made


def compact(place: Place) -> None:
    """Does what Codex does: the hook before the compaction, then the record of it."""
    assert is_silent(place.begun())
    with place.transcript.open("ab") as file:
        file.write(to_lines(COMPACTED))


def given_back(place: Place) -> str:
    """What Codex is given after the compaction. On a busy machine the next prompt gives it."""
    ran = place.started()
    return answer(ran if ran.out else place.given_late())["additionalContext"]


def test_what_the_summary_left_out_is_given_back_once(place: Place) -> None:
    compact(place)
    given = given_back(place)
    assert given.startswith(HEAD)
    assert f"> #2 {DECISION}" in given
    assert "Which port" not in given
    for _ in range(3):
        assert is_silent(place.prompted())
    assert [receipt.counts for receipt in place.receipts] == [{"decision": 1}]


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
