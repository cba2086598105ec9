"""The characters of drawings: Unicode, or plain ASCII if a terminal or its encoding needs it."""

from collections.abc import Mapping

from msgspec import Struct


class Glyphs(Struct, frozen=True, kw_only=True):
    """One set of characters for drawings. The characters of lines and bars are one cell wide. `levels` are ordered from
    empty to full."""

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


# The variables that choose the characters of a locale, the strongest first (POSIX, "Environment Variables").
_LOCALE = ("LC_ALL", "LC_CTYPE", "LANG")


def choose_glyphs(encoding: str | None, environment: Mapping[str, str], *, ascii_only: bool = False) -> Glyphs:
    """Returns the ASCII set if `ascii_only` is true, or if the output's encoding, the locale or the terminal (`TERM`)
    can't show the Unicode set. Otherwise returns the Unicode set."""
    # In the locales C and POSIX Python prints UTF-8 all the same (PEP 540), which the terminal may not expect.
    locale = next((value for name in _LOCALE if (value := environment.get(name))), "")
    if ascii_only or environment.get("TERM") in {"dumb", "linux"} or locale in {"C", "POSIX"}:
        return ASCII
    try:
        "".join(UNICODE.levels + UNICODE.corners + UNICODE.mark).encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE
