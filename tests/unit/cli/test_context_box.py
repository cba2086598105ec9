"""The `/context` box as users see it."""

from support.usages import NOW, make_usage
from ullage.cli.draw.boxes import context_box
from ullage.cli.draw.glyphs import ASCII, UNICODE
from ullage.model.usage import UsageSource

DRAWN = """\
+------------------------------------------------+
| Context Usage                claude-sonnet-4-5 |
+------------------------------------------------+
| Current        58,432 tokens (46%)             |
| Maximum       128,000 tokens                   |
| Messages       12 active / 45 total            |
| Summaries       2        Oldest  2 hours ago   |
| Source         reported, 12 s ago              |
|                                                |
| Context: 46% (58K/128K tokens)                 |
| [###############.........|.......]  46%        |
| Warns at 86K, compacts at 97K (|)              |
|                                                |
| System prompt     1,200   Tools          6,104 |
| Messages         31,010   Tool results  19,318 |
| Summary             800   Memory             0 |
| Reserve          19,200   Free          50,368 |
+------------------------------------------------+"""


def test_box_shows_figures_bar_and_breakdown() -> None:
    drawn = "\n".join(line.plain for line in context_box(make_usage(), NOW, ASCII))
    assert drawn == DRAWN


def test_unknown_window_is_said_and_draws_no_bar() -> None:
    drawn = "\n".join(line.plain for line in context_box(make_usage(size=None, compact_at=None), NOW, UNICODE))
    assert "limit unknown" in drawn
    assert UNICODE.full not in drawn


def test_source_says_how_the_figure_is_known() -> None:
    stale = "\n".join(line.plain for line in context_box(make_usage(source=UsageSource.STALE), NOW, ASCII))
    estimated = "\n".join(line.plain for line in context_box(make_usage(source=UsageSource.ESTIMATED), NOW, ASCII))
    assert "stale: 3 messages since" in stale
    assert "estimated, about 4% off" in estimated


def test_colour_of_the_figure_follows_the_thresholds() -> None:
    def styles(used: int) -> set[str]:
        lines = context_box(make_usage(used), NOW, ASCII)
        return {str(span.style) for line in lines for span in line.spans}

    assert "green" in styles(50_000)
    assert "bold yellow" in styles(90_000)
    assert "bold red" in styles(100_000)
