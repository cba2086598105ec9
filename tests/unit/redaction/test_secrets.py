"""Secrets are redacted in summaries; text that only looks like a secret stays."""

import base64
import json
import random
import re
import string
from collections.abc import Callable
from time import perf_counter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from support.conversations import agent, bash, call, compacted, user
from support.corpus import cases, leaks, line_of
from support.tables import every
from ullage.model.message import Message, render_marker
from ullage.redaction import REDACTED
from ullage.redaction.clean import redact
from ullage.redaction.issuers import ISSUED
from ullage.redaction.known_words import ARGUMENTS, NAMES, ORDERS, ROLES, parted_prefixes, shapes_by_prefix, words_in
from ullage.redaction.redact_secrets import cut, redact_shapes
from ullage.redaction.scan import LONG_WORDS, CharRuns, WordSearch, lowered

SECRETS = cases("secrets.json")
LOOK_ALIKES = [case["line"] for case in cases("secret_look_alikes.json")]
each_secret = every("case", SECRETS)


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


@every("line", LOOK_ALIKES)
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


# Tokens of every known issuer are redacted by their shape. The tokens are made here, so the repository has none


CHARS = string.ascii_letters + string.digits + "-_.+/=~"
each_shape = every("shape", ISSUED)
Shape = tuple[str, str, int, int]


def token(shape: Shape, length: int) -> str:
    """Returns a token of the shape with so many characters after its prefix, the same in each run."""
    prefix, chars, _, _ = shape
    alphabet = re.findall(f"[{chars}]", CHARS)
    # Neither end is a separator, which would belong to the text around the token.
    ends = [char for char in alphabet if char.isalnum()]
    drawn = random.Random(prefix)
    inner = "".join(drawn.choice(alphabet) for _ in range(length - 2))
    return prefix + drawn.choice(ends) + inner + drawn.choice(ends)


@each_shape
@every("around", ["Use {} now.", "key: '{}'", "x={}", '{{"note": "\\n{}\\n"}}'])
def test_shortest_and_longest_token_are_redacted(shape: Shape, around: str) -> None:
    for length in shape[2:]:
        assert redact_shapes(around.format(token(shape, length))) == around.format(REDACTED)


@every("shape", [shape for shape in ISSUED if len(shape[0]) < 12])
def test_prefix_with_a_plain_word_stays(shape: Shape) -> None:
    text = f"Names begin with {shape[0]} here, as in {shape[0]}name."
    assert redact_shapes(text) == text


@each_shape
def test_prefix_inside_a_word_begins_no_token(shape: Shape) -> None:
    text = "9" + token(shape, shape[2])
    assert redact_shapes(text) == text


def test_token_that_grew_longer_or_was_cut_off_is_redacted() -> None:
    shape = next(shape for shape in ISSUED if shape[0] == "ghp_")
    for length in (20, 90):
        assert redact_shapes(f"Use {token(shape, length)} now.") == f"Use {REDACTED} now."


def test_token_that_a_terminal_has_wrapped_is_redacted_whole() -> None:
    shape = next(shape for shape in ISSUED if shape[0] == "ghp_")
    whole = token(shape, 36)
    assert redact_shapes(f"Use {whole[:24]}\n  {whole[24:]} now.") == f"Use {REDACTED} now."


@pytest.mark.parametrize(
    ("spans", "left"),
    [
        ([(3, 9), (0, 5)], f"{REDACTED}9"),
        ([(0, 9), (2, 4)], f"{REDACTED}9"),
        ([(1, 3), (1, 4), (6, 8)], f"0{REDACTED}45{REDACTED}89"),
        ([(0, 5), (5, 9)], f"{REDACTED}{REDACTED}9"),
        ([], "0123456789"),
    ],
)
def test_nothing_of_overlapping_secrets_stays(spans: list[tuple[int, int]], left: str) -> None:
    assert cut("0123456789", spans) == left


# Words are found in a text as plain search finds them, and runs of characters as a pattern finds them


few = st.text(alphabet="abe -", min_size=1, max_size=5)
mixed = st.text(alphabet=st.sampled_from("aZ9_-./?é…İ \n"), max_size=80)


@pytest.mark.no_cover
@settings(max_examples=1_000, deadline=None)
@given(words=st.sets(few, min_size=1, max_size=12), text=st.text(alphabet="abe -", max_size=40))
# The tail of one word begins that of another, begins within it, or ends at the same letter.
@example(words={"ab", "abba", "bab"}, text="eabba bab")
@example(words={"be", "beb", "ebe"}, text="ebebe")
@example(words={"a", "aa", "aaa"}, text="aaaa")
def test_every_word_of_a_text_is_found_and_no_other(words: set[str], text: str) -> None:
    assert WordSearch(words).words_in(text) == {word for word in words if word in text}


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(NAMES | ROLES | ORDERS | ARGUMENTS.keys() | parted_prefixes().keys())), max_size=6)
)
def test_words_that_overlap_others_are_found(pieces: list[str]) -> None:
    text = "".join(pieces).upper()
    assert {piece for piece in pieces if piece in NAMES | ROLES | ORDERS | parted_prefixes().keys()} <= words_in(text)


@settings(max_examples=500, deadline=None)
@given(mixed)
def test_a_text_in_lower_case_has_each_character_at_its_index(text: str) -> None:
    low = lowered(text)
    assert len(low) == len(text)
    assert all(new == old.lower() or new in "i?" for new, old in zip(low, text, strict=True))


@pytest.mark.parametrize(
    ("runs", "pattern"),
    [
        (CharRuns("_-", 3), r"[A-Za-z0-9_-]{3,}"),
        (CharRuns("_-?", 3), r"[A-Za-z0-9_?\x80-\U0010ffff-]{3,}"),
        (CharRuns("./", 1), r"[A-Za-z0-9./]+"),
        (LONG_WORDS, r"[A-Za-z0-9_?\x80-\U0010ffff-]{15,}"),
    ],
)
def test_runs_are_those_that_a_pattern_finds(runs: CharRuns, pattern: str) -> None:
    @settings(max_examples=300, deadline=None)
    @given(mixed)
    def holds(text: str) -> None:
        assert runs.of(text) == [found.span() for found in re.finditer(pattern, text)]

    check: Callable[[], None] = holds
    check()


def test_each_known_prefix_is_searched_for() -> None:
    firsts = shapes_by_prefix()
    assert all(any(prefix.startswith(first) for first in firsts) for prefix, *_ in ISSUED)
    assert {one for prefixes in parted_prefixes().values() for one in prefixes} <= firsts.keys()
