"""Text in drawings: its characters (Unicode, or plain ASCII if a terminal or its encoding needs it), cut and wrapped to
columns, and figures, times and shares in words."""

import re
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime

from msgspec import Struct
from rich.cells import cell_len, set_cell_size

from ullage.model import words
from ullage.model.updates import UsageMeta
from ullage.model.usage import UsageSource


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


# Sequences by which programs colour their output and set titles and links (ECMA-48: CSI, OSC, and two characters).
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])|\x9b[0-?]*[ -/]*[@-~]")
# Characters whose width terminals disagree about, or that move neighbouring text: controls, zero-width joiners and
# direction marks (Cf), lone surrogates, private use, unassigned; and modifiers of emoji.
_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_MODIFIERS = {*map(chr, range(0xFE00, 0xFE10)), *map(chr, range(0x1F3FB, 0x1F400)), "\u20e3"}
_RIGHT_TO_LEFT = {"R", "AL", "AN"}
# Keeps a terminal that reorders right-to-left text from reordering the line around it (Unicode UAX 9, isolates).
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"


def clean(text: str, glyphs: Glyphs) -> str:
    """Returns the text as one line without escape sequences and without characters whose width terminals disagree
    about. If the glyphs are ASCII, other characters become `?`."""
    kept = "".join(map(_safe, _SEQUENCE.sub("", text)))
    return kept.encode("ascii", "replace").decode() if glyphs.ascii else kept


def fit(text: str, width: int, glyphs: Glyphs, *, right: bool = False) -> str:
    """Returns the text in exactly `width` cells: filled with spaces (on the left if `right` is true), or cut with an
    ellipsis. The text is cleaned first."""
    text = clean(text, glyphs)
    if cell_len(text) > width:
        text = set_cell_size(text, max(0, width - 1)).rstrip() + glyphs.ellipsis if width > 0 else ""
    padding = " " * (width - cell_len(text))
    text = _isolated(text)
    return padding + text if right else text + padding


def fit_most(text: str, width: int, glyphs: Glyphs) -> str:
    """Returns the text in at most `width` cells: cleaned, and cut with an ellipsis if it is too long."""
    return fit(text, min(width, cell_len(clean(text, glyphs))), glyphs)


def fit_end(text: str, width: int, glyphs: Glyphs) -> str:
    """Returns the text in at most `width` cells: cleaned, and without its beginning if it is too long. Of a path, the
    end says most."""
    text = clean(text, glyphs)
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) >= width:
        text = text[1:]
    return glyphs.ellipsis + text


def wrap(text: str, width: int, glyphs: Glyphs) -> list[str]:
    """Returns the text as lines of at most `width` cells, broken between words. A word that is longer than a line is
    broken, too. Line breaks and several spaces count as one space. An empty text becomes one empty line."""
    lines = [""]
    for word in clean(text, glyphs).split():
        joined = f"{lines[-1]} {word}".lstrip()
        if cell_len(joined) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        lines[-1:] = _broken(word, width)
    return lines


def _broken(word: str, width: int) -> list[str]:
    """Returns a word as a list of pieces of at most `width` cells."""
    pieces: list[str] = []
    while cell_len(word) > width:
        # A wide character at the border leaves a cell empty.
        head = set_cell_size(word, width).rstrip() or word[:1]
        pieces.append(head)
        word = word[len(head) :]
    return [*pieces, word]


def _safe(character: str) -> str:
    if character.isspace():
        return " "
    if character in _MODIFIERS:
        return ""
    category = unicodedata.category(character)
    if category in _UNSAFE:
        return "" if category in {"Cf", "Cc"} else "?"
    return character


def _isolated(text: str) -> str:
    if any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text):
        return f"{_ISOLATE}{text}{_END_ISOLATE}"
    return text


# Who counts the tokens of a model, by the beginning of its name.
_COMPANIES = (
    ("claude", "Anthropic"),
    ("gpt", "OpenAI"),
    ("o1", "OpenAI"),
    ("o3", "OpenAI"),
    ("o4", "OpenAI"),
    ("gemini", "Google"),
)
_STEPS = ((31_536_000, "year"), (2_592_000, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute"))


def clock(at: int) -> str:
    """Returns the time of day of `at`, Unix milliseconds, on this machine: `11:54`."""
    return datetime.fromtimestamp(at / 1000, UTC).astimezone().strftime("%H:%M")


def ago(then: int, now: int, *, is_short: bool = False) -> str:
    """Returns how long before `now` the time `then` was, in words: `12 s ago`, `2 hours ago`, or `2h` if `is_short` is
    true. Both are Unix milliseconds."""
    seconds = max(0, now - then) // 1000
    for length, unit in _STEPS:
        if seconds >= length:
            count = seconds // length
            if is_short:
                return f"{count}{'mo' if unit == 'month' else unit[0]}"
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return f"{seconds}s" if is_short else f"{seconds} s ago"


def percent(part: int, whole: int) -> int:
    """Returns `part` as a whole percentage of `whole`, or 0 if `whole` is 0."""
    return words.percent(part, whole) if whole > 0 else 0


def source_words(meta: UsageMeta, now: int) -> str:
    """Returns where the figure of the context's size comes from: `counted by Anthropic, 12 s ago`, `counted by
    Anthropic, and 3 messages since`, or `estimated, about 4% off`. `now` is Unix milliseconds."""
    who = next((company for start, company in _COMPANIES if meta.model.startswith(start)), "the provider")
    if meta.source is UsageSource.STALE:
        return f"counted by {who}, and {plural(meta.pending_messages, 'message')} since"
    if meta.source is UsageSource.REPORTED:
        return f"counted by {who}{f', {ago(meta.reported_at, now)}' if meta.reported_at else ''}"
    if meta.error_share is None:
        return "estimated"
    return f"estimated, about {max(1, round(100 * meta.error_share))}% off"


def plural(count: int, noun: str) -> str:
    """Returns a count with its noun: `1 message`, `2 messages`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def plain(text: str, glyphs: Glyphs) -> str:
    """Returns one of Ullage's own texts, in ASCII if the glyphs are ASCII.

    Only the few special characters in Ullage's own texts are replaced (`→`, `…` and `·`).
    """
    if not glyphs.ascii:
        return text
    return text.replace("→", glyphs.arrow).replace("…", "...").replace("·", glyphs.dot)


def in_bytes(size: int) -> str:
    """Returns a size in decimal units, for example `1.2 MB`."""
    value, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
