"""The figure of a conversation: from what its agent says of it, else from the end of its transcript."""

from ullage.cli.statusline.plain_json import as_list, as_object
from ullage.model.usage_report import context_of, holding_window

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Tokens. The window that an agent states for a model is too small if it does not know the model's larger one.
_WIDER = (1_000_000,)


class Figure:
    """How full a context is, in tokens; None is unknown. `calls_left` are the fewest and the most calls of the model
    until `compacts_at`. `idle_at` is when the agent compacts because the conversation idles, in Unix milliseconds.
    `is_estimated` says that `used` is a local count. `warns` says whether the user should look at
    it; None leaves that to the share of `compacts_at`."""

    def __init__(  # noqa: PLR0913  (a struct would need msgspec)
        self,
        used: int | None = None,
        window: int | None = None,
        compacts_at: int | None = None,
        calls_left: tuple[int, int] | None = None,
        agent: str = "",
        *,
        idle_at: int | None = None,
        is_estimated: bool = False,
        warns: bool | None = None,
    ) -> None:
        self.used = used
        self.window = window
        self.compacts_at = compacts_at
        self.calls_left = calls_left
        self.agent = agent
        self.idle_at = idle_at
        self.is_estimated = is_estimated
        self.warns = warns


def figure_of_row(row: "dict[str, Any]") -> Figure:
    """Returns the figure of a row of the live file."""
    calls, nearness = as_list(row.get("calls_left")), row.get("nearness")
    return Figure(
        used=_count(row.get("used")),
        window=_count(row.get("window")),
        compacts_at=_count(row.get("compacts_at")),
        calls_left=(int(calls[0]), int(calls[1])) if calls else None,
        agent=str(row.get("agent", "")),
        idle_at=_count(as_object(row.get("idle")).get("at")),
        is_estimated=row.get("used_source") == "estimated",
        warns=None if nearness is None else nearness == "imminent",
    )


def row_of_session(rows: "list[dict[str, Any]]", session_id: str) -> "dict[str, Any] | None":
    """Returns the row of the conversation with this id of its agent, or None."""
    return next((row for row in rows if row.get("agent_session_id") == session_id), None)


def figure_of_agent(said: "dict[str, Any]", row: "dict[str, Any] | None", *, is_followed: bool) -> Figure:
    """Returns the figure of the conversation that an agent describes on standard input.

    `row` is its row in the live file, or None; `is_followed` says that the row is kept up to date. What the agent says
    of the context's size and the window is exact; where it compacts, only the row says. A size that the agent does not
    say is the row's, or else what its transcript shows.
    """
    window, used = _said(said)
    known = figure_of_row(row) if row else Figure()
    warns, is_estimated = known.warns if is_followed else None, False
    if used is None and is_followed and known.used is not None:
        used, is_estimated = known.used, known.is_estimated
    else:
        if used is None:
            used, is_estimated = _in_transcript(said)
        # The row may be older than what the agent says.
        warns = warns or None
    if window is None:
        window = known.window
    is_same = window == known.window
    return Figure(
        used=used,
        window=window,
        compacts_at=known.compacts_at if is_same else None,
        calls_left=known.calls_left if is_same and is_followed else None,
        idle_at=known.idle_at if is_followed else None,
        is_estimated=is_estimated,
        warns=warns,
    )


def _said(said: "dict[str, Any]") -> tuple[int | None, int | None]:
    """Returns the window and the size of the context, each None if the agent does not say it.

    Directly after a compaction, and where a gateway leaves usage out, the agent says that the prompt has 0 tokens. The
    context's size is unknown then. A context larger than the stated window raises that.
    """
    context = as_object(said.get("context_window"))
    window = _count(context.get("context_window_size")) or None
    used = context_of(as_object(context.get("current_usage")))
    return holding_window(used, window, _WIDER) if window and used else window, used


def _in_transcript(said: "dict[str, Any]") -> tuple[int | None, bool]:
    """Returns the size of the context by the agent's transcript, and whether it is an estimate. Reports count for an
    early version, which says nothing of its context. A later one knows them, so without a figure of its own they are
    of what is no longer in its context, and only a compaction counts."""
    # Rarely needed, and a module takes half a millisecond to import.
    from ullage.cli.statusline.transcript_end import context_at_end  # noqa: PLC0415

    path = said.get("transcript_path")
    used, is_estimated = context_at_end(path) if isinstance(path, str) else (None, False)
    return (None, False) if as_object(said.get("context_window")) and not is_estimated else (used, is_estimated)


def _count(value: object) -> int | None:
    return value if type(value) is int and value >= 0 else None
