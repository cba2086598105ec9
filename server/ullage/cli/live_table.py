"""What the live table shows, and what a key does to it. Pure: keys and rows in, wishes and lines out."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct
from rich.text import Text

from ullage.cli.draw.parts import Cell, Column, bar, table
from ullage.cli.draw.text import Glyphs, ago, clock, fit_most
from ullage.cli.this_folder import fullest_first
from ullage.model.figure import FollowedRow, Nearness, without_children
from ullage.model.usage import UsageSource
from ullage.model.words import short

_BAR_CELLS = 12
# Columns of a terminal from which on an agent has its whole name.
_ROOMY = 110
_COLUMNS = (
    Column(name="Full", right=True),
    Column(name="", rank=5, style="dim"),
    Column(name="Tokens", rank=3, right=True),
    Column(name="Compacts", rank=2),
    Column(name="Title", flexible=True),
    Column(name="Agent", rank=1),
    Column(name="Messages", rank=7, right=True, style="dim"),
    Column(name="When", rank=4, style="dim"),
    Column(name="Folder", rank=6, style="dim"),
)
_TABLE_KEYS = ("↑↓ choose", "Enter messages", "c context", "/ search", "p pause", "q quit")
_PAGE_KEYS = ("↑↓ scroll", "/ search", "q back")
# Lines that are no rows: the heading, and below the rows what is kept, the warning and the keys.
_AROUND = 4


class What(StrEnum):
    """What is shown of a conversation."""

    MESSAGES = "messages"
    CONTEXT = "context"
    HITS = "search"


class Wish(Struct, frozen=True, kw_only=True):
    """A page about a conversation that the user asks for. `query` is what to search it for."""

    what: What
    session_id: str
    query: str = ""


class Board:
    """The live table, with the chosen conversation, or a page about it.

    `kept` says what is kept of agents' files. `is_over` turns true when the user quits. `wish` is the page that is
    shown or wanted, None while the table is shown.
    """

    def __init__(self) -> None:
        self.kept = ""
        self.is_over = False
        self.wish: Wish | None = None
        self._rows: dict[str, FollowedRow] = {}
        # Rows that have changed since the user paused, None while the table is not paused.
        self._held: dict[str, FollowedRow] | None = None
        self._chosen = ""
        self._page: Sequence[Text | str] = ()
        self._top = 0
        self._typed: str | None = None

    def take(self, row: FollowedRow) -> None:
        """Shows a row that is new or has changed; while the table is paused, once it continues."""
        (self._rows if self._held is None else self._held)[row.session_id] = row

    def show(self, page: Sequence[Text | str]) -> None:
        """Shows the page that was wished for: messages from the newest ones on, other pages from the top."""
        is_list = self.wish is not None and self.wish.what is What.MESSAGES
        self._page, self._top = page, len(page) if is_list else 0

    def press(self, key: str) -> Wish | None:
        """Does what the key means. Returns the page that must be made for it, None if there is none."""
        if self._typed is not None:
            return self._type(key, self._typed)
        if key in ("q", "escape"):
            self.is_over = self.wish is None
            self.wish, self._page = None, ()
        elif key == "/":
            self._typed = "" if self._ordered() else None
        elif self.wish is not None:
            self._scroll(key)
        elif key == "p":
            self._pause()
        elif key in ("enter", "c"):
            return self._wish(What.CONTEXT if key == "c" else What.MESSAGES)
        else:
            self._choose(key)
        return None

    def lines(self, width: int, height: int, now: int, glyphs: Glyphs) -> list[Text | str]:
        """Returns what a terminal of this size shows. `now` is Unix milliseconds."""
        keys = f"Search: {self._typed}_" if self._typed is not None else self._keys(width, glyphs)
        foot = Text(fit_most(keys, width, glyphs), "" if self._typed is not None else "dim")
        if self.wish is not None:
            room = max(1, height - 2)
            self._top = max(0, min(self._top, len(self._page) - room))
            return [*self._page[self._top : self._top + room], "", foot]
        return [*self._table(width, height, now, glyphs), foot]

    def _table(self, width: int, height: int, now: int, glyphs: Glyphs) -> list[Text | str]:
        rows = self._ordered()
        if not rows:
            words = "No agent has written anything yet. Ask one."
            return [fit_most(words, width, glyphs), self._kept_line(width, glyphs)]
        place = self._place(rows)
        room = max(1, height - _AROUND)
        first = max(0, min(place - room // 2, len(rows) - room))
        drawn: list[Text] = table(
            _COLUMNS, [_cells(row, now, glyphs, is_short=width < _ROOMY) for row in rows], width, glyphs
        )
        chosen = drawn[1 + place]
        chosen.pad_right(max(0, width - chosen.cell_len))
        chosen.stylize("reverse")
        warned = " ".join(rows[place].warnings)
        warning = Text(fit_most(f"{glyphs.warning} {warned}", width, glyphs), "yellow") if warned else ""
        return [drawn[0], *drawn[1 + first : 1 + first + room], self._kept_line(width, glyphs), warning]

    def _kept_line(self, width: int, glyphs: Glyphs) -> Text | str:
        return Text(fit_most(self.kept, width, glyphs), "dim") if self.kept else ""

    def _keys(self, width: int, glyphs: Glyphs) -> str:
        keys = _PAGE_KEYS if self.wish else _TABLE_KEYS
        words = [key.replace("↑↓", "j/k") if glyphs.ascii else key for key in keys]
        if self._held is not None:
            words = ["paused", *(word.replace("pause", "continue") for word in words)]
        between = f" {glyphs.dot} "
        while len(between.join(words)) > width and len(words) > 1:
            # The last one, how to leave, stays.
            words.pop(-2)
        return between.join(words)

    def _ordered(self) -> list[FollowedRow]:
        return fullest_first(without_children(self._rows.values()))

    def _place(self, rows: Sequence[FollowedRow]) -> int:
        """Returns the index of the chosen row; the first one if none was chosen."""
        return next((place for place, row in enumerate(rows) if row.session_id == self._chosen), 0)

    def _choose(self, key: str) -> None:
        rows = self._ordered()
        if rows and (place := _moved(key, self._place(rows), len(rows) - 1)) is not None:
            self._chosen = rows[place].session_id

    def _scroll(self, key: str) -> None:
        if (top := _moved(key, self._top, max(0, len(self._page) - 1))) is not None:
            self._top = top

    def _pause(self) -> None:
        self._rows.update(self._held or {})
        self._held = {} if self._held is None else None

    def _wish(self, what: What, query: str = "") -> Wish | None:
        rows = self._ordered()
        session_id = self.wish.session_id if self.wish else rows[self._place(rows)].session_id if rows else ""
        if session_id:
            self.wish = Wish(what=what, session_id=session_id, query=query)
            self._page = ["Reading …"]
        return self.wish

    def _type(self, key: str, typed: str) -> Wish | None:
        if key == "enter":
            self._typed = None
            return self._wish(What.HITS, typed.strip()) if typed.strip() else None
        if key == "escape":
            self._typed = None
        elif key == "backspace":
            self._typed = typed[:-1]
        elif len(key) == 1:
            self._typed = typed + key
        return None


# Lines that a page's key moves.
_PAGE = 10


def _moved(key: str, place: int, last: int) -> int | None:
    """Returns the place, from 0 to `last`, to which a key moves, or None if it does not move."""
    moved = {
        **dict.fromkeys(("up", "k"), place - 1),
        **dict.fromkeys(("down", "j"), place + 1),
        **dict.fromkeys(("page up", "b"), place - _PAGE),
        **dict.fromkeys(("page down", " "), place + _PAGE),
        **dict.fromkeys(("home", "g"), 0),
        **dict.fromkeys(("end", "G"), last),
    }.get(key)
    return None if moved is None else max(0, min(last, moved))


def _cells(row: FollowedRow, now: int, glyphs: Glyphs, *, is_short: bool) -> Sequence[Cell]:
    """Returns a row's cells, one for each of `_COLUMNS`. An ended conversation is dim. With `is_short` the agent has
    its short name."""
    about = glyphs.about if row.used_source is UsageSource.ESTIMATED else ""
    full = "?" if row.percent is None else f"{about}{row.percent}%"
    due = row.used is not None and row.compacts_at is not None and row.used >= row.compacts_at
    # Where it is known how near the compaction is, that decides: an estimate alone is no reason to warn.
    soon = row.nearness is Nearness.IMMINENT if row.nearness else due
    warns = f"{glyphs.warning} " if soon else ""
    texts = [
        f"{warns}{full}",
        bar(row.used or 0, row.window, row.compacts_at, _BAR_CELLS, glyphs) if row.window else "",
        f"{'?' if row.used is None else short(row.used)}/{short(row.window) if row.window else '?'}",
        _compacts(row, now),
        row.title,
        row.agent_short or row.agent if is_short else row.agent,
        "?" if row.messages is None else f"{row.messages:,}",
        ago(row.updated_at, now),
        row.cwd.replace("\\", "/").rstrip("/").rpartition("/")[2],
    ]
    if not row.live:
        return [(text, "dim") for text in texts]
    style = "bold" if not soon else "bold red" if due else "bold yellow"
    return [(texts[0], style), *texts[1:]]


def _compacts(row: FollowedRow, now: int) -> str:
    """Returns where the context is compacted, and in how many calls, or when if that is because it idles."""
    if row.live and row.idle and row.idle.at > now:
        return f"idle: at {clock(row.idle.at)}"
    if row.compacts_at is None:
        return "?"
    if row.calls_left is None or not row.live:
        return f"at {short(row.compacts_at)}"
    low, high = row.calls_left
    calls = str(low) if low == high else f"{low}+" if low else f"0-{high}"
    return f"at {short(row.compacts_at)}, {calls} {'call' if high == 1 else 'calls'}"
