"""What holds for the redaction of secrets and imitations in every text."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.corpus import cases, leaks, line_of
from ullage.redaction.clean import clean, redact
from ullage.redaction.imitations import neutralise

SECRETS = cases("secrets.json")
IMITATIONS = [case["text"] for case in cases("imitations.json")]
pieces = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["password", "token", "=", ":", ' "', "'", "\\", "\n", " ", "@", "://", "[", "]", "<", ">", "## Task", "-"]
    ),
    st.sampled_from([line_of(case) for case in SECRETS]),
    st.sampled_from(IMITATIONS),
)
texts = st.lists(pieces, max_size=8).map("\n".join)
usual = st.text(alphabet=st.characters(categories=["L", "Zs", "Po"], exclude_characters="\"'`\\"), max_size=60)


@settings(max_examples=300, deadline=None)
@given(texts)
def test_neutralising_twice_changes_nothing_more(text: str) -> None:
    once = neutralise(text)
    assert neutralise(once) == once


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SECRETS), st.sampled_from("\u200b\u2060\ufeff\u200d"))
def test_unseen_characters_hide_no_secret(case: dict[str, Any], unseen: str) -> None:
    line = line_of(case)
    assert leaks(case, clean(unseen.join((line[: len(line) // 2], line[len(line) // 2 :])))) == []


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(SECRETS), usual, usual)
def test_secret_on_its_own_lines_is_redacted_whatever_is_around_it(
    case: dict[str, Any], before: str, after: str
) -> None:
    assert leaks(case, redact(f"{before}\n{line_of(case)}\n{after}")) == []


@given(st.text(alphabet=st.characters(categories=["Ll", "Zs"]), max_size=200))
def test_words_alone_are_left_as_they_are(text: str) -> None:
    assert redact(text) == text
