"""The reading test writes blind texts with a sheet outside the repository, and scores the judged answers."""

import csv
import json
from pathlib import Path

import pytest
from msgspec import to_builtins

from benches.quality_reading import QUESTIONS, choose_places, score, write
from benches.quality_reading_truth import write_truth
from benches.quality_sessions import COUNTER, RealCompaction, Recorded
from support.conversations import agent, bash, user
from support.documents import ROOT
from ullage.model.blocks import CompactionBlock

MESSAGES = (
    user("Make the importer fast. Don't touch the writer."),
    *bash("pytest -q | tail", "1 failed", call_id="a"),
    agent("The rows were read twice."),
    *bash("pytest -q", "4 passed", call_id="b"),
    user("Now commit it."),
)


def recorded(name: str, size: int, *, compacted: bool = False) -> Recorded:
    turns = ((user(f"{name} {n}?"), agent(f"{name} {n} " + "word " * 100)) for n in range(size))
    messages = tuple(message for turn in turns for message in turn)
    block = CompactionBlock(
        compaction_number=1, timestamp=0, summary="All is done.", messages_archived=2, context_size_before=0
    )
    return Recorded(
        name=name,
        format="test",
        messages=messages,
        tokens=tuple(COUNTER.count_message(message) for message in messages),
        compactions=(RealCompaction(at=2, block=block, events=()),) if compacted else (),
    )


def sheet(folder: Path, rights: dict[str, list[str]]) -> None:
    keys = {
        name: {"whose": whose, "session": "s", "at": 3} for name, whose in (("01", "own summary"), ("02", "ullage"))
    }
    (folder / "key.json").write_text(json.dumps(keys), encoding="utf-8")
    with (folder / "answers.csv").open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(("text", "question", "answer", "right"))
        for name, given in rights.items():
            lines.writerows(
                (name, question, "x", right) for question, right in zip(QUESTIONS.values(), given, strict=True)
            )


def test_recorded_compactions_come_first_and_then_the_longest_other_sessions() -> None:
    sessions = [
        recorded("short", 10),
        recorded("long", 250),
        recorded("longest", 300),
        recorded("real", 9, compacted=True),
    ]
    assert [place.recorded.name for place in choose_places(sessions, 20)] == ["real", "longest", "long"]
    assert [place.recorded.name for place in choose_places(sessions, 2)] == ["real", "longest"]


def test_a_share_gives_other_places_in_all_sessions() -> None:
    sessions = [recorded("long", 250), recorded("longest", 300), recorded("real", 260, compacted=True)]
    places = choose_places(sessions, 20, share=0.8)
    assert [(place.recorded.name, place.own) for place in places] == [("longest", ""), ("real", ""), ("long", "")]
    longest = next(place for place in choose_places(sessions, 20) if place.recorded.name == "longest")
    assert places[0].at > longest.at


def test_a_text_shows_the_calls_that_stay_in_the_context(tmp_path: Path) -> None:
    messages = tuple(message for turn in range(60) for message in bash(f"make part{turn}", "built " * 200))
    session = [{"role": str(m.role), "content": to_builtins(m.content)} for m in (user("Build all."), *messages)]
    (tmp_path / "session.json").write_text(json.dumps(session), encoding="utf-8")
    assert write(tmp_path / "test", [tmp_path / "session.json"], 1) == 1
    shown = (tmp_path / "test" / "texts" / "01.md").read_text(encoding="utf-8").splitlines()
    assert "[assistant] make part44" in shown


def test_texts_are_refused_in_the_repository() -> None:
    with pytest.raises(ValueError, match="outside the repository"):
        write(ROOT / "build" / "reading", [], 20)


def test_without_conversations_there_is_an_empty_sheet(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    assert write(tmp_path / "test", [tmp_path / "none"], 20) == 0
    assert score(tmp_path / "test").rows == []


def test_the_truth_has_the_users_words_the_ends_of_commands_and_what_came_next() -> None:
    truth = write_truth(MESSAGES, 6)
    assert "- Make the importer fast. Don't touch the writer." in truth
    assert "`pytest -q`: failed (#2), passed (#5)" in truth
    assert truth.rstrip().endswith("- [user] Now commit it.")


def test_answers_are_scored_by_whose_the_text_is(tmp_path: Path) -> None:
    sheet(tmp_path, {"01": ["1", "0", "0", "-", ""], "02": ["1", "1", "0.5", "-", ""]})
    ours, compared, theirs = score(tmp_path).rows
    assert (ours["text"], ours["answers"], ours["right"], ours["failed"], ours["next"]) == (
        "ullage",
        3,
        pytest.approx(250 / 3),
        50,
        None,
    )
    assert compared["right"] == ours["right"]
    assert (theirs["text"], theirs["right"]) == ("own summary", pytest.approx(100 / 3))
    assert not score(tmp_path).aims[0].met


def test_a_judgement_that_is_no_number_is_refused(tmp_path: Path) -> None:
    sheet(tmp_path, {"02": ["1", "yes", "1", "1", "1"]})
    with pytest.raises(ValueError, match="'yes'"):
        score(tmp_path)
