"""The line: as much of a figure as there is room for."""

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ullage.cli.statusline.line_figure import Figure

_LEVELS = "○◔◑◕●"
# A figure of which nothing else says whether it warns does so from this share of the threshold on.
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

    `style` is `ansi`, `tmux` or `plain`. `named` puts the agent's name first. The line is `?` if nothing is known.
    """
    if figure.used is None and figure.window is None:
        return "?"
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
