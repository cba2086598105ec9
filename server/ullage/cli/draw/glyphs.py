"""The characters of drawings: Unicode, or plain ASCII if a terminal or its encoding needs it."""

from collections.abc import Mapping

from msgspec import Struct


class Glyphs(Struct, frozen=True, kw_only=True):
    """One set of characters. Each character of a drawing is one cell wide. `levels` go from empty to full."""

    corners: str
    across: str
    down: str
    tees: str
    full: str
    empty: str
    mark: str
    brackets: str
    levels: str
    arrow: str
    ellipsis: str
    dot: str
    check: str
    marker: str
    about: str
    user: str
    tool: str
    warning: str
    ascii: bool = False


UNICODE = Glyphs(
    corners="┌┐└┘",
    across="─",
    down="│",
    tees="├┤",
    full="▓",
    empty="░",
    mark="┊",
    brackets="",
    levels="○◔◑◕●",
    arrow="→",
    ellipsis="…",
    dot="·",
    check="✓",
    marker="◈",
    about="~",
    user="›",
    tool="⚒",
    warning="▲",
)
ASCII = Glyphs(
    corners="++++",
    across="-",
    down="|",
    tees="++",
    full="#",
    empty=".",
    mark="|",
    brackets="[]",
    levels="",
    arrow="->",
    ellipsis=".",
    dot="-",
    check="ok",
    marker="*",
    about="~",
    user=">",
    tool="$",
    warning="!",
    ascii=True,
)


def choose_glyphs(encoding: str | None, environment: Mapping[str, str], *, ascii_only: bool = False) -> Glyphs:
    """Returns ASCII if asked for, or if the output's encoding or the terminal can't show the Unicode set."""
    if ascii_only or environment.get("TERM") in {"dumb", "linux"}:
        return ASCII
    try:
        "".join(UNICODE.levels + UNICODE.corners + UNICODE.mark).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE
