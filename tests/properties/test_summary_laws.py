"""What holds for every summary: without a model for all messages and all sizes, and by a model wherever its stream is
cut."""

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from support.conversations import agent, bash, call, places, user
from support.corpus import cases, leaks, line_of
from support.counting import LengthCounter
from ullage.model.message import CompactionBlock, Message, render_marker
from ullage.summary.composition import NOTHING_FITS, compose
from ullage.summary.draft import Draft
from ullage.summary.summary_request import SummaryRequest

COUNTER = LengthCounter()
texts = st.one_of(
    st.text(max_size=300),
    st.lists(
        st.sampled_from(["fix", "src/auth.py", "never", "token_count", "\n## Task\n", "- #3 x", "it failed.", "\n"]),
        max_size=60,
    ).map(" ".join),
)
exchanges = st.one_of(
    texts.map(lambda text: (user(text),)),
    texts.map(lambda text: (agent(text),)),
    st.tuples(texts, texts, st.booleans()).map(lambda parts: bash(parts[0], parts[1], is_error=parts[2])),
    st.tuples(texts, texts).map(lambda parts: call("Write", {"file_path": parts[0], "content": parts[1]}, "ok")),
)
histories = st.lists(exchanges, max_size=12).map(lambda parts: tuple(message for part in parts for message in part))


def compacted(messages: tuple[Message, ...], tokens: int, previous: CompactionBlock | None = None) -> CompactionBlock:
    request = SummaryRequest(messages=messages, indices=places(messages), max_tokens=tokens, previous=previous)
    composition = compose(request, COUNTER)
    return CompactionBlock(
        compaction_number=1 if previous is None else previous.compaction_number + 1,
        timestamp=0,
        summary=composition.summary,
        messages_archived=len(messages),
        context_size_before=0,
        ledger=composition.ledger,
    )


def smallest(block: CompactionBlock) -> int:
    return COUNTER.count(
        render_marker(
            CompactionBlock(
                compaction_number=block.compaction_number,
                timestamp=0,
                summary=NOTHING_FITS,
                messages_archived=block.messages_archived,
                context_size_before=0,
            )
        )
    )


@settings(max_examples=150, deadline=None)
@given(histories, st.integers(0, 600), histories)
def test_marker_never_takes_more_than_its_budget(
    messages: tuple[Message, ...], tokens: int, later: tuple[Message, ...]
) -> None:
    first = compacted(messages, tokens)
    second = compacted(later, tokens, first)
    for block in (first, second):
        assert block.summary.strip()
        assert COUNTER.count(render_marker(block)) <= max(tokens, smallest(block))


@settings(max_examples=100, deadline=None)
@given(histories)
def test_a_summary_of_a_summary_says_the_same(messages: tuple[Message, ...]) -> None:
    first = compacted(messages, 100_000)
    assert compacted((), 100_000, first).summary == first.summary


@settings(max_examples=50, deadline=None)
@given(histories, st.integers(0, 600))
def test_same_request_gives_the_same_summary(messages: tuple[Message, ...], tokens: int) -> None:
    assert compacted(messages, tokens) == compacted(messages, tokens)


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
