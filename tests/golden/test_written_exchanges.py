"""The exchanges that protocol/README.md writes down are what a client and the real server say to each other."""

import json
import os
import queue
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import IO, Any, Literal, cast

import pytest
from msgspec import Struct

from support.documents import ROOT
from support.followed_home import FollowedHome
from support.lsp_client import PATIENCE, frame
from support.program import serve_command

# The messages that a server has sent; None at its end.
Arrived = queue.SimpleQueue[dict[str, Any] | None]
_NAMED = re.compile(r"[a-z]_\d+")
_ANY = "…"
PAGE = (ROOT / "protocol" / "README.md").read_text(encoding="utf-8")
FIRST, FOLLOWING, ACP = "The first exchange", "Agents on this machine", "The ACP door"
# Without keys, as the page says nothing of them.
ENVIRONMENT = {"ANTHROPIC_API_KEY": "", "OPENAI_API_KEY": ""}
# Seconds that a wrong page may wait for a message that never comes. A right one has PATIENCE.
IMPATIENCE = 8.0


class Step(Struct, frozen=True):
    """One written message, and whose it is."""

    side: Literal["→", "←"]
    message: dict[str, Any]


class NotAsWritten(Exception):
    """The server did not send what the document says."""


def exchange_under(heading: str, document: str) -> list[Step]:
    """Returns the exchange of the section with this heading. Raises `ValueError` if there is none."""
    section = document.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.search(r"^```text\n(→.*?)^```", section, re.DOTALL | re.MULTILINE)
    if found is None:
        raise ValueError(f"no exchange under {heading!r}")
    written = re.split(r"^([→←]) ", found[1], flags=re.MULTILINE)[1:]
    sides = cast("Sequence[Literal['→', '←']]", written[::2])
    return [Step(side, json.loads(text)) for side, text in zip(sides, written[1::2], strict=True)]


def play(
    steps: Sequence[Step],
    command: Sequence[str],
    env: Mapping[str, str],
    patience: float = PATIENCE,
    *,
    by_lines: bool = False,
    sent: list[dict[str, Any]] | None = None,
) -> int:
    """Plays an exchange with a server that this command starts, and returns the server's exit status. Messages are
    lines, or have headers. Where no message ends the server, the end of its input does. `sent` gets all that the server
    sends.

    What the server sends between two messages of the client must have every message that is written there, and answers
    in the order of their requests. Raises `NotAsWritten` if it hasn't within `patience` seconds, and if the server
    sends something that contradicts an answer.
    """
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **env})
    assert process.stdin is not None
    assert process.stdout is not None
    arrived: Arrived = queue.SimpleQueue()
    reading = _lines if by_lines else _messages
    threading.Thread(
        target=_read, args=(reading(process.stdout), arrived, [] if sent is None else sent), daemon=True
    ).start()
    names: dict[str, str] = {}
    try:
        for side, stretch in groupby(steps, lambda step: step.side):
            if side == "←":
                _await_all([step.message for step in stretch], arrived, names, patience)
                continue
            for step in stretch:
                message = _renamed(step.message, names)
                process.stdin.write(json.dumps(message).encode() + b"\n" if by_lines else frame(message))
                process.stdin.flush()
        if by_lines:
            process.stdin.close()
        return process.wait(patience)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def judge(steps: Sequence[Step], sent: Sequence[dict[str, Any]]) -> None:
    """Raises `NotAsWritten` if a server that has sent these messages, and then ended, has not sent what is written."""
    arrived: Arrived = queue.SimpleQueue()
    for message in (*sent, None):
        arrived.put(message)
    names: dict[str, str] = {}
    for side, stretch in groupby(steps, lambda step: step.side):
        if side == "←":
            _await_all([step.message for step in stretch], arrived, names, PATIENCE)


def _await_all(waiting: list[dict[str, Any]], arrived: Arrived, names: dict[str, str], patience: float) -> None:
    """Waits until each of these messages has come. Notifications come in the written order, and so do answers."""
    while waiting:
        try:
            message = arrived.get(timeout=patience)
        except queue.Empty:
            message = None
        if message is None:
            raise NotAsWritten(f"the server did not send {json.dumps(waiting[0], ensure_ascii=False)}")
        answers = "method" not in message
        expected = next((one for one in waiting if ("method" not in one) == answers), None)
        if expected is not None and _fits(expected, message, names):
            waiting.remove(expected)
        elif answers:
            raise NotAsWritten(f"the server answered {json.dumps(message)[:2_000]}, not {json.dumps(expected)}")


def _fits(written: Any, sent: Any, names: dict[str, str]) -> bool:
    """Returns whether a sent value has what is written. New names are kept only if it has."""
    found = dict(names)
    if not _matches(written, sent, found):
        return False
    names.update(found)
    return True


def _matches(written: Any, sent: Any, names: dict[str, str]) -> bool:
    match written:
        case dict():
            given, fields = cast("dict[str, Any]", written), cast("dict[str, Any]", sent)
            return isinstance(sent, dict) and all(
                key in fields and _matches(value, fields[key], names) for key, value in given.items()
            )
        case list():
            items, others = cast("list[Any]", written), cast("list[Any]", sent)
            return (
                isinstance(sent, list)
                and len(items) == len(others)
                and all(_matches(one, other, names) for one, other in zip(items, others, strict=True))
            )
        case str() if written == _ANY:
            return True
        case str() if _NAMED.fullmatch(written):
            return isinstance(sent, str) and names.setdefault(written, sent) == sent
        case _:
            return type(written) is type(sent) and written == sent


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    match value:
        case dict():
            return {key: _renamed(one, names) for key, one in cast("dict[str, Any]", value).items()}
        case list():
            return [_renamed(one, names) for one in cast("list[Any]", value)]
        case str():
            return names.get(value, value)
        case _:
            return value


def _lines(stdout: IO[bytes]) -> Iterator[dict[str, Any]]:
    return (json.loads(line) for line in stdout)


def _read(messages: Iterator[dict[str, Any]], arrived: Arrived, sent: list[dict[str, Any]]) -> None:
    for message in messages:
        sent.append(message)
        arrived.put(message)
    arrived.put(None)


def _messages(stdout: IO[bytes]) -> Iterator[dict[str, Any]]:
    while header := stdout.readline():
        length = int(header.removeprefix(b"Content-Length:"))
        while stdout.readline().strip():
            pass
        yield json.loads(stdout.read(length))


def test_the_first_exchange_happens_as_it_is_written(tmp_path: Path) -> None:
    assert play(exchange_under(FIRST, PAGE), serve_command(tmp_path / "s.db"), ENVIRONMENT) == 0


def test_following_happens_as_it_is_written(tmp_path: Path) -> None:
    home = FollowedHome(tmp_path)
    home.say("Which port?", 40_000)
    env = ENVIRONMENT | {"HOME": str(home.folder), "CLAUDE_CONFIG_DIR": str(home.folder / ".claude")}
    assert play(exchange_under(FOLLOWING, PAGE), serve_command(tmp_path / "s.db"), env) == 0


def test_the_first_messages_of_acp_happen_as_they_are_written(tmp_path: Path) -> None:
    command = [*serve_command(tmp_path / "s.db")]
    command[command.index("lsp")] = "acp"
    assert play(exchange_under(ACP, PAGE), command, ENVIRONMENT, by_lines=True) == 0


def changed(written: str, wrong: str) -> list[Step]:
    """Returns the first exchange of a page that has something else."""
    assert written in PAGE
    return exchange_under(FIRST, PAGE.replace(written, wrong))


def test_an_exchange_in_which_the_server_says_something_else_does_not_happen(tmp_path: Path) -> None:
    sent: list[dict[str, Any]] = []
    play(exchange_under(FIRST, PAGE), serve_command(tmp_path / "s.db"), ENVIRONMENT, sent=sent)
    judge(exchange_under(FIRST, PAGE), sent)
    for written, wrong in (
        ('"sessionUpdate": "usage_update", "used": 1920', '"sessionUpdate": "usage_update", "used": 1921'),
        ('"source": "reported"', '"source": "estimated"'),
        ('"status": "completed"', '"status": "done"'),
        ('"code": 1501', '"code": -32002'),
        ('"hits": [\n    {"sessionId"', '"hits": [{"messageId": "m_9"},\n    {"sessionId"'),
        ('"archived": true', '"archived": false'),
        ("no session another: list", "no session another; list"),
    ):
        with pytest.raises(NotAsWritten):
            judge(changed(written, wrong), sent)


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ('"experimental": {"ullage": {}}}', '"experimental": {}}'),
        ('"ullage/session/append"', '"ullage/session/add"'),
        ('"model": "gpt-4o"', '"model": "gpt-3.5-turbo"'),
        ('"id": 13, "method": "shutdown"', '"id": 14, "method": "shutdown"'),
    ],
)
def test_an_exchange_in_which_the_client_says_something_else_does_not_happen(
    tmp_path: Path, written: str, wrong: str
) -> None:
    with pytest.raises(NotAsWritten):
        play(changed(written, wrong), serve_command(tmp_path / "s.db"), ENVIRONMENT, IMPATIENCE)


def test_the_header_that_is_written_has_the_length_of_its_message() -> None:
    found = re.search(r"^Content-Length: (\d+)\\r\\n\\r\\n(.*)$", PAGE, re.MULTILINE)
    assert found
    assert len(found[2].encode()) == int(found[1])
    assert json.loads(found[2])["method"] == "initialized"
