"""The status line in each of its states."""

from support.usages import make_usage
from ullage.cli.commands.demo import compacted_line, compacting_line, status_line
from ullage.cli.draw.text import ASCII, UNICODE
from ullage.model.usage import UsageSource


def test_normal_state_shows_share_and_figures() -> None:
    assert status_line(make_usage(), UNICODE) == "◑ 46% · 58K/128K"
    assert status_line(make_usage(), ASCII) == "46% - 58K/128K"


def test_estimated_figure_is_marked() -> None:
    assert status_line(make_usage(source=UsageSource.ESTIMATED), UNICODE) == "◑ ~46% · 58K/128K"


def test_warning_state_says_where_it_compacts() -> None:
    assert status_line(make_usage(90_000), UNICODE) == "◕ 70% · compacts at 97K"


def test_unknown_window_is_said() -> None:
    assert status_line(make_usage(size=None, compact_at=None), UNICODE) == "58K · limit unknown"


def test_compaction_has_its_own_states() -> None:
    assert compacting_line(12, 45, UNICODE) == "Compacting… 12 of 45 messages"
    assert compacted_line(164_000, 31_000, UNICODE) == "✓ 164K → 31K"
    assert compacted_line(164_000, 31_000, ASCII) == "ok 164K -> 31K"
