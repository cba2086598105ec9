"""What holds for a model's summary wherever its stream is cut."""

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.corpus import cases
from support.leaks import leaks, line_of
from ullage.summary.draft import Draft

SECRETS = cases("secrets.json")
LINES = ("- Mend the parser.", "- It reads `tokens` twice:\n  see line 7", "Then go on.", "", "1. One more thing.")
lines = st.lists(st.sampled_from(LINES), max_size=4)


@st.composite
def drafts(draw: st.DrawFn) -> tuple[dict[str, Any], list[str]]:
    """Draws a summary with a secret, and the pieces in which it is streamed."""
    case = draw(st.sampled_from(SECRETS))
    before, after = draw(lines), draw(lines)
    bullet = draw(st.sampled_from(["", "- ", "- Use this:\n"]))
    text = "\n".join(["## Task", *before, bullet + line_of(case), *after, "## Next step", "- Go on.", ""])
    cuts = sorted({0, len(text), *draw(st.lists(st.integers(0, len(text)), max_size=12))})
    return case, [text[start:stop] for start, stop in pairwise(cuts)]


@settings(max_examples=300, deadline=None)
@given(drafts())
def test_a_stream_cut_anywhere_never_shows_half_a_secret(draft: tuple[dict[str, Any], list[str]]) -> None:
    case, pieces = draft
    reader, told = Draft(), ""
    for piece in pieces:
        told += "".join(reader.add(piece))
        assert leaks(case, told) == []
    told += "".join(reader.end())
    assert leaks(case, told) == []
    assert told == reader.text


@settings(max_examples=300, deadline=None)
@given(drafts())
def test_where_a_stream_is_cut_changes_nothing(draft: tuple[dict[str, Any], list[str]]) -> None:
    _, pieces = draft
    texts: list[str] = []
    for stream in (pieces, ["".join(pieces)], list("".join(pieces))):
        reader = Draft()
        for piece in stream:
            list(reader.add(piece))
        list(reader.end())
        texts.append(reader.text)
    assert len(set(texts)) == 1
