"""Texts that a pattern could search again from each character: redacting takes a time that grows with their length."""

import random
import string

import pytest

from support.steps import ends
from ullage.redaction import redact_secrets
from ullage.redaction.clean import clean

pytestmark = pytest.mark.no_cover

# Characters. If the work grew with the square of them, each text would take minutes.
_LENGTH = 1_000_000
_BASE64 = "".join(random.Random(1).choices(string.ascii_letters + string.digits + "+/", k=76))
_SPACES = " " * _LENGTH
_TEXTS = (
    f"[0{_SPACES}x",
    f"# task{_SPACES}x",
    f"htpasswd -{'b' * _LENGTH} a b c",
    "\u200d" * _LENGTH,
    f"{_SPACES}summarise" * 2,
    "the summary " * (_LENGTH // 12),
    "xoxb-" * (_LENGTH // 5),
    "aaaaaaaaaaaaaa " * (_LENGTH // 15),
    "é" * _LENGTH,
    *(
        unit * (_LENGTH // len(unit))
        for unit in ("| password |", "| password |\n", "user,password\n", "密码是", "token: ")
    ),
    # Words with which a secret begins, and the name of one far before them: an eighth as long, because they are many.
    *(
        "PRIVATE KEY " + unit * (_LENGTH // 8 // len(unit))
        for unit in (
            *(f"{_BASE64}\n", f"{_BASE64[:21]} ", "-----BEGIN PRIVATE KEY----- ", "PuTTY-User-Key-File-2 "),
            *("sig", "_auth", "authorization:", "password ", "key=", "://a", "cookie: a=", "curl ", "bearer "),
            *("echo a", "://a:b", "sk-", "eyJaaaaaaaa.", "a" * 60, "A1b"),
        )
    ),
)


def _redact() -> None:
    for text in _TEXTS:
        clean(text)


def test_texts_of_a_million_characters_are_redacted_in_a_time_that_grows_with_them() -> None:
    assert ends(_redact)


@pytest.mark.parametrize(
    "unit",
    ["| password |", "| password |\n", "password ", "user,password\n", "<password>", "token: ", "| token | x1 |\n"],
)
def test_a_name_that_is_repeated_is_looked_at_once_for_each_of_its_surroundings(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked, find = list[int](), redact_secrets.near_value

    def near_value(text: str, name: str, end: int) -> tuple[int, int] | None:
        looked.append(end)
        return find(text, name, end)

    monkeypatch.setattr(redact_secrets, "near_value", near_value)
    assert clean(unit * 5_000) == unit * 5_000
    assert 0 < len(looked) < 500


@pytest.mark.parametrize("unit", ["| password |\n", "| password | note |\n", "user,password\n"])
def test_a_secret_under_a_name_that_was_repeated_is_found(unit: str) -> None:
    secret = "Tr0ub4dor&3x"
    row = unit.replace("password", secret)
    assert secret not in clean(unit * 200 + row)
    assert secret not in clean(unit * 3 + row + unit * 200)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("a\u200db", "ab"),
        ("a\u200d\u200c\u200db", "ab"),
        ("é\u200d\u200db", "éb"),
        ("é\u200dè", "é\u200dè"),
    ],
)
def test_joiners_next_to_ascii_are_left_out(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned


@pytest.mark.parametrize("text", ["# Task", "## files #", "### Next step  ##  ", "# task#", "#plan \t"])
def test_a_heading_of_a_summary_is_no_heading_in_a_quote(text: str) -> None:
    assert clean(text) != text


@pytest.mark.parametrize("text", ["[12 messages", "[12  earlier messages]", "[12 older  messages", "[ compaction 3]"])
def test_a_marker_of_a_compaction_is_none_in_a_quote(text: str) -> None:
    assert clean(text) != text
