"""The rule by which the search bench makes questions, and which messages count as an answer."""

from pathlib import Path

import msgspec
import pytest

from benches.archive_search import run
from benches.search_questions import KINDS, MAX_EVIDENCE, make_questions
from support.build import assistant, user
from ullage.model.message import Message

LETTERS = ("alpha", "bravo", "delta", "gamma", "kappa", "lambda", "omega", "sigma", "theta", "zeta")


def talk(length: int = 100) -> list[Message]:
    """Returns a conversation that names everything in the first half, and mentions it in other words in the second."""
    told = [
        assistant(f"t{n}", f"The retry_{word}_limit keeps {word} requests below the ceiling of the {word} gateway")
        for n, word in enumerate(LETTERS)
    ]
    filler = [user(f"f{n}", f"Go on with step {n}, please") for n in range(length - 2 * len(LETTERS))]
    again = [
        assistant(
            f"a{n}", f"So whenever requests reach the {word} gateway ceiling we raise retry_{word}_limit a bit more"
        )
        for n, word in enumerate(LETTERS)
    ]
    return [*told, *filler, *again]


def test_the_evidence_is_before_the_cut_and_holds_what_is_asked_for() -> None:
    messages = talk()
    questions = make_questions(messages)
    assert {question.kind for question in questions} == set(KINDS)
    for question in questions:
        assert 1 <= len(question.evidence) <= MAX_EVIDENCE
        assert all(index < question.cut for index in question.evidence)
        (index,) = question.evidence
        name = f"retry_{LETTERS[index]}_limit"
        assert name in messages[index].text
        assert (name in question.text) == (question.kind == "named")
        assert (name.replace("_", " ") in question.text) == (question.kind == "spoken")


def test_a_name_first_mentioned_after_the_cut_is_not_asked_for() -> None:
    assert make_questions([user(f"m{n}", f"Look at the_{n}_thing of today") for n in range(100)]) == []


def test_a_short_conversation_is_not_asked_about() -> None:
    assert make_questions(talk()[:10]) == []


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("one", "two"):
        messages = [{"role": message.role, "content": message.text} for message in talk()]
        (tmp_path / f"{name}.json").write_bytes(msgspec.json.encode({"model": "gpt-4o", "messages": messages}))
    return tmp_path


def test_the_bench_has_a_row_per_half_place_and_search(folder: Path) -> None:
    report = run([folder])
    keys = {(row["conversations"], row["searched"], row["search"]) for row in report.rows}
    assert len(keys) == len(report.rows) == 8
    assert all(0 <= row["top5"] <= row["top10"] <= 1 for row in report.rows)
    within = [row for row in report.rows if row["searched"] == "session" and row["search"] == "ullage"]
    assert all(row["top5 named"] == row["top5 spoken"] == 1 for row in within)
    assert all(aim.what.startswith("held-out") for aim in report.aims)
