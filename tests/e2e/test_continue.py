"""`ullage continue` as a real process: a new session in the agent's folder, its figure, and what is refused."""

import json
import os
import shlex
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

from support.claude_log import ClaudeLog
from support.codex_files import said as wrote
from support.codex_files import session
from support.command_line import SAMPLE, Ran, ullage
from support.foreign import to_lines
from support.transcripts import conversation_files

RULE = "Never change src/shop/legacy.py without a migration."


def shop(*, parts: int = 30, compacted: bool = True) -> ClaudeLog:
    """Returns a log of many file reads, with a compaction of the agent's own after half of them."""
    log = ClaudeLog(session="shop", cwd="/home/me/my shop").ask(f"Rename the table in every part. {RULE}")
    for number in range(parts):
        log.read(f"/home/me/shop/part{number}.py", f"def part{number}(): ...\n" * 60).answer(20_000 + 500 * number)
        if compacted and number == parts // 2:
            log.compact(167_000, summary="Half of the parts are done.")
    return log.ask("Are all done?").answer(40_000)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "shop.jsonl"
    path.write_bytes(shop().data)
    return path


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "agent home"


def resumed(home: Path, *arguments: str | Path) -> Ran:
    return ullage("continue", *arguments, env={"CLAUDE_CONFIG_DIR": str(home)})


def test_what_is_left_out_is_told_by_kind_and_adds_up(path: Path, home: Path) -> None:
    made = resumed(home, path, "--before-compaction", "--preview", "--json").json
    total = made["messages"] + made["left_out"]
    assert f"Left out of its {total} messages: {made['left_out']} from the compaction on." in made["notes"]


def test_a_compacted_session_is_written_for_the_agent_and_the_original_stays(path: Path, home: Path) -> None:
    digest = sha256(path.read_bytes()).digest()
    made = resumed(home, path, "--before-compaction", "--budget", "4k", "--json").json
    file = Path(made["path"])
    assert file.parent == home / "projects" / "-home-me-my-shop"
    assert file.stem == made["session_id"] == made["command"][-1]
    assert made["used"] - made["hidden"] <= 4_000 < made["before"] - made["hidden"]
    assert sha256(path.read_bytes()).digest() == digest
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert lines[0]["isCompactSummary"]
    assert RULE in file.read_text(encoding="utf-8")
    usages = [line["message"]["usage"] for line in lines if "usage" in line.get("message", {})]
    assert usages == [{"input_tokens": made["used"], "output_tokens": 0}]
    assert shlex.split(made["shell"])[:2] == ["cd", "/home/me/my shop"]


def test_the_figure_of_a_new_session_is_the_one_that_was_told(path: Path, home: Path) -> None:
    for choice in (["--budget", "4k"], ["--before-compaction"]):
        made = resumed(home, path, *choice, "--json").json
        read = ullage("context", made["path"], "--json").json
        assert (read["used"], read["source"]) == (made["used"], "reported"), choice


def test_a_preview_shows_the_figure_and_writes_nothing(path: Path, home: Path) -> None:
    shown = resumed(home, path, "--budget", "4k", "--preview")
    assert (shown.status, shown.err) == (0, "")
    assert "Nothing was written." in shown.out
    assert not home.exists()
    figure = shown.out.splitlines()[0]
    made = resumed(home, path, "--budget", "4k")
    assert made.out.splitlines()[0] == figure
    assert "claude --resume" in made.out


def test_a_session_near_the_agents_threshold_is_warned_of_and_the_compacted_one_has_room(
    tmp_path: Path, home: Path
) -> None:
    path = tmp_path / "full.jsonl"
    warned = "compacts at 167,000 tokens, so it may compact this session at once; compacted by Ullage it has room."
    # The first prompt is still to come, with what the agent puts around it.
    for tokens, fits in ((163_900, True), (164_100, False)):
        log = ClaudeLog().ask(RULE).answer(9_000)
        for number in range(10):
            log.ask(f"Part {number}: {'and so on ' * 5_000}").answer(tokens - 15_000 * (9 - number), output=0)
        path.write_bytes(log.data)
        whole = resumed(home, path, "--after", "22", "--preview", "--json").json
        assert (whole["used"], whole["fits"]) == (tokens, fits)
        assert any(note.endswith(warned) for note in whole["notes"]) is not fits
        compacted = resumed(home, path, "--preview", "--json").json
        assert compacted["fits"]
        assert not any("at once" in note for note in compacted["notes"])


def test_undo_has_what_was_there_before_the_agents_compaction(path: Path, home: Path) -> None:
    made = resumed(home, path, "--before-compaction", "--json").json
    rows = ullage("messages", made["path"], "--json").json["messages"]
    assert len(rows) == made["messages"] == 49
    assert not any(row["inserted"] for row in rows)
    assert made["left_out"] > 0


def test_a_call_stays_with_its_result(path: Path, home: Path) -> None:
    made = resumed(home, path, "--after", "2", "--json").json
    assert made["messages"] == 3
    assert "#2" in made["notes"][0]


def test_a_small_conversation_is_not_compacted(path: Path, home: Path) -> None:
    made = resumed(home, path, "--json").json
    assert made["before"] is None
    assert "nothing was compacted" in made["notes"][0]


def test_a_stored_session_is_continued_like_its_file_and_stays_as_it_is(path: Path, home: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.db"
    session = ullage("import", path, "--store", store, "--json").json["session_id"]
    before = ullage("messages", session, "--store", store, "--json").json
    made = resumed(home, session, "--store", store, "--budget", "4k", "--json").json
    alike = resumed(home, path, "--budget", "4k", "--json").json
    assert [made[name] for name in ("cwd", "used", "messages")] == [alike[name] for name in ("cwd", "used", "messages")]
    assert ullage("messages", session, "--store", store, "--json").json == before


def test_what_cannot_be_continued_is_refused_in_one_line(path: Path, home: Path, tmp_path: Path) -> None:
    pi = tmp_path / "pi.jsonl"
    pi.write_text(
        '{"type":"session","version":3,"id":"a","timestamp":"2026-01-02T10:00:00.000Z","cwd":"/home/me"}\n'
        '{"type":"message","id":"b","parentId":null,"timestamp":"2026-01-02T10:00:01.000Z",'
        '"message":{"role":"user","content":"Hello","timestamp":1}}\n'
    )
    later = tmp_path / "later.jsonl"
    later.write_text(shop(compacted=False).text.replace("2.1.39", "3.0.1"))
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(to_lines(session(), wrote("developer", "<permissions instructions> All is allowed.")))
    codex = tmp_path / "codex.jsonl"
    codex.write_bytes(to_lines(session(cli_version="1.2.0"), wrote("user", "Rename the table.")))
    refused: list[tuple[str, list[str | Path]]] = [
        ("no new session can be made for pi; it can for: Claude Code", [pi]),
        ("no new session can be made for pi; it can for: Claude Code, Codex", [path, "--in", "pi"]),
        ("there is no agent 'emacs'; a new session can be made for: Claude Code, Codex", [path, "--in", "emacs"]),
        ("a new session can be made for", [SAMPLE]),
        ("this one is of 3.0.1", [later]),
        ("only sessions of its version 0 are known, this one is of 1.2.0", [codex]),
        ("only sessions of its version 0 are known, this one is of 1.2.0", [codex, "--in", "claude-code"]),
        ("the agent has compacted nothing", [later, "--before-compaction"]),
        ("the context is empty, so there is nothing to continue", [empty]),
        ("there is no message #900", [path, "--after", "900"]),
    ]
    for words, arguments in refused:
        ran = ullage("continue", *arguments, env={"CLAUDE_CONFIG_DIR": str(home), "CODEX_HOME": str(home)})
        assert (ran.status, ran.out, len(ran.err.splitlines())) == (2, "", 1), ran
        assert words in ran.err
    assert not home.exists()


@pytest.mark.slow
@pytest.mark.skipif(not conversation_files(), reason="recorded conversations are not here")
def test_recorded_conversations_are_continued_within_a_budget(home: Path) -> None:
    recorded = [path for path in conversation_files() if path.parent.name == "claude_code_entire"]
    for path in recorded[:2]:
        digest = sha256(path.read_bytes()).digest()
        made = resumed(home, path, "--json").json
        assert made["used"] - made["hidden"] <= 20_000
        assert sha256(path.read_bytes()).digest() == digest


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminals of POSIX")
@pytest.mark.parametrize(("typed", "goes_on"), [(b"\n", True), (b"n\n", False)])
def test_one_answer_on_a_terminal_goes_on_in_the_new_session(
    tmp_path: Path, home: Path, typed: bytes, *, goes_on: bool
) -> None:
    import pty  # noqa: PLC0415  (of POSIX)

    said, program, folder = tmp_path / "said", tmp_path / "bin" / "claude", tmp_path / "my shop"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$PWD" "$@" > "{said}"\nexit 3\n')
    program.chmod(0o755)
    folder.mkdir()
    path = tmp_path / "shop.jsonl"
    path.write_bytes(ClaudeLog(session="shop", cwd=str(folder)).ask(RULE).answer(20_000).data)
    search = os.pathsep.join((str(program.parent), os.environ["PATH"]))
    main, own = pty.openpty()
    try:
        os.write(main, typed)
        status = subprocess.call(
            [sys.executable, "-m", "ullage", "continue", str(path)],
            stdin=own,
            stdout=own,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "CLAUDE_CONFIG_DIR": str(home), "PATH": search},
            timeout=180,
        )
    finally:
        os.close(main)
        os.close(own)
    (made,) = home.rglob("*.jsonl")
    assert status == (3 if goes_on else 0)
    assert said.exists() == goes_on
    assert not goes_on or said.read_text().splitlines() == [str(folder), "--resume", made.stem]
