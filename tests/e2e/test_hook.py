"""`ullage hook` as a real process: what it gives back, by its worker too, to Codex and as notes of the fill; and that
it never fails, speaks or stays when it cannot."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import ullage as ullage_package
from support.codex_files import compacted, counted, said, session
from support.command_line import PATIENCE, Ran, ullage
from support.foreign import to_lines
from support.hook_place import AGENT, ASKED, ID, RULE, SUMMARY, TRIES, Place, answer, hook_place, is_silent, log
from support.program import language_server
from support.receipts import receipts_of
from support.systems import needs_linux
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


NEXT = "And the one beside it?"
DECISION = "Decided: the port stays 8443, because src/shop/proxy.py expects it."
PROMPT = said("user", "Which port is it?")
BEFORE = (session(), PROMPT, said("assistant", DECISION), said("user", NEXT))
COMPACTED = compacted("A port was found.", PROMPT, said("user", "A port was found."))


@pytest.fixture
def codex_place(tmp_path: Path) -> Generator[Place]:
    with hook_place(tmp_path, "codex", to_lines(*BEFORE)) as made:
        yield made


def compact_codex(codex_place: Place, record: dict[str, Any] = COMPACTED) -> None:
    """Does what Codex does: the hook before the compaction, then the record of it."""
    assert is_silent(codex_place.begun())
    with codex_place.transcript.open("ab") as file:
        file.write(to_lines(record))


def given_back(codex_place: Place) -> str:
    """What Codex is given after the compaction. On a busy machine the next prompt gives it."""
    ran = codex_place.started()
    return answer(ran if ran.out else codex_place.given_late())["additionalContext"]


def test_what_the_summary_left_out_is_given_back_once(codex_place: Place) -> None:
    compact_codex(codex_place)
    given = given_back(codex_place)
    assert given.startswith(HEAD)
    assert f"> #2 {DECISION}" in given
    assert f"> #3 {NEXT}" in given.splitlines()
    assert "Which port" not in given
    for _ in range(3):
        assert is_silent(codex_place.prompted())
    assert [receipt.counts for receipt in codex_place.receipts] == [{"said": 1, "words": 1}]


def test_a_new_context_window_without_a_summary_is_given_all_that_the_user_said(codex_place: Place) -> None:
    compact_codex(codex_place, compacted("", said("developer", "Context window lineage. Current: b")))
    lines = given_back(codex_place).splitlines()
    assert "> #1 Which port is it?" in lines
    assert f"> #3 {NEXT}" in lines
    assert f"> #2 {DECISION}" in lines
    ran = ullage("lost", codex_place.transcript)
    assert "the agent kept no summary and no message" in " ".join(ran.out.split())


def test_a_second_compaction_gives_back_what_the_second_left_out(codex_place: Place) -> None:
    compact_codex(codex_place)
    given_back(codex_place)
    with codex_place.transcript.open("ab") as file:
        file.write(to_lines(said("assistant", "Decided: the host is berta.example, because it has the key.")))
    compact_codex(codex_place)
    assert "berta.example" in given_back(codex_place)


def test_a_file_without_a_compaction_gives_nothing_back(codex_place: Place) -> None:
    assert is_silent(codex_place.started())
    assert codex_place.arrivals[-1]["outcome"] != "given"


_TOKENS = 900_000
_GEMINI = (
    {"sessionId": ID, "projectHash": "x", "startTime": "2026-11-22T10:00:00Z", "kind": "main"},
    {"id": "u1", "timestamp": "2026-11-22T10:00:01Z", "type": "user", "content": [{"text": "Which port is it?"}]},
    {
        "id": "g1",
        "timestamp": "2026-11-22T10:00:02Z",
        "type": "gemini",
        "content": "8443.",
        "tokens": {"input": _TOKENS - 10, "output": 10, "cached": 0, "thoughts": 0, "tool": 0, "total": _TOKENS},
        "model": "gemini-2.5-flash",
    },
)
_CODEX = (session(), said("user", "Which port is it?"), said("assistant", "8443."), counted(240_000))


def _asked_at(place: Place) -> int:
    figure = place.kept("figure")
    return json.loads(figure.read_bytes())["asked_at"] if figure.exists() else 0


def _prompted_after(
    place: Place, data: bytes, *options: str, ends: str = "Stop", asks: str = "UserPromptSubmit"
) -> Ran:
    """Ends a turn that has left the transcript with this content, and begins the next one."""
    place.transcript.write_bytes(data)
    began = time.time_ns()
    assert is_silent(place.hook(*options, hook_event_name=ends))
    until = time.monotonic() + PATIENCE
    while "--fill-notes" in options and _asked_at(place) < began and time.monotonic() < until:
        time.sleep(0.05)
    return place.hook(*options, hook_event_name=asks, prompt="Go on.")


def test_the_agent_is_told_its_fill_once_after_a_turn_and_again_after_a_compaction(place: Place) -> None:
    filled = log().answer(160_000)
    # Off by default.
    assert is_silent(_prompted_after(place, filled.data))
    assert not place.kept("figure").exists()
    note = answer(_prompted_after(place, filled.data, "--fill-notes"))
    shown = ullage("context", place.transcript, "--json", "--store", place.store).json
    assert note["hookEventName"] == "UserPromptSubmit"
    assert note["additionalContext"].startswith(f"Context: {shown['used']:,} of {shown['window']:,} tokens")
    assert is_silent(_prompted_after(place, filled.data, "--fill-notes"))
    (receipt,) = place.receipts
    assert (receipt.why, receipt.text, receipt.counts) == ("fill", note["additionalContext"], {})
    late = time.time_ns()
    place.given_back()
    assert not place.kept("figure").exists()
    # A count that was asked for before the compaction ends after it.
    counting = [sys.executable, "-m", "ullage.cli.hooks.counting", place.store, ID, place.transcript, str(late)]
    subprocess.run(counting, check=True, timeout=PATIENCE)
    assert _asked_at(place) == late
    assert is_silent(place.hook("--fill-notes", hook_event_name="UserPromptSubmit", prompt="Go on."))
    assert answer(_prompted_after(place, filled.data, "--fill-notes")) == note


@pytest.mark.parametrize(
    ("agent", "lines", "hooks", "options"),
    [
        ("codex", _CODEX, ("Stop", "UserPromptSubmit"), ()),
        ("gemini-cli", _GEMINI, ("AfterAgent", "BeforeAgent"), ("--mark", "<state_snapshot>")),
    ],
    ids=["codex", "gemini-cli"],
)
def test_each_agent_is_told_with_its_own_hooks(
    tmp_path: Path, agent: str, lines: tuple[object, ...], hooks: tuple[str, str], options: tuple[str, ...]
) -> None:
    (ends, asks), data = hooks, to_lines(*lines)
    with hook_place(tmp_path, agent, data) as place:
        note = answer(_prompted_after(place, data, "--fill-notes", *options, ends=ends, asks=asks))
        shown = ullage("context", place.transcript, "--json", "--store", place.store).json
        assert note["hookEventName"] == asks
        assert note["additionalContext"].startswith(f"Context: {shown['used']:,} of {shown['window']:,} tokens")
        assert is_silent(_prompted_after(place, data, "--fill-notes", *options, ends=ends, asks=asks))


@pytest.mark.skipif(sys.platform == "win32", reason="a process can't be stopped on Windows")
def test_what_comes_too_late_is_given_once_at_the_next_prompt(place: Place) -> None:
    place.begun()
    worker = place.worker
    os.kill(worker, signal.SIGSTOP)
    try:
        assert is_silent(place.summarized())
        assert is_silent(place.started())
        assert place.arrivals[-1]["outcome"] == "late"
        assert is_silent(place.prompted())
    finally:
        os.kill(worker, signal.SIGCONT)
    told = answer(place.given_late())
    assert told["hookEventName"] == "UserPromptSubmit"
    assert RULE in told["additionalContext"]
    assert is_silent(place.prompted())
    assert RULE in answer(place.started("resume"))["additionalContext"]
    assert is_silent(place.prompted())
    assert [receipt.why for receipt in place.receipts] == ["prompt", "resume"]


def test_a_summary_that_nobody_hands_over_is_taken_from_the_file_at_the_next_prompt(place: Place) -> None:
    assert is_silent(place.started())
    assert place.arrivals[-1]["outcome"] in ("no summary", "late")
    compacted = log().compact(90_000, summary="Read src/shop/part1.py; go on.").data
    # The log's own times are of the past.
    place.transcript.write_bytes(compacted.replace(b"2025-11-22T", b"2125-11-22T"))
    assert RULE in answer(place.given_late())["additionalContext"]
    assert is_silent(place.prompted())


def test_a_compaction_of_before_is_not_taken_for_one_that_the_file_does_not_have_yet(place: Place) -> None:
    place.transcript.write_bytes(log().compact(90_000, summary="Read src/shop/part1.py; go on.").ask().data)
    assert is_silent(place.started())
    for _ in range(3):
        assert is_silent(place.prompted())
    assert not place.receipts


def has_ended(process: int) -> bool:
    """Whether a process ends in time. One whose parent has not asked for it yet counts as ended."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


@needs_linux
def test_the_worker_ends_when_its_brief_was_given(place: Place) -> None:
    place.begun()
    worker = place.worker
    place.given_back()
    assert worker
    assert has_ended(worker)
    assert not place.worker


@needs_linux
def test_the_worker_ends_with_the_agent(place: Place) -> None:
    said = msgspec.json.encode({"session_id": ID, "transcript_path": str(place.transcript)})
    said = said[:-1] + b',"hook_event_name":"PreCompact"}'
    hook = shlex.join([sys.executable, "-m", "ullage", "hook", AGENT, "--store", str(place.store)])
    # An agent that runs its hook in a shell and continues until its input ends.
    agent = f"printf %s {shlex.quote(said.decode())} | sh -c {shlex.quote(f'{hook}; true')}; cat"
    with subprocess.Popen(["sh", "-c", agent], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        until = time.monotonic() + PATIENCE
        while not place.arrivals and time.monotonic() < until:
            time.sleep(0.05)
        worker = place.worker
        # Longer than a shell around a hook is waited for.
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(4)
        os.kill(worker, 0)
        process.kill()
    assert has_ended(worker)
    assert not place.worker


@needs_linux
@pytest.mark.parametrize("kind", ["pipe", "folder", "missing"])
def test_a_worker_that_cannot_read_the_transcript_says_so_and_ends(place: Place, kind: str) -> None:
    place.transcript.unlink()
    if kind == "pipe":
        os.mkfifo(place.transcript)
    elif kind == "folder":
        place.transcript.mkdir()
    place.begun()
    worker = place.worker
    place.summarized()
    assert is_silent(place.started())
    for _ in range(TRIES):
        if place.arrivals[-1]["outcome"] == "failed":
            break
        assert is_silent(place.prompted())
    assert place.arrivals[-1]["outcome"] == "failed"
    assert has_ended(worker)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege on Windows")
@pytest.mark.parametrize("missing", ["lost", "agents", "tokens", "system", "cli/hooks"])
def test_a_half_installed_ullage_says_nothing_and_leaves_no_process(place: Place, tmp_path: Path, missing: str) -> None:
    package = tmp_path / "half" / "ullage"
    link_without(Path(ullage_package.__file__).parent, package, missing.split("/"))
    agent = agent_of_word(AGENT)
    assert agent is not None
    assert agent.wiring is not None
    own = OwnCommand(words=(sys.executable, "-m", "ullage"), store=place.store, fill_notes=True)
    words = added_to(agent.wiring.files[0], AGENT, own, None).hooks[0].command
    for more in (
        {"hook_event_name": "PreCompact"},
        {"hook_event_name": "SubagentStop", "agent_type": "", "last_assistant_message": SUMMARY},
        {"hook_event_name": "SessionStart", "source": "compact"},
        {"hook_event_name": "UserPromptSubmit", "prompt": "Go on."},
        {"hook_event_name": "SessionStart", "source": "resume"},
    ):
        known = {"session_id": ID, "transcript_path": str(place.transcript)}
        ran = subprocess.run(
            ["sh", "-c", words],
            input=msgspec.json.encode({**known, **more}),
            env={**os.environ, "PYTHONPATH": str(package.parent)},
            cwd=tmp_path,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
        assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")
    assert not place.worker or has_ended(place.worker)


def link_without(whole: Path, part: Path, missing: Sequence[str]) -> None:
    """Makes a folder of links to all that is in `whole`, except what `missing` leads to."""
    part.mkdir(parents=True)
    for entry in whole.iterdir():
        if entry.name != missing[0]:
            (part / entry.name).symlink_to(entry)
        elif missing[1:]:
            link_without(entry, part / entry.name, missing[1:])
