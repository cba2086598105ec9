"""Plays an exchange that a document writes down with the real server, message by message.

In a document, `→` begins a message of the client and `←` one of the server, each in JSON. A message of the server is
shortened: what is written must be in it, `"…"` is any value, and an id such as `s_1` names the id that the server gave
at its first place.
"""

import json
import os
import queue
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, Literal, cast

from msgspec import Struct

from support.lsp_client import frame

_NAMED = re.compile(r"[a-z]_\d+")
_ANY = "…"


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


def play(steps: Sequence[Step], command: Sequence[str], env: Mapping[str, str], patience: float) -> int:
    """Plays an exchange with a server that this command starts, and returns the server's exit status.

    What the server sends between two messages of the client must have every message that is written there, and answers
    in the order of their requests. Raises `NotAsWritten` if it hasn't within `patience` seconds, and if the server
    sends something that contradicts an answer.
    """
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **env})
    assert process.stdin is not None
    assert process.stdout is not None
    arrived: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(process.stdout, arrived), daemon=True).start()
    names: dict[str, str] = {}
    try:
        waiting: list[dict[str, Any]] = []
        for number, step in enumerate(steps):
            if step.side == "←":
                waiting.append(step.message)
                if number + 1 < len(steps) and steps[number + 1].side == "←":
                    continue
                _await_all(waiting, arrived, names, patience)
                waiting = []
            else:
                process.stdin.write(frame(_renamed(step.message, names)))
                process.stdin.flush()
        return process.wait(patience)
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def _await_all(
    waiting: list[dict[str, Any]],
    arrived: "queue.SimpleQueue[dict[str, Any] | None]",
    names: dict[str, str],
    patience: float,
) -> None:
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


def _read(stdout: IO[bytes], arrived: "queue.SimpleQueue[dict[str, Any] | None]") -> None:
    for message in _messages(stdout):
        arrived.put(message)
    arrived.put(None)


def _messages(stdout: IO[bytes]) -> Iterator[dict[str, Any]]:
    while header := stdout.readline():
        length = int(header.removeprefix(b"Content-Length:"))
        while stdout.readline().strip():
            pass
        yield json.loads(stdout.read(length))
