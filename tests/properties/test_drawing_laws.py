"""Every line of a box is exactly as wide as asked, whatever the box contains."""

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len

from support.usages import NOW, make_usage
from ullage.api.protocol import UsageResult
from ullage.cli.commands.compact import Shrunk, compaction_box
from ullage.cli.commands.context import Big, context_box
from ullage.cli.drawing import ASCII, UNICODE, Glyphs, bar, fit
from ullage.model.message import CompactionBlock
from ullage.model.updates import Meta
from ullage.model.usage import Breakdown, KnownThreshold, KnownWindow, ThresholdSource, UsageSource, WindowSource

figures = st.integers(0, 10**13)
# Wide, right-to-left, combining, zero-width and emoji characters, as well as any other Unicode text.
texts = st.text() | st.text("a日שם\u0301\u200d👩🏽\ufe0f🇩\u202e\x1b\ud800", max_size=60)
widths = st.integers(40, 200)
biggest = st.lists(st.builds(Big, index=st.integers(0, 10**6), opening=texts, tokens=figures), max_size=3)
windows = st.builds(KnownWindow, size=figures, source=st.sampled_from(WindowSource), basis=texts)
thresholds = st.builds(
    KnownThreshold, tokens=figures, percent=figures, source=st.sampled_from(ThresholdSource), basis=texts
)
glyph_sets = st.sampled_from([UNICODE, ASCII])


@st.composite
def usages(draw: st.DrawFn) -> UsageResult:
    size = draw(figures | st.none())
    usage = make_usage(draw(figures), size, source=draw(st.sampled_from(UsageSource)), model=draw(texts))
    parts = draw(st.lists(figures, min_size=7, max_size=7))
    meta = replace(
        usage.meta.ullage,
        breakdown=Breakdown(
            system_prompt=parts[0],
            tools=parts[1],
            memory=parts[2],
            messages=parts[3],
            tool_results=parts[4],
            summary=parts[5],
            overhead=parts[6],
        ),
        compact_at=draw(figures | st.none()),
        messages_active=draw(figures),
        messages_archived=draw(figures),
        compactions=draw(figures),
        pending_messages=draw(figures),
        oldest_timestamp=draw(st.integers(0, 2**60)),
        error_share=draw(st.floats(0, 10) | st.none()),
        window=draw(windows | st.none()),
        threshold=draw(thresholds | st.none()),
        agent=draw(texts),
    )
    return replace(usage, meta=Meta(ullage=meta))


@given(usages(), glyph_sets, widths, biggest)
def test_context_box_is_as_wide_as_asked(usage: UsageResult, glyphs: Glyphs, width: int, big: list[Big]) -> None:
    assert {line.cell_len for line in context_box(usage, NOW, glyphs, width, big)} == {width}


@given(figures, figures, texts, glyph_sets, widths)
def test_compaction_box_is_as_wide_as_asked(before: int, after: int, text: str, glyphs: Glyphs, width: int) -> None:
    block = CompactionBlock(
        compaction_number=after,
        timestamp=0,
        summary="",
        messages_archived=after,
        context_size_before=before,
        summarizer=text,
    )
    sizes = Shrunk(before=before, after=after, hidden=after, hidden_name=text, budget=after, counted=before)
    assert {line.cell_len for line in compaction_box(block, sizes, text, glyphs, width)} == {width}


@given(texts, st.integers(0, 60), glyph_sets, st.booleans())
def test_fitted_text_has_its_width_and_one_line(text: str, width: int, glyphs: Glyphs, right: bool) -> None:
    fitted = fit(text, width, glyphs, right=right)
    assert cell_len(fitted) == width
    assert fitted.isprintable() or not fitted.isascii()
    assert "\n" not in fitted
    fitted.encode("ascii" if glyphs.ascii else "utf-8")


@given(figures, figures, figures | st.none(), st.integers(3, 40), glyph_sets)
def test_bar_keeps_its_width_and_separates_empty_from_used(
    used: int, size: int, mark: int | None, cells: int, glyphs: Glyphs
) -> None:
    drawn = bar(used, size, mark, cells, glyphs)
    assert cell_len(drawn) == cells + len(glyphs.brackets)
    assert bar(0, size, None, cells, glyphs).count(glyphs.full) == 0
