"""`ullage lost` and `ullage brief` as real processes: the list, the brief, objects for programs, and bad input."""

from pathlib import Path

import pytest

from support.claude_log import ClaudeLog
from support.command_line import ullage
from support.transcripts import conversation_files
from ullage.cli.commands.hook import note_receipt

ASKED = "Rename the table in every part. Never change src/shop/legacy.py without a migration."


def shop(*, compacted: bool = True, summary: str = "Changed src/shop/part1.py; go on.") -> ClaudeLog:
    """Returns a log with a rule of the user's, changed files, a failure, an open task, and a compaction with a short
    summary."""
    log = ClaudeLog(session="shop").ask(ASKED)
    for number in range(3):
        log.call(
            "Edit", "Updated.", file_path=f"/home/me/shop/src/shop/part{number}.py", old_string="a", new_string="b"
        )
        log.answer(9_000, text=f"Part {number} is renamed.")
    log.call(
        "TodoWrite", "Saved.", todos=[{"content": "Rename the index", "status": "pending", "activeForm": "Renaming"}]
    )
    log.call("Bash", "ValueError: rounding of 17 baskets failed\nExit code 1", command="npm run check:prices")
    log.answer(9_000, text="The rounding is wrong.")
    if compacted:
        log.compact(90_000, summary=summary).ask("Go on.").answer(9_000)
    return log


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "shop.jsonl"
    path.write_bytes(shop().data)
    return path


def test_what_was_left_out_is_listed_by_kind_with_its_message(path: Path) -> None:
    ran = ullage("lost", path)
    assert (ran.status, ran.err) == (0, "")
    assert "Left out: 1 message of yours, 1 open task, 1 problem, 2 files." in ran.out
    assert f"What you said (1)\n- #1 {ASKED}" in ran.out
    assert "[open] Rename the index" in ran.out
    assert "[open] `npm run check:prices` failed: ValueError: rounding of 17 baskets failed" in ran.out
    assert "[changed] src/shop/part2.py" in ran.out
    # The summary says that it was changed.
    assert "src/shop/part1.py" not in ran.out


def test_if_nothing_was_left_out_it_says_what_it_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    log = ClaudeLog(session="kept").ask(ASKED).answer(90_000, text="Done.")
    path.write_bytes(log.compact(90_000, summary=f"The user said: {ASKED} Done.").ask("Go on.").answer(9_000).data)
    ran = ullage("lost", path)
    assert (ran.status, ran.err) == (0, "")
    assert "Everything that you typed is in what it kept" in " ".join(ran.out.split())
    assert ullage("lost", path, "--json").json["counts"] == {}


def test_the_newest_are_listed_first_and_what_the_summary_contradicts_before_them(tmp_path: Path) -> None:
    log = ClaudeLog(session="long")
    for number in range(14):
        log.ask(f"Rename column {number} of the table as the plan says.").answer(5_000, text="It is renamed.")
    log.call("TodoWrite", "Saved.", todos=[{"content": f"Check table {n}", "status": "pending"} for n in range(3)])
    path = tmp_path / "long.jsonl"
    path.write_bytes(log.compact(90_000, summary="- Check table 1: done").ask("Go on.").answer(9_000).data)
    lines = ullage("lost", path).out.splitlines()
    said = [line for line in lines if "Rename column" in line]
    assert [line.split(" of the table")[0].rsplit(" ", 1)[1] for line in said] == [str(13 - at) for at in range(10)]
    assert "  and 4 more, most of them older" in lines
    assert [line.split("  ")[1] for line in lines[-3:]] == [
        f"ullage lost {path} --limit 14",
        f"ullage lost {path} --brief",
        f"ullage continue {path} --before-compaction",
    ]
    tasks = [line for line in lines if "[open] Check table" in line]
    assert "Check table 1 (the summary says: - Check table 1: done)" in tasks[0]
    everything = ullage("lost", path, "--limit", "14").out
    assert everything.count("Rename column") == 14
    assert "the whole list" not in everything
    # A program gets the same ones, in the order of the conversation.
    rows = [row["text"] for row in ullage("lost", path, "--json", "--limit", "2").json["lost"] if row["kind"] == "said"]
    assert rows == [f"Rename column {number} of the table as the plan says." for number in (12, 13)]


def test_programs_get_the_same_as_an_object(path: Path) -> None:
    found = ullage("lost", path, "--json").json
    assert (found["kept"], found["counts"]["file"], found["counts"]["said"]) == (0, 2, 1)
    assert found["lost"][0] == {"kind": "said", "state": "open", "text": ASKED, "detail": "", "number": 1}
    fewer = ullage("lost", path, "--json", "--limit", "1").json
    assert [row["kind"] for row in fewer["lost"]].count("file") == 1
    assert fewer["counts"] == found["counts"]


def test_a_stored_session_loses_the_same_as_its_file(path: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    session = ullage("import", path, "--store", store, "--json").json["session_id"]
    stored = ullage("lost", session, "--store", store, "--json").json
    assert stored["lost"] == ullage("lost", path, "--json").json["lost"]


def test_without_a_compaction_the_error_says_so_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "shop.jsonl"
    path.write_bytes(shop(compacted=False).data)
    ran = ullage("lost", path)
    assert (ran.status, ran.out, len(ran.err.splitlines())) == (2, "", 1)
    assert "was not compacted" in ran.err
    assert "ullage context" in ran.err


def test_a_brief_has_the_same_quoted_within_its_characters(path: Path) -> None:
    ran = ullage("lost", "--brief", path)
    assert (ran.status, ran.err) == (0, "")
    assert f"> #1 {ASKED}" in ran.out.splitlines()
    assert "> changed: src/shop/part0.py (#2), src/shop/part2.py (#8)" in ran.out
    short = ullage("lost", "--brief", path, "--chars", "400", "--json").json
    assert 0 < short["characters"] == len(short["text"]) <= 400
    assert short["left"]
    assert ullage("lost", "--brief", path).out == ran.out


def test_a_brief_is_offered_until_hooks_have_given_all_of_it_back(path: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    brief = ullage("lost", "--brief", path, "--store", store)
    told = {"agent": "Claude Code", "session": "shop", "transcript": str(path), "why": "compact"}
    for text, is_offered in (("Nothing of it.", True), (brief.out, False)):
        note_receipt(str(store), told | {"text": text}, {"characters": len(text), "tokens": 9}, {})
        shown = ullage("lost", path, "--store", store).out
        assert ("--brief" in shown) is is_offered
        assert ("all of it given back" in shown) is not is_offered


def test_a_brief_without_room_or_compaction_is_one_clear_error(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_bytes(shop(compacted=False).data)
    for ran in (ullage("lost", "--brief", path, "--chars", "50"), ullage("lost", "--brief", other)):
        assert (ran.status, ran.out, len(ran.err.splitlines())) == (2, "", 1)


@pytest.mark.slow
@pytest.mark.skipif(not conversation_files(), reason="recorded conversations are not here")
def test_every_recorded_compaction_tells_what_it_left_out_or_why_not() -> None:
    told = 0
    for path in conversation_files():
        if path.parent.name.startswith("claude_code_"):
            ran = ullage("lost", path, "--json")
            told += ran.status == 0
            assert ran.status == 0 or "was not compacted" in ran.err, (path, ran.err)
    assert told
