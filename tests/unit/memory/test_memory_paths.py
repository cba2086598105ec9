"""The paths that a memory accepts."""

import pytest

from support.corpus import cases
from ullage.memory.notes import MemoryPath, folded, parse_path
from ullage.model.errors import InvalidRequest

HOSTILE = cases("hostile_memory_paths.json")
USUAL = [
    "/memories/notes.md",
    "/memories/notes",
    "/memories/project/2026-11-21 plan (draft).md",
    "/memories/_index.md",
    "/memories/a+b=c@d#e,f&g'h!.txt",
    "/memories/7.txt",
    "/memories/Überblick.md",
    "/memories/日本語/メモ.md",
    "/memories/заметки/план.txt",
    "/memories/हिन्दी.md",
    "/memories/console.md",
    "/memories/common.txt",
    "/memories/a/b/c/d/e/f/g/h",
    "/memories/" + "n" * 140,
]


def test_corpus_holds_at_least_200_hostile_paths_and_none_twice() -> None:
    assert len({case["path"] for case in HOSTILE}) == len(HOSTILE) >= 200


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: f"{case['category']} {case['path'][:40]!a}")
def test_hostile_path_is_refused_in_one_short_line(case: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        parse_path(case["path"])
    text = str(refusal.value)
    assert text.isprintable()
    assert len(text) < 10_000


@pytest.mark.parametrize("text", USUAL)
def test_usual_path_is_itself(text: str) -> None:
    assert str(parse_path(text)) == text


@pytest.mark.parametrize("text", ["/memories", "/memories/"])
def test_memory_itself_has_no_names(text: str) -> None:
    assert parse_path(text) == MemoryPath()


def test_folder_may_end_in_a_slash() -> None:
    assert parse_path("/memories/plans/") == MemoryPath(parts=("plans",))


def test_parent_of_the_memory_is_the_memory() -> None:
    assert MemoryPath().parent == MemoryPath()
    assert MemoryPath().name == ""


@pytest.mark.parametrize(("one", "other"), [("Notes.md", "notes.md"), ("straße", "STRASSE"), ("ΣΑΣ", "σας")])
def test_names_that_a_file_system_may_take_for_the_same_fold_alike(one: str, other: str) -> None:
    assert folded(one) == folded(other)
