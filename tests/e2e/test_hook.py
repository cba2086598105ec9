"""`ullage hook` as a real process: what it gives back, and that it never fails, speaks or stays when it cannot."""

import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.command_line import PATIENCE
from support.hook_place import AGENT, ASKED, ID, RULE, SUMMARY, Place, answer, hook_place, is_silent, log
from support.program import language_server
from support.receipts import receipts_of
from ullage.agents.table import agent_of_word
from ullage.app.agent_wiring import OwnCommand, added_to
from ullage.lost import LONGEST
from ullage.lost.left_out import HEAD, characters


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with hook_place(tmp_path) as made:
        yield made


def test_before_a_compaction_the_hook_prints_what_the_summary_must_keep(place: Place) -> None:
    until, guide = time.monotonic() + PATIENCE, ""
    # A busy machine may need more than the seconds that a hook waits.
    while not guide and time.monotonic() < until:
        guide = place.begun().out
    assert f"> #1 {ASKED}" in guide.splitlines()
    begun = place.arrivals[-1]
    assert (begun["outcome"], begun["characters"], begun["given"]["said"]) == ("begun", len(guide.rstrip()), 1)


def test_what_the_summary_leaves_out_is_given_back_and_noted(place: Place) -> None:
    assert place.begun().status == 0
    told = place.given_back()
    text = told["additionalContext"]
    assert text.startswith(HEAD)
    # What the model only thought before the summary is lost.
    assert f"> #1 {ASKED}" in text.splitlines()
    # A file that was only read can be read again.
    assert "src/shop/part0.py" not in text
    begun, kept, given = place.arrivals[0], place.arrivals[1], place.arrivals[-1]
    assert (begun["outcome"], kept["outcome"], given["outcome"], given["session"]) == ("begun", "kept", "given", ID)
    assert given["characters"] == characters(text) <= LONGEST
    assert given["given"]["said"] == 1
    (receipt,) = place.receipts
    assert receipt.text == text
    (line,) = receipts_of(place.store)
    assert (line["agent"], line["session"], line["transcript"]) == (AGENT, ID, str(place.transcript))
    assert (receipt.why, told["hookEventName"]) in {("compact", "SessionStart"), ("prompt", "UserPromptSubmit")}
    assert (receipt.characters, receipt.counts) == (given["characters"], given["given"])
    assert len(text) / 8 < receipt.tokens < len(text)
    assert abs(receipt.at - time.time() * 1000) < PATIENCE * 1000
    # The summary is used once.
    assert is_silent(place.prompted())
    assert is_silent(place.started())
    assert len(place.receipts) == 1


def test_without_the_first_hook_of_a_compaction_the_brief_is_given_too(place: Place) -> None:
    assert RULE in place.given_back()["additionalContext"]


def test_of_two_summaries_of_a_compaction_the_second_one_counts(place: Place) -> None:
    place.begun()
    place.summarized(last_assistant_message=f"No tags. {RULE}")
    assert RULE in place.given_back()["additionalContext"]


def test_it_is_given_again_when_the_session_is_resumed(place: Place) -> None:
    assert is_silent(place.started("resume"))
    first = place.given_back()["additionalContext"]
    for _ in range(2):
        assert answer(place.started("resume")) == {"hookEventName": "SessionStart", "additionalContext": first}
    assert [receipt.why for receipt in place.receipts][1:] == ["resume", "resume"]
    # A later compaction that leaves nothing out has nothing to give again.
    place.summarized(last_assistant_message=place.transcript.read_text())
    place.started()
    assert is_silent(place.started("resume"))


def test_a_brief_is_never_longer_than_the_agent_takes(place: Place) -> None:
    made = log()
    for number in range(400):
        made.ask(f"Never touch src/shop/table_{number}_of_baskets.py, since 𝔫o test covers it. ").answer(9_000)
    place.transcript.write_bytes(made.data)
    text = place.given_back()["additionalContext"]
    assert LONGEST * 0.9 < characters(text) <= LONGEST


def test_a_text_that_is_no_unicode_is_given_too(place: Place) -> None:
    rule = r"Never touch src/shop/\ud800_broken.py, since no test covers it."
    place.transcript.write_bytes(place.transcript.read_bytes().replace(RULE.encode(), rule.encode()))
    assert "_broken.py" in place.given_back()["additionalContext"]
    assert "_broken.py" in place.receipts[0].text


@pytest.mark.parametrize("source", ["startup", "clear"])
def test_other_starts_get_nothing(place: Place, source: str) -> None:
    place.summarized()
    assert is_silent(place.started(source))
    assert len(place.arrivals) == 1


def test_the_last_words_of_a_real_sub_agent_are_no_summary(place: Place) -> None:
    assert is_silent(place.summarized(agent_type="Explore"))
    assert is_silent(place.started())


@pytest.mark.parametrize(
    "given",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"hook_event_name": "SessionStart", "source": "compact"}',
    ],
)
def test_bad_input_gets_no_word_and_status_0(place: Place, given: bytes) -> None:
    assert is_silent(place.run(given))


@pytest.mark.parametrize("content", [None, b"", b"\0\1\2", b'{"type": "user"', b"[]"])
def test_a_transcript_that_is_missing_or_damaged_gets_no_word(place: Place, content: bytes | None) -> None:
    place.transcript.unlink()
    if content is not None:
        place.transcript.write_bytes(content)
    place.summarized()
    assert is_silent(place.started())
    assert place.arrivals[-1]["outcome"] in ("failed", "nothing", "late")


def test_a_store_that_cannot_be_written_gets_no_word(place: Place) -> None:
    place.store = place.transcript / "sessions.db"
    assert is_silent(place.summarized())
    assert is_silent(place.started())


@pytest.mark.parametrize("name", ["../../x", "", "a/b", 5, None])
def test_an_id_that_is_no_name_writes_no_file(place: Place, name: Any) -> None:
    before = {*place.transcript.parent.rglob("*")}
    assert is_silent(place.summarized(session_id=name))
    assert is_silent(place.started(session_id=name))
    new = {path.name for path in {*place.transcript.parent.rglob("*")} - before}
    assert new <= {"sessions.db.hooks.jsonl"}


def test_input_that_does_not_end_is_given_up_without_a_word(place: Place) -> None:
    command = [sys.executable, "-m", "ullage", "hook", AGENT, "--store", str(place.store)]
    begin = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b'{"hook_event_name": "SessionStart"')
        process.stdin.flush()
        assert process.wait(PATIENCE) == 0
        assert process.stdout.read() + process.stderr.read() == b""
    assert time.monotonic() - begin > 2
    assert place.arrivals[-1]["outcome"] == "late"


@pytest.mark.skipif(sys.platform == "win32", reason="the words of POSIX' shell")
def test_what_wire_adds_does_no_harm_where_ullage_is_gone(place: Place, tmp_path: Path) -> None:

    agent = agent_of_word(AGENT)
    assert agent is not None
    assert agent.wiring is not None
    broken = tmp_path / "bro ken" / "ullage"
    broken.parent.mkdir()
    broken.write_text("#!/bin/sh\necho half installed >&2\nexit 3\n")
    broken.chmod(0o755)
    line = "echo the line of before; exit 4"
    for words in (["/no/such/ullage"], [str(broken)], [sys.executable, "-m", "no_such_module"]):
        added = added_to(agent.wiring.files[0], AGENT, OwnCommand(words=tuple(words)), line)
        ran = subprocess.run(["sh", "-c", added.hooks[0].command], capture_output=True, check=False, timeout=PATIENCE)
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
        ran = subprocess.run(["sh", "-c", added.status_line], capture_output=True, check=False, timeout=PATIENCE)
        assert ran.stdout == b"the line of before\n", words
    spaced = added_to(agent.wiring.files[0], AGENT, OwnCommand(words=("/a b/ullage",)), None)
    assert shlex.split(spaced.hooks[0].command)[0] == "/a b/ullage"


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ({"hook_event_name": "PreCompact"}, "begun"),
        ({"hook_event_name": "SubagentStop", "agent_type": "", "last_assistant_message": SUMMARY}, "kept"),
        ({"hook_event_name": "SessionStart", "source": "resume"}, "given"),
        ({"hook_event_name": "UserPromptSubmit"}, "given"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_nothing_heavy_is_imported_for_a_hook(place: Place, said: dict[str, str], outcome: str) -> None:
    kept = place.kept("pending")
    kept.parent.mkdir()
    kept.write_text('{"outcome":"given","text":"> lost","characters":6,"tokens":2,"counts":{"name":1}}')
    code = "import sys; from ullage.cli.main import main; main(); print(*sys.modules, file=sys.stderr)"
    known = {"session_id": ID, "transcript_path": str(place.transcript)}
    ran = subprocess.run(
        [sys.executable, "-c", code, "hook", AGENT, "--store", place.store],
        input=msgspec.json.encode({**known, **said}),
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    loaded = ran.stderr.decode().splitlines()[-1].split()
    heavy = {"msgspec", "argparse", "rich", "asyncio", "json", "platformdirs", "subprocess", "sqlite3", "ullage.agents"}
    bare = subprocess.run(
        [sys.executable, "-c", "import sys; print(*sys.modules)"], capture_output=True, timeout=PATIENCE, check=True
    )
    assert heavy & set(loaded) <= set(bare.stdout.decode().split())
    assert place.arrivals[-1]["outcome"] == outcome


async def test_editors_are_shown_what_was_given(place: Place) -> None:
    text = place.given_back()["additionalContext"]
    place.transcript.write_bytes(log().compact(90_000, summary="Read src/shop/part1.py; go on.").data)
    async with language_server(place.store) as client:
        imported = await client.request("ullage/session/import", {"path": str(place.transcript)})
        session = {"sessionId": imported["session"]["sessionId"]}
        (row,) = (await client.request("ullage/context/givenBack", session))["rows"]
        assert (row["text"], row["counts"]["said"]) == (text, 1)
        assert row["editId"]
        assert await client.shutdown() == 0
