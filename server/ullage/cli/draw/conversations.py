"""The table of conversations, which `ullage` and `ullage watch` share."""

from collections.abc import Iterable, Sequence

from rich.text import Text

from ullage.cli.draw.parts import Cell, Column, bar, table
from ullage.cli.draw.text import Glyphs, ago, clock
from ullage.model.figure import FollowedRow, Nearness
from ullage.model.usage import UsageSource
from ullage.model.words import rate_limits, short, warm

_BAR_CELLS = 12
# Columns of a terminal from which on words are whole.
_ROOMY = 110
_COLUMNS = (
    Column(name="Full", right=True),
    Column(name="", rank=5, style="dim"),
    Column(name="Tokens", rank=4, right=True),
    Column(name="Compacts", rank=3, style="dim"),
    Column(name="Title", flexible=True),
    Column(name="Agent", rank=1, style="dim"),
    Column(name="Model", rank=7, style="dim"),
    Column(name="Cache", rank=6, style="dim"),
    Column(name="Messages", rank=8, right=True, style="dim"),
    Column(name="When", rank=2, style="dim"),
    Column(name="Id", style="bold"),
)


def conversation_table(
    rows: Sequence[tuple[FollowedRow, str]], now: int, width: int, glyphs: Glyphs, folder: str | None = None
) -> list[Text]:
    """Returns a heading and one line per row. Each row is given with what its conversation is called, and `now` is Unix
    milliseconds. A conversation of another folder than `folder` has its own before the title."""
    is_short = width < _ROOMY
    cells = [_cells(row, (name, _title(row, folder)), now, glyphs, is_short=is_short) for row, name in rows]
    return table(_COLUMNS, cells, width, glyphs)


def _title(row: FollowedRow, folder: str | None) -> str:
    place = folder_of(row) if row.cwd != folder else ""
    return f"{place}: {row.title}" if place else row.title


def is_due_soon(row: FollowedRow) -> bool:
    """Returns whether a conversation is about to be compacted. Where it is known how near that is, this decides: an
    estimate alone is no reason to warn."""
    return row.nearness is Nearness.IMMINENT if row.nearness else _is_due(row)


def _is_due(row: FollowedRow) -> bool:
    return row.used is not None and row.compacts_at is not None and row.used >= row.compacts_at


def calls(row: FollowedRow) -> str:
    """Returns in how many calls of the model a context is compacted: `9+ calls`; "" if that is not known."""
    if row.calls_left is None or not row.live:
        return ""
    low, high = row.calls_left
    count = str(low) if low == high else f"{low}+" if low else f"0-{high}"
    return f"{count} {'call' if high == 1 else 'calls'}"


def folder_of(row: FollowedRow) -> str:
    """Returns the last component of the folder in which a conversation began."""
    return row.cwd.replace("\\", "/").rstrip("/").rpartition("/")[2]


def limits_of(rows: Iterable[FollowedRow], now: int) -> str:
    """Returns what each agent said last of the limits of the user's subscription: `Claude Code 5h 42%, 7d 80%`; "" if
    none has said anything of the present times. `now` is Unix milliseconds."""
    ordered = sorted(rows, key=lambda row: row.updated_at)
    said = {row.agent: limits for row in ordered if (limits := rate_limits(row.rate_limits, now))}
    return "; ".join(f"{agent} {limits}" for agent, limits in sorted(said.items()))


def _cells(row: FollowedRow, called: tuple[str, str], now: int, glyphs: Glyphs, *, is_short: bool) -> Sequence[Cell]:
    """Returns a row's cells, one for each of `_COLUMNS`. `called` are the name and the title."""
    about = glyphs.about if row.used_source is UsageSource.ESTIMATED else ""
    soon = is_due_soon(row)
    style = "" if not soon else "bold red" if _is_due(row) else "bold yellow"
    full = f"{glyphs.warning} " * soon + ("?" if row.percent is None else f"{about}{row.percent}%")
    name, title = called
    return (
        (full, style),
        bar(row.used or 0, row.window, row.compacts_at, _BAR_CELLS, glyphs) if row.window else "",
        f"{'?' if row.used is None else short(row.used)}/{short(row.window) if row.window else '?'}",
        _compacts(row, now, is_short=is_short),
        title,
        row.agent_short or row.agent if is_short else row.agent,
        row.model,
        warm(row.cache, now) if row.cache and (row.live or now < row.cache.until) else "",
        "" if row.messages is None else f"{row.messages:,}",
        ("now", "bold green") if row.live else ago(row.updated_at, now, is_short=is_short),
        name,
    )


def _compacts(row: FollowedRow, now: int, *, is_short: bool) -> str:
    """Returns where the context is compacted, and in how many calls, or when if that is because it idles."""
    if row.live and row.idle and row.idle.at > now:
        return f"at {clock(row.idle.at)}" if is_short else f"idle: at {clock(row.idle.at)}"
    if row.compacts_at is None:
        return ""
    left = "" if is_short else calls(row)
    return f"{short(row.compacts_at)}, {left}" if left else short(row.compacts_at)
