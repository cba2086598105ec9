"""Text for terminals: characters cut and wrapped to columns, figures in words, boxes, bars, tables, and the `Screen`
that prints them with the width, the colours and the pager. Also writes files, asks the user, and shows progress on
standard error. A terminal or encoding without Unicode gets plain ASCII; programs get UTF-8 in every locale."""

import json
import os
import re
import sys
import unicodedata
from argparse import Namespace
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from shutil import get_terminal_size
from typing import Any, Self

import msgspec
from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Span, Text

from ullage.cli.terminal import show_long, wants_color
from ullage.formats.parsing import parse_json
from ullage.model import words
from ullage.model.errors import InputError
from ullage.model.json_values import encode_json
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
    if text.isascii() and text.isprintable():
        return text
    kept = "".join(map(_safe, _SEQUENCE.sub("", text)))
    return kept.encode("ascii", "replace").decode() if glyphs.ascii else kept


def fit(text: str, width: int, glyphs: Glyphs, *, right: bool = False) -> str:
    """Returns the cleaned text in exactly `width` cells: filled with spaces (`right`: on the left) or cut."""
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
    """Returns the cleaned text in at most `width` cells, without its beginning: of a path, the end says most."""
    text = clean(text, glyphs)
    if cell_len(text) <= width:
        return text
    while text and cell_len(text) >= width:
        text = text[1:]
    return glyphs.ellipsis + text


# What separates the folders of a path.
_SEPARATOR = re.compile(r"[/\\]")


def wrap(text: str, width: int, glyphs: Glyphs, *, whole_paths: bool = False) -> list[str]:
    """Returns the text as lines of at most `width` cells, broken between words. A word that is longer than a line is
    broken, too, but with `whole_paths` a path is not: users copy it. Line breaks and several spaces count as one space.
    An empty text becomes one empty line."""
    lines = [""]
    for word in clean(text, glyphs).split():
        joined = f"{lines[-1]} {word}".lstrip()
        if cell_len(joined) <= width:
            lines[-1] = joined
            continue
        if lines[-1]:
            lines.append("")
        lines[-1:] = [word] if whole_paths and _SEPARATOR.search(word) else _broken(word, width)
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
    if not text.isascii() and any(unicodedata.bidirectional(character) in _RIGHT_TO_LEFT for character in text):
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
    """Returns in words how long before `now` the time `then` was: `2 hours ago`, or `2h`. Unix milliseconds."""
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


# Cells of the two borders and the space inside each.
_FRAME = 4
_LABEL = 9
_BORDER = "dim"


class Box:
    """Builds a box of `width` columns line by line. `inner` is the number of columns inside its borders."""

    def __init__(self, glyphs: Glyphs, width: int) -> None:
        self.inner = width - _FRAME
        self._width = width
        self._glyphs = glyphs
        self._lines: list[Text] = []

    def title(self, left: str, right: str = "") -> None:
        """Adds the top border, a line with two texts, and a horizontal line below it.

        `left` is bold. `right` gets at least half of the width if it needs that much. A text that is too long is cut.
        """
        self._lines.append(self._rule(self._glyphs.corners[:2]))
        most = max(self.inner // 2, self.inner - cell_len(clean(left, self._glyphs)) - 2)
        beside = fit_most(right, most, self._glyphs)
        room = self.inner - cell_len(beside) - 2
        self.row((fit(left, room, self._glyphs), "bold"), ("  ", ""), (beside, "dim"))
        self.rule()

    def row(self, *parts: tuple[str, str]) -> None:
        """Adds a line of (text, style) pairs, filled with spaces up to the border. The pairs must fit."""
        text = Text.assemble(*parts)
        text.pad_right(max(0, self.inner - text.cell_len))
        border = (self._glyphs.down, _BORDER)
        self._lines.append(Text.assemble(border, " ", text, " ", border))

    def line(self, text: str, style: str = "") -> None:
        """Adds a line of text, cut if it is too long."""
        self.row((fit(text, self.inner, self._glyphs), style))

    def fact(self, label: str, value: str, style: str = "") -> None:
        """Adds a line with a label in the first column and its value after it, in several lines if it is long."""
        for line in wrap(value, self.inner - _LABEL - 1, self._glyphs):
            self.row(
                (fit(label, _LABEL, self._glyphs), ""),
                (" ", ""),
                (fit(line, self.inner - _LABEL - 1, self._glyphs), style),
            )
            label = ""

    def head(self, text: str) -> None:
        """Adds a horizontal line across the box that contains a heading."""
        line = f"{self._glyphs.across} {fit_most(text, self.inner - 4, self._glyphs)} "
        ends = self._glyphs.tees
        rest = self._glyphs.across * max(0, self._width - 2 - cell_len(line))
        self._lines.append(Text(ends[0] + line + rest + ends[1], style=_BORDER))

    def rule(self) -> None:
        """Adds a horizontal line across the box."""
        self._lines.append(self._rule(self._glyphs.tees))

    def blank(self) -> None:
        """Adds an empty line."""
        self.row()

    def lines(self) -> list[Text]:
        """Returns all lines of the box, with the bottom border."""
        return [*self._lines, self._rule(self._glyphs.corners[2:])]

    def _rule(self, ends: str) -> Text:
        return Text(ends[0] + self._glyphs.across * (self._width - 2) + ends[1], style=_BORDER)


def bar(used: int, size: int, compact_at: int | None, cells: int, glyphs: Glyphs) -> str:
    """Returns a bar of `cells` cells that shows the share `used / size`, between brackets if the glyphs have them.

    At least one cell is filled if anything is used, and all cells only if the window is full. A mark shows the cell at
    which compaction begins. `used`, `size` and `compact_at` are tokens; `compact_at` may be None.
    """
    share = min(1.0, used / size) if size > 0 else 0.0
    full = min(int(share * cells + 0.5), cells if share >= 1 else cells - 1)
    full = max(full, 1 if used > 0 else 0)
    drawn = glyphs.full * full + glyphs.empty * (cells - full)
    if compact_at is not None and size > 0:
        at = min(cells - 1, int(compact_at / size * cells))
        drawn = drawn[:at] + glyphs.mark + drawn[at + 1 :]
    return f"{glyphs.brackets[:1]}{drawn}{glyphs.brackets[1:]}"


def level_style(used: int, meta: UsageMeta) -> str:
    """Returns the style of a figure of `used` tokens: red from the compaction threshold on, yellow from the warning
    threshold on, otherwise green. The colour is never the only sign of a level."""
    if meta.compact_at is not None and used >= meta.compact_at:
        return "bold red"
    if meta.warn_at is not None and used >= meta.warn_at:
        return "bold yellow"
    return "green"


def step_lines(steps: Sequence[tuple[str, str]], width: int, glyphs: Glyphs) -> Iterator[str]:
    """Yields a line for each command that a user may run next, with a remark; in columns if all of both fit."""
    first, second = (max((cell_len(step[place]) for step in steps), default=0) for place in (0, 1))
    column = first if 4 + first + second <= width else 0
    yield from (fit_most(f"  {command:<{column}}  {remark}", width, glyphs) for command, remark in steps)


_BETWEEN = "  "
# Cells that the flexible column keeps; other columns are left out first.
_LEAST_FLEXIBLE = 30


class Column(Struct, frozen=True, kw_only=True):
    """A column of a table.

    If the table is too wide, columns are left out, those with the highest `rank` first; columns of rank 0 are always
    shown. `right` aligns the text to the right. The `flexible` column is as wide as the other columns allow.
    """

    name: str
    rank: int = 0
    right: bool = False
    flexible: bool = False
    style: str = ""


Cell = str | tuple[str, str]


def table(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int, glyphs: Glyphs) -> list[Text]:
    """Returns a heading and one line per row, each at most `width` cells wide if the columns of rank 0 fit.

    A cell is a text, or a text with a style that replaces the column's. Columns without any text are left out.
    """
    texts = [[clean(cell if isinstance(cell, str) else cell[0], glyphs) for cell in row] for row in rows]
    natural = [
        max([cell_len(column.name), *(cell_len(row[place]) for row in texts)]) for place, column in enumerate(columns)
    ]
    filled = [place for place in range(len(columns)) if any(row[place] for row in texts)]
    shown = _chosen(columns, natural, filled, width)
    widths = _widths(columns, natural, shown, width)
    heading = [(columns[place].name, "bold") for place in shown]
    lines = [
        [(text[at], cell[1] if isinstance(cell := row[at], tuple) else columns[at].style) for at in shown]
        for text, row in zip(texts, rows, strict=True)
    ]
    return [_line(line, [columns[place] for place in shown], widths, glyphs) for line in (heading, *lines)]


def _chosen(columns: Sequence[Column], natural: Sequence[int], filled: Sequence[int], width: int) -> list[int]:
    shown = list(filled)
    while True:
        optional = [place for place in shown if columns[place].rank]
        needed = sum(_least(columns[place], natural[place]) for place in shown) + len(_BETWEEN) * (len(shown) - 1)
        if needed <= width or not optional:
            return shown
        shown.remove(max(optional, key=lambda place: columns[place].rank))


def _widths(columns: Sequence[Column], natural: Sequence[int], shown: Sequence[int], width: int) -> list[int]:
    fixed = sum(natural[place] for place in shown if not columns[place].flexible)
    left = max(1, width - fixed - len(_BETWEEN) * (len(shown) - 1))
    return [min(natural[place], left) if columns[place].flexible else natural[place] for place in shown]


def _least(column: Column, natural: int) -> int:
    return min(natural, _LEAST_FLEXIBLE) if column.flexible else natural


def _line(cells: Sequence[tuple[str, str]], columns: Sequence[Column], widths: Sequence[int], glyphs: Glyphs) -> Text:
    line, spans = "", list[Span]()
    for (text, style), column, width in zip(cells, columns, widths, strict=True):
        start = len(line)
        line += fit(text, width, glyphs, right=column.right)
        spans.append(Span(start, len(line), style))
        line += _BETWEEN
    drawn = Text(line, spans=spans)
    drawn.rstrip()
    return drawn


# Columns of a drawing. Fewer hold no figure with its label; more are wider than the eye follows.
NARROWEST, WIDEST = 40, 200
# The name of standard output where a file is expected.
STDOUT = Path("-")
# The room of a table that is not cut: more columns than any table has.
UNCUT = 10_000
# The beginning of a line under which its continuation lines begin: blanks and a list mark.
_INDENT = re.compile(r"\s*(?:[-*] )?")
# Characters of a line that answers a question.
_LONGEST_ANSWER = 1_000


class Screen:
    """Standard output for text that users read.

    `width` is the width of boxes in columns. `room` is the width of tables: in a pipe it is 200 unless COLUMNS is set,
    because a program may read the table.
    """

    def __init__(self, glyphs: Glyphs, width: int, room: int, *, color: bool, pager: bool) -> None:
        self.glyphs = glyphs
        self.width = width
        self.room = room
        self._color = color
        self._pager = pager

    @classmethod
    def of(cls, args: Namespace) -> Self:
        """Returns the screen according to the arguments (`--ascii`, `--color`, `--no-pager`) and the environment."""
        on_terminal = sys.stdout.isatty()
        # While Rich draws in place, standard output is a proxy of its own, which has no encoding.
        out = getattr(sys.stdout, "rich_proxied_file", sys.stdout)
        glyphs = choose_glyphs(out.encoding, os.environ, ascii_only=getattr(args, "ascii", False))
        width = max(NARROWEST, min(WIDEST, get_terminal_size().columns))
        return cls(
            glyphs,
            width,
            width if on_terminal or "COLUMNS" in os.environ else UNCUT,
            color=wants_color(args.color, os.environ, on_terminal=on_terminal),
            pager=on_terminal and sys.stdin.isatty() and not args.no_pager,
        )

    def print(self, lines: Iterable[Text | str]) -> None:
        """Prints lines without wrapping them. Uses the pager if they don't fit on the terminal."""
        text = self._rendered(lines)
        if not (self._pager and show_long(text, os.environ)):
            sys.stdout.write(text)

    def prose(self, text: str) -> Iterator[str]:
        """Yields a text's lines. On a terminal they break between words, never inside a path, keeping their indent."""
        for line in text.splitlines():
            if self.room == UNCUT:
                yield clean(line, self.glyphs)
                continue
            indent = _INDENT.match(line)
            start = len(indent[0]) if indent else 0
            broken = wrap(line[start:], max(NARROWEST // 2, self.room - start), self.glyphs, whole_paths=True)
            yield clean(line[:start], self.glyphs) + broken[0]
            yield from (" " * start + more for more in broken[1:])

    def console(self) -> Console:
        """Returns a Rich console for a drawing that changes in place."""
        return Console(highlight=False, markup=False, emoji=False, no_color=not self._color)

    def _rendered(self, lines: Iterable[Text | str]) -> str:
        if not self._color:
            return "".join(f"{line if isinstance(line, Text) else Text(line)}\n" for line in lines)
        text = StringIO()
        console = Console(
            file=text,
            force_terminal=True,
            color_system="standard",
            highlight=False,
            markup=False,
            emoji=False,
            legacy_windows=False,
        )
        for line in lines:
            console.print(line, soft_wrap=True)
        return text.getvalue()


def print_json(value: Any) -> None:
    """Prints a value as one indented JSON object in UTF-8."""
    print_bytes(to_json(value))


def print_json_line(value: Any) -> None:
    """Prints one JSON object on one line."""
    print_bytes(escaped(_encoded(value)) + b"\n")


def print_bytes(data: bytes) -> None:
    """Writes bytes to standard output, after everything that was printed as text."""
    sys.stdout.flush()
    # With PYTHONUNBUFFERED, a signal may end a write early: that of a user who stops the program and continues it.
    left = memoryview(data)
    while left:
        left = left[sys.stdout.buffer.write(left) :]
    sys.stdout.buffer.flush()


def to_json(value: Any) -> bytes:
    """Returns a value as indented JSON in UTF-8, with a newline at the end."""
    return escaped(msgspec.json.format(_encoded(value), indent=2)) + b"\n"


def _encoded(value: Any) -> bytes:
    """Returns a value as JSON in UTF-8. In the name of a file that is not UTF-8 each such byte is U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(parse_json(encode_json(value))[0])


# What JSON may have as it is, and a terminal obeys or nobody sees: controls, marks of direction, tags. Without the
# joiners and selectors that emoji and scripts need.
_UNSEEN = re.compile(
    r"[\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def escaped(encoded: bytes) -> bytes:
    """Returns JSON of the same value in which characters that could deceive who sees it are escapes."""
    if encoded.isascii():
        return encoded
    return _UNSEEN.sub(lambda one: json.dumps(one[0])[1:-1], encoded.decode()).encode()


@contextmanager
def working(what: str) -> Generator[Callable[[str], None]]:
    """Shows the text `what` on standard error while the block runs, if standard error is a terminal. Gives the block a
    function that shows another text in its place."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    glyphs = choose_glyphs(sys.stderr.encoding, os.environ)
    # As texts: a name in them may have what Rich takes for markup.
    with console.status(Text(clean(what, glyphs)), spinner="line" if glyphs.ascii else "dots") as status:
        yield lambda text: status.update(Text(clean(text, glyphs)))


def write_output(path: Path, data: bytes) -> None:
    """Writes to a file, or to standard output if the path is `-`. Raises `InputError` if a file can't be written."""
    if path == STDOUT:
        print_bytes(data)
    else:
        write_file(path, data)


def require_writable(path: Path) -> None:
    """Raises `InputError` if a file can't be written, before anything is changed for it."""
    there = path.exists()
    try:
        path.open("ab").close()
    except OSError as error:
        raise _unwritable(path, error) from error
    if not there:
        path.unlink()


def write_file(path: Path, data: bytes) -> None:
    """Writes the data to a file, in place of its contents. A new file may be read by its owner alone, as the store that
    the data is from. Raises `InputError` if that fails."""
    binary = getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | binary, 0o600), "wb") as file:
            file.write(data)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot write {path}: {error.strerror or error}")


def agreed(question: str, *, by_enter: bool = False, details: Callable[[], None] | None = None) -> bool:
    """Asks the user on the terminal. `by_enter` is what the Enter key alone means; `details` shows more if the user
    answers `d`. Raises `InputError` if there is no terminal."""
    if not sys.stdin.isatty():
        raise InputError(f"{question} There is no terminal to ask on; give --yes")
    sys.stdout.flush()
    more = ", d: details" if details else ""
    sys.stderr.write(f"{question} [{'Y/n' if by_enter else 'y/N'}{more}] ")
    sys.stderr.flush()
    line = sys.stdin.readline(_LONGEST_ANSWER)
    if details and line.strip().lower() == "d":
        details()
        return agreed(question, by_enter=by_enter, details=details)
    # At the end of the input there is no line end.
    return by_enter if line and not line.strip() else line.strip().lower() in ("y", "yes")
