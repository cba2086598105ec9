"""Notes of how full the context is, for the agent's model: one line with a prompt, at each mark once per fill."""

from ullage.cli.statusline.files import read_live
from ullage.cli.statusline.line_figure import Figure, figure_of_row, row_of_session
from ullage.cli.statusline.plain_json import as_list, as_object

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# Shares of the window at which a note is due. A further one is due when the compaction may be so few calls away.
_MARKS = (0.7, 0.85)
_LAST, _CALLS = "calls", 2
# A context of less than this share of what it was at the last note has been compacted since.
_EMPTIED = 0.6


def current_figure(store: str, session: str, counted: "dict[str, Any] | None") -> Figure | None:
    """Returns the figure of a session: that of the process that follows it, else the one that was counted after the
    last turn. Returns None if it is not known."""
    row = _followed(store, session) or counted
    return figure_of_row(row) if row else None


def follows(store: str, session: str) -> bool:
    """Returns whether a process follows a session."""
    return _followed(store, session) is not None


def _followed(store: str, session: str) -> "dict[str, Any] | None":
    rows, is_followed = read_live(store)
    return row_of_session(rows, session) if is_followed else None


class Fill:
    """The notes of a fill: those that were given since the last compaction. `value` is what `given` returned last."""

    def __init__(self, value: "dict[str, Any] | None") -> None:
        self._used = int(as_object(value).get("used") or 0)
        self._marks = {str(mark) for mark in as_list(as_object(value).get("marks"))}

    def note(self, figure: Figure) -> str:
        """Returns the note that is due; "" if there is none."""
        if figure.used is None or not figure.window:
            return ""
        if figure.used < _EMPTIED * self._used:
            self._marks.clear()
            self._used = 0
        due = {str(mark) for mark in _MARKS if figure.used >= mark * figure.window}
        due |= {_LAST} if figure.calls_left and figure.calls_left[0] <= _CALLS else set()
        if due <= self._marks:
            return ""
        self._marks |= due
        self._used = figure.used
        return _sentence(figure, figure.used, figure.window)

    @property
    def given(self) -> str:
        """The marks whose notes were given, as JSON."""
        marks = ",".join(f'"{mark}"' for mark in sorted(self._marks))
        return f'{{"used":{self._used},"marks":[{marks}]}}'


def _sentence(figure: Figure, used: int, window: int) -> str:
    about = "about " if figure.is_estimated else ""
    percent = (200 * used + window) // (2 * window)
    parts = [f"Context: {about}{used:,} of {window:,} tokens ({percent} %)."]
    if figure.compacts_at:
        calls = f", {_calls(figure.calls_left)} from now" if figure.calls_left else ""
        parts.append(f"It is compacted at {figure.compacts_at:,} tokens{calls}.")
    return " ".join(parts)


def _calls(left: "Iterable[int]") -> str:
    low, high = left
    number = low or high
    bound = "" if low == high else "at least " if low else "up to "
    return f"{bound}{number} {'call' if number == 1 else 'calls'} of the model"
