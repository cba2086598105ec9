"""The line: the figure of a conversation, from what its agent says of it, else from the end of its transcript; and as
much of it as there is room for."""

import time

from ullage.cli.statusline.files import as_list, as_object
from ullage.model.usage_report import LARGEST_CONTEXT, context_of, count_of, holding_window, rate_limits_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


# Tokens. The window that an agent states for a model is too small if it does not know the model's larger one.
_WIDER = (1_000_000,)
# Per cent of a rate limit: of the long one less is not shown.
_MUCH = 50
# Milliseconds of silence after an answer before which a turn may still run, as `service.follow.reminders` has it.
_QUIET = 15_000


class Figure:
    """How full a context is, in tokens; None is unknown. `calls_left` are the fewest and the most calls of the model
    until `compacts_at`. `idle_at` is when the agent compacts because the conversation idles, in Unix milliseconds.
    The provider keeps the last prompt in its cache until `warm_until` (Unix milliseconds); if `is_promised`, it is gone
    then. `limits` are the user's rate limits: the name of each, its used share in per cent, and when its time ends, in
    Unix milliseconds or None. `moment` is the time, tokens and price of a good moment to begin a new session.
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
        warm_until: int | None = None,
        is_promised: bool = False,
        limits: "Sequence[tuple[str, int, int | None]]" = (),
        moment: "tuple[int, int, float | None] | None" = None,
        is_estimated: bool = False,
        warns: bool | None = None,
    ) -> None:
        self.used = used
        self.window = window
        self.compacts_at = compacts_at
        self.calls_left = calls_left
        self.agent = agent
        self.idle_at = idle_at
        self.warm_until = warm_until
        self.is_promised = is_promised
        self.limits = limits
        self.moment = moment
        self.is_estimated = is_estimated
        self.warns = warns


def figure_of_row(row: "dict[str, Any]") -> Figure:
    """Returns the figure of a row of the live file."""
    calls, nearness, cache = as_list(row.get("calls_left")), row.get("nearness"), as_object(row.get("cache"))
    moment = as_object(row.get("moment"))
    at, tokens, cost = _count(moment.get("at")), _count(moment.get("tokens")), moment.get("cost")
    return Figure(
        used=_count(row.get("used")),
        window=_count(row.get("window")),
        compacts_at=_count(row.get("compacts_at")),
        calls_left=(int(calls[0]), int(calls[1])) if calls else None,
        agent=str(row.get("agent", "")),
        idle_at=_count(as_object(row.get("idle")).get("at")),
        warm_until=_count(cache.get("until")),
        is_promised=cache.get("source") == "promised",
        limits=limits_of_row(row),
        moment=None if at is None or tokens is None else (at, tokens, cost if isinstance(cost, float) else None),
        is_estimated=row.get("used_source") == "estimated",
        warns=None if nearness is None else nearness == "imminent",
    )


def limits_of_row(row: "dict[str, Any]") -> "list[tuple[str, int, int | None]]":
    """Returns the rate limits that a row of the live file has."""
    limits = map(as_object, as_list(row.get("rate_limits")))
    return [(str(one.get("name")), _count(one.get("percent")) or 0, _count(one.get("until"))) for one in limits]


def row_of_session(rows: "list[dict[str, Any]]", session_id: str) -> "dict[str, Any] | None":
    """Returns the row of the conversation with this id of its agent, or None."""
    return next((row for row in rows if row.get("agent_session_id") == session_id), None)


def figure_of_agent(said: "dict[str, Any]", row: "dict[str, Any] | None", *, is_followed: bool) -> Figure:
    """Returns the figure of the conversation that an agent describes on standard input.

    `row` is its row in the live file, or None; `is_followed` says that the row is kept up to date. What the agent says
    of the context's size and the window is exact; where it compacts, only the row says. A size that the agent does not
    say is the row's, or else what its transcript shows.
    """
    window, used = _window_and_used(said)
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
    warm_until, is_promised = _cache(said, known) if is_followed else _cache(said, Figure())
    return Figure(
        used=used,
        window=window,
        compacts_at=known.compacts_at if is_same else None,
        calls_left=known.calls_left if is_same and is_followed else None,
        idle_at=known.idle_at if is_followed else None,
        warm_until=warm_until,
        is_promised=is_promised,
        limits=rate_limits_of(said) or known.limits,
        moment=known.moment if is_followed else None,
        is_estimated=is_estimated,
        warns=warns,
    )


def _cache(said: "dict[str, Any]", known: Figure) -> "tuple[int | None, bool]":
    """Returns until when the last prompt is kept (Unix milliseconds), and whether it is gone then: as the agent says,
    else as its row does. Claude Code says the seconds at which it ends (`prompt_cache`, from 2.1.251 on)."""
    cache = as_object(said.get("prompt_cache"))
    ends = _count(cache.get("expires_at"))
    if ends is not None:
        return ends * 1_000, True
    if cache.get("warm") is False and cache.get("caching_observed") is True:
        return 0, True
    return known.warm_until, known.is_promised


def window_of(said: "dict[str, Any]") -> int | None:
    """Returns the window that the agent says, in tokens; None if it says none that can be one."""
    window = count_of(as_object(said.get("context_window")).get("context_window_size"))
    return window if 0 < window <= LARGEST_CONTEXT else None


def is_known(row: "dict[str, Any]", said: "dict[str, Any]") -> bool:
    """Returns whether the row of a followed conversation has all that its agent says of the window and of the user's
    rate limits. Then nothing has to be written, which takes half as long as all else that a line does."""
    window = window_of(said)
    has_window = window is None or (row.get("window") == window and row.get("window_source") == "agent")
    return has_window and limits_of_row(row) == rate_limits_of(said)


def _window_and_used(said: "dict[str, Any]") -> tuple[int | None, int | None]:
    """Returns the window and the size of the context, each None if the agent does not say it.

    Directly after a compaction, and where a gateway leaves usage out, the agent says that the prompt has 0 tokens. The
    context's size is unknown then. A context larger than the stated window raises that.
    """
    context = as_object(said.get("context_window"))
    window, used = window_of(said), context_of(as_object(context.get("current_usage")))
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


_LEVELS = "○◔◑◕●"
# If nothing else says whether a figure warns, it does from this share of the threshold on.
_WARNS = 0.9
_DOT = " · "
# Styles by the name of what shows the line, each with the texts before and after a styled text: ECMA-48 for terminals,
# tmux(1), "STYLES".
_STYLES = {
    "ansi": {"": ("", ""), "warning": ("\x1b[33m", "\x1b[0m"), "critical": ("\x1b[1;31m", "\x1b[0m")},
    "tmux": {"": ("", ""), "warning": ("#[fg=yellow]", "#[default]"), "critical": ("#[fg=red,bold]", "#[default]")},
    "plain": {"": ("", ""), "warning": ("", ""), "critical": ("", "")},
}


def draw(
    figure: "Figure", width: int | None, style: str = "ansi", *, ascii_only: bool = False, named: bool = False
) -> str:
    """Returns the line for a figure, in at most `width` columns if they are known: the most important part is kept.

    `style` is `ansi`, `tmux` or `plain`. `named` puts the agent's name first. The line is a dash if nothing is known.
    """
    if figure.used is None and figure.window is None:
        return "-" if ascii_only else "–"
    level, sign = _level(figure), _sign(figure, ascii_only=ascii_only)
    head = f"{figure.agent} {sign}" if named and figure.agent else sign
    parts = [head, *_rest(figure)]
    text = (_DOT if not ascii_only else " - ").join(parts)
    while width is not None and len(text) > width and len(parts) > 1:
        parts.pop()
        text = (_DOT if not ascii_only else " - ").join(parts)
    before, after = _STYLES[style][level]
    if style == "tmux":
        text = text.replace("#", "##")
    elif ascii_only:
        text = text.replace("–", "-")
    return f"{before}{text}{after}"


def _sign(figure: "Figure", *, ascii_only: bool) -> str:
    """Returns the share of the window, or the tokens alone if no window is known."""
    if figure.used is None or not figure.window:
        return "?" if figure.used is None else short(figure.used)
    share = min(1.0, figure.used / figure.window)
    about = "~" if figure.is_estimated else ""
    percent = (200 * min(figure.used, figure.window) + figure.window) // (2 * figure.window)
    warning = ("! " if ascii_only else "▲ ") if _level(figure) else ""
    level = "" if ascii_only or warning else f"{_LEVELS[min(4, int(share * 4))]} "
    return f"{warning}{level}{about}{percent}%"


def _rest(figure: "Figure") -> list[str]:
    """Returns the other parts, the most important first."""
    parts: list[str] = []
    if figure.window:
        used = "?" if figure.used is None else short(figure.used)
        parts.append(f"{used}/{short(figure.window)}")
    if figure.idle_at and figure.idle_at > time.time() * 1_000:
        parts.append(time.strftime("idle: compacts at %H:%M", time.localtime(figure.idle_at / 1_000)))
    if figure.compacts_at:
        parts.append(f"compacts at {short(figure.compacts_at)}")
    if figure.calls_left:
        low, high = figure.calls_left
        number = str(low) if low == high else f"{low}+" if low else f"0–{high}"
        parts.append(f"{number} {'call' if high == 1 else 'calls'} left")
    return parts + _clock(figure, time.time() * 1_000)


def _clock(figure: "Figure", now: float) -> "list[str]":
    """Returns the parts that time changes. `now` is Unix milliseconds."""
    parts: list[str] = []
    if figure.moment and now >= figure.moment[0] + _QUIET:
        _, tokens, cost = figure.moment
        price = "" if cost is None else f", ${cost:.2f}"
        parts.append(f"good moment: new session {short(tokens)}{price}")
    if figure.warm_until is not None:
        left = int(figure.warm_until - now)
        if left > 0:
            parts.append(f"warm {max(1, left // 60_000)} min")
        elif figure.is_promised:
            parts.append("cold")
    for name, used, until in figure.limits:
        if (until is None or now < until) and (name == "5h" or used >= _MUCH):
            parts.append(f"{name} {used}%")
    return parts


def _level(figure: "Figure") -> str:
    if figure.used is None or figure.warns is False:
        return ""
    if figure.compacts_at and figure.used >= figure.compacts_at:
        return "critical"
    due = figure.compacts_at is not None and figure.used >= _WARNS * figure.compacts_at
    return "warning" if due or figure.warns else ""


def short(tokens: int) -> str:
    """Returns a number of tokens in a short form, as `ullage.model.words.short` does, which takes 30 ms to import."""
    if tokens < 1_000:
        return str(tokens)
    if tokens < 9_950:
        return f"{tokens / 1_000:.1f}".removesuffix(".0") + "K"
    if tokens < 999_500:
        return f"{(tokens + 500) // 1_000}K"
    return f"{tokens / 1_000_000:.1f}".removesuffix(".0") + "M"
