"""Secrets are redacted in summaries; text that only looks like a secret stays."""

import base64
import json
from time import perf_counter
from typing import Any

import pytest

from support.compacted import compacted
from support.conversations import agent, bash, call, user
from support.corpus import cases
from support.leaks import leaks, line_of
from ullage.model.marker import render_marker
from ullage.model.message import Message
from ullage.redaction.clean import redact

SECRETS = cases("secrets.json")
LOOK_ALIKES = [case["line"] for case in cases("secret_look_alikes.json")]
each_secret = pytest.mark.parametrize("case", SECRETS, ids=lambda case: case["kind"])


def told_everywhere(line: str) -> tuple[Message, ...]:
    """Returns a conversation in which a line is asked, thought, written, run and shown."""
    return (
        user(f"Deploy this and never log it:\n{line}"),
        agent(f"I found the cause. This was in the configuration:\n{line}"),
        *bash(line, f"error: refused\n{line}", is_error=True),
        *bash(f"cat config.txt && {line}", line, call_id="again"),
        *call("Write", {"file_path": "config.txt", "content": line}, "ok", call_id="write"),
        *call("TodoWrite", {"todos": [{"content": line, "status": "pending"}]}, "ok", call_id="todo"),
        *call("Read", {"file_path": "config.txt"}, json.dumps({"content": line}), call_id="read"),
        agent(f"Next I use this:\n{line}"),
    )


def test_corpus_holds_at_least_100_secrets_and_100_look_alikes() -> None:
    assert len({line_of(case) for case in SECRETS}) >= 100
    assert len(set(LOOK_ALIKES)) >= 100


@each_secret
def test_secret_is_redacted_in_its_place(case: dict[str, Any]) -> None:
    shown = redact(line_of(case))
    assert leaks(case, line_of(case))
    assert leaks(case, shown) == []
    assert "[redacted]" in shown


@each_secret
def test_secret_is_redacted_in_an_escaped_string(case: dict[str, Any]) -> None:
    assert leaks(case, redact(json.dumps({"content": line_of(case)}))) == []


@each_secret
def test_redacting_twice_changes_nothing_more(case: dict[str, Any]) -> None:
    once = redact(line_of(case))
    assert redact(once) == once


@pytest.mark.parametrize("line", LOOK_ALIKES)
def test_what_only_looks_like_a_secret_stays(line: str) -> None:
    assert redact(line) == line


def test_words_around_a_secret_stay() -> None:
    assert redact('password = "kJ8#mQ2z", retries = 3  # see #12') == 'password = "[redacted]", retries = 3  # see #12'


@each_secret
def test_no_secret_reaches_summary_ledger_or_marker(case: dict[str, Any]) -> None:
    line = line_of(case)
    first = compacted(told_everywhere(line), focus=line)
    again = compacted((user("Go on."), agent("Done.")), previous=first, focus=line)
    assert leaks(case, render_marker(first)) == []
    assert leaks(case, render_marker(again)) == []


@pytest.mark.parametrize(
    "piece",
    [
        f"{'Qx7' * 25}\n",  # lines of base64, which are looked at from each end of a key
        "-----BEGIN PRIVATE KEY----- ",
        "-----END PRIVATE KEY-----",
        "PuTTY-User-Key-File-2 ",
        "sk-",
        "authorization:",
        "api_key=",
        "curl ",
    ],
)
def test_a_text_that_repeats_what_secrets_begin_with_is_read_in_time(piece: str) -> None:
    text = "PRIVATE KEY " + piece * (300_000 // len(piece))
    began = perf_counter()
    redact(text)
    assert perf_counter() - began < 30  # a hundredth of this is usual; the slowest took ten minutes


def test_base64_is_looked_into_whatever_follows_it() -> None:
    hidden = base64.b64encode(b"export DB_PASSWORD=correct-horse-7").decode().rstrip("=")
    assert redact(f"{hidden} is at 80%") == "[redacted] is at 80%"
    assert redact(f"{hidden}-80% done") == "[redacted]-80% done"
