"""`ullage context` says when a piece of work has ended in a long conversation, and what a new session would cost."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.claude_log import ClaudeLog
from ullage.agents.transcripts import read_document
from ullage.cli.arguments import ReadingOptions
from ullage.cli.main import main
from ullage.cli.session_source import throwaway_copy
from ullage.cli.store_choice import chosen_store
from ullage.ledger.folding import Fold
from ullage.model.message import Message
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.usage import good_moment
from ullage.service.ports.store import StoredSession
from ullage.system.growing_files import parse_file


def log(tokens: int, read: int = 130_000) -> ClaudeLog:
    made = ClaudeLog("claude-sonnet-4-5").ask("Round the prices.").read("/home/me/shop/all.py", "price " * read)
    made.answer(tokens - 500)
    made.call("Edit", "ok", file_path="/home/me/shop/prices.py", old_string="x", new_string="y")
    return made.call("Bash", "[main 4f1c2aa] fix: round", command='git commit -am "fix: round"')


def shown(made: ClaudeLog, folder: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Any, str]:
    path = folder / "log.jsonl"
    path.write_bytes(made.data)
    texts: list[str] = []
    for more in (("--json",), ()):
        assert main(("context", str(path), "--store", str(folder / "store.db"), *more)) == 0
        texts.append(capsys.readouterr().out)
    return msgspec.json.decode(texts[0])["moment"], " ".join(texts[1].replace("│", " ").replace("|", " ").split())


def test_after_the_commit_it_is_a_good_moment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    moment, text = shown(log(150_000).answer(150_000, text="Committed."), tmp_path, capsys)
    assert moment["work"] == "fix: round"
    # What is hidden, and what `ullage continue` hands over; a new session pays it as input.
    assert 20_000 < moment["tokens"] < 41_000
    assert moment["cost"] == pytest.approx(moment["tokens"] * 3 / 1_000_000)
    assert re.search(r"a new session begins with \d\dK in place of 150K; the next prompt costs \$0.\d\d there, ", text)
    assert "“fix: round” is committed and nothing is open" in text


def test_one_word_turns_it_off_and_another_word_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_NOTICES", "off")
    moment, text = shown(log(150_000).answer(150_000, text="Committed."), tmp_path, capsys)
    assert moment is None
    assert "is committed" not in text
    monkeypatch.setenv("ULLAGE_NOTICES", "perhaps")
    assert main(("context", str(tmp_path / "log.jsonl"), "--store", str(tmp_path / "store.db"))) == 2
    assert "ULLAGE_NOTICES is 'perhaps': say on, off, desktop" in capsys.readouterr().err


@pytest.mark.parametrize(
    "made",
    [
        log(150_000),
        log(150_000).answer(150_000, text="Shall I push it?"),
        log(90_000, 70_000).answer(90_000, text="Done."),
        # Nearly all of it is what the agent adds to every request.
        log(150_000, 1_000).answer(150_000, text="Done."),
    ],
    ids=["a turn runs", "a question", "short", "hidden"],
)
def test_while_something_is_open_or_nothing_would_be_saved_there_is_none(
    made: ClaudeLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moment, text = shown(made, tmp_path, capsys)
    assert moment is None
    assert "is committed" not in text


@pytest.mark.parametrize(
    ("limit", "note"),
    [
        ("150k", "It has passed your own limit of 150,000 tokens."),
        ("0.1m", "It has passed your own limit of 100,000 tokens."),
        ("160000", ""),
        ("$0.02", "It has cost more than your own limit of $0.02."),
        ("$500", ""),
    ],
)
def test_a_limit_of_the_environment_is_one_for_every_conversation(
    limit: str, note: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_LIMIT", limit)
    _, text = shown(log(150_000).answer(150_000), tmp_path, capsys)
    assert ("your own limit" in text) == bool(note)
    assert note in text


@pytest.mark.parametrize(("share", "warns_at"), [("", 158_650), ("0.89", 165_144), ("0.7", 129_888)])
def test_a_share_of_the_environment_is_where_all_conversations_warn(
    share: str, warns_at: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ULLAGE_WARN_AT", share)
    path = tmp_path / "log.jsonl"
    path.write_bytes(log(150_000).data)
    assert main(("context", str(path), "--json", "--store", str(tmp_path / "store.db"))) == 0
    assert msgspec.json.decode(capsys.readouterr().out)["warns_at"] == warns_at


LIMITS, SHARES = ("much", "-5", "k", "$", "nan", "$nan", "inf"), ("much", "-5", "0", "1.5", "80", "nan", "inf")


@pytest.mark.parametrize(
    ("given", "say"),
    [
        *((f"ULLAGE_LIMIT={limit}", "tokens, as 300k, or dollars, as $5") for limit in LIMITS),
        *((f"ULLAGE_WARN_AT={share}", "a share, as 0.7") for share in SHARES),
    ],
)
def test_what_is_no_limit_and_no_share_is_refused(
    given: str, say: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    variable, value = given.split("=")
    monkeypatch.setenv(variable, value)
    path = tmp_path / "log.jsonl"
    path.write_bytes(log(150_000).data)
    assert main(("context", str(path), "--store", str(tmp_path / "store.db"))) == 2
    assert f"{variable} is {value!r}: say {say}" in capsys.readouterr().err


def test_of_a_conversation_that_goes_on_only_new_messages_are_folded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, taken = tmp_path / "log.jsonl", list[str]()
    take = Fold.take

    def counted(fold: Fold, message: Message, index: int) -> None:
        taken.append(message.id)
        take(fold, message, index)

    monkeypatch.setattr(Fold, "take", counted)
    made, moments, folded = log(150_000).answer(150_000, text="Committed."), list[str](), list[int]()
    path.write_bytes(made.data)
    options = ReadingOptions(store=chosen_store(str(tmp_path / "store.db")))
    with throwaway_copy(read_document(parse_file(path)), options) as workspace:
        for subject in ("docs: say so", "test: round", ""):
            path.write_bytes(made.data)
            transcript = read_document(parse_file(path))
            records = tuple(workspace.records(0, transcript.events))
            projection = workspace.project(StoredSession(records=records), transcript.model)
            moment = good_moment(Conversation("s1", workspace, projection, lambda _: None))
            moments.append(moment.work if moment else "")
            folded.append(len(taken))
            taken.clear()
            made.ask("Next.").call("Bash", f"[main 5a1c2aa] {subject}", command=f'git commit -am "{subject}"')
            made.answer(151_000, text="Committed.")
    assert moments == ["fix: round", "docs: say so", "test: round"]
    assert folded[0] > folded[1] == folded[2] == 4
