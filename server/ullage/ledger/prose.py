"""What a text says of its own shape, by its marks and not by its words: paragraphs, headings, introductions, questions;
and how less of it is shown: on one line, without what is in the middle, with a mark for what was left out."""

import re
from collections.abc import Collection, Sequence

from ullage.ledger.words import has_words, parts_of
from ullage.redaction.clean import clean
from ullage.redaction.remembering import len_of, remembering

# What stands for what was left out.
GAP = "[…]"
FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_FENCED = re.compile(rf"^{FENCE.pattern}.*?(?:^{FENCE.pattern}[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"#{1,6} \S|\*\*[^*]+\*\*$")
_PARAGRAPHS = re.compile(r"\n[ \t]*\n")
# How a question ends in the scripts that have a mark for it.
_QUESTION = ("?", "？", "؟", ";", "՞")
_CLOSING = "*_`\"'”’)】」 \n"
# Words of a paragraph that says something: fewer are "Done." and a heading.
_FEWEST = 5
# Characters at each end of a text that are read, and at the beginning of one of which a line is shown.
_MOST_CLEANED, _MOST_OF_LINE = 120_000, 4_000
# Characters of the user's words that are shown whole. Of longer ones so many are shown.
WHOLE = 1_200
# Characters of the beginning and of the end, which are quoted without a gap, and of a line between them.
_EDGE, _BETWEEN = 400, 260
# Lines of a program's output that say what failed.
FAILS = re.compile(
    r"\b(?:FAIL(?:ED|URE)?|[Ff]ailed|[Ee]rror|ERROR|[A-Z]\w*(?:Error|Exception)|panic(?:ked)?|Traceback)\b|[✗✖×]"
)
# Where a text may be cut: between lines, or else sentences, or else words.
_BREAKS = (re.compile(r"\n+"), re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])"), re.compile(r"\s+"))
_NUMBER = re.compile(r"\d+")
# Words without which a line from the middle of a text says nothing, such as the label of an item of a list.
_LEAST_WORDS = 3
# Words of a line that somebody has written, and the largest share of signs in it.
_LEAST_WRITTEN, _SIGNS = 4, 0.05
_SIGN = re.compile(r"[\d_/\\{}\[\]<>=|*#@$%^&+~`;:\"()-]")


def is_heading(line: str) -> bool:
    """Returns whether a line is a heading of Markdown, or all bold."""
    return _HEADING.match(line) is not None


def ends_with_colon(line: str) -> bool:
    """Returns whether a line introduces what comes after it."""
    return line.rstrip(" *_").endswith((":", "："))


def asks(text: str) -> bool:
    """Returns whether a text ends with a question."""
    return text.rstrip(_CLOSING).endswith(_QUESTION)


def paragraphs(text: str) -> list[str]:
    """Returns the paragraphs of a text without its code in fences. One that ends with a colon or a heading introduces
    the next and stays with it; what it introduced in a fence is left out with it."""
    found: list[str] = []
    for part in _PARAGRAPHS.split(_FENCED.sub("\n\n\0\n\n", text)):
        piece = part.strip()
        introduced = bool(found) and _introduces(found[-1])
        if piece == "\0":
            if introduced:
                found.pop()
        elif piece and introduced:
            found[-1] = f"{found[-1]}\n{piece}"
        else:
            found.append(piece)
    return [piece for piece in found if not _introduces(piece) and has_words(piece, _FEWEST)]


def _introduces(paragraph: str) -> bool:
    last = paragraph.rsplit("\n", 1)[-1]
    return ends_with_colon(last) or is_heading(last)


def with_gaps(parts: Sequence[str], kept: Collection[str]) -> list[str]:
    """Returns the parts of a text that are kept, with a mark for each run that is left out, so that what did not follow
    one another does not seem to."""
    return one_gap([part if part in kept else GAP for part in parts])


def one_gap(lines: Sequence[str]) -> list[str]:
    """Returns the lines with one mark for what was left out where several follow one another."""
    return [line for line, before in zip(lines, ["", *lines], strict=False) if not line == before == GAP]


def shortened(text: str, longest: int) -> str:
    """Returns the beginning of a text that has at most so many characters."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def on_one_line(text: str, longest: int) -> str:
    """Returns the beginning of a text as a line without secrets. It is cleaned before it is cut, because half a secret
    can't be recognized as one."""
    return shortened(" ".join(clean(text[:_MOST_OF_LINE]).split()), longest)


@remembering(2_000_000, len_of)
def cleaned(text: str) -> str:
    """Returns a text without secrets and imitations; of a very long one, the beginning and the end."""
    if len(text) > 2 * _MOST_CLEANED:
        # Between two words, where no secret is cut.
        first, last = text[:_MOST_CLEANED], text[-_MOST_CLEANED:]
        text = f"{' '.join(first.rsplit(maxsplit=1)[:1])}\n{GAP}\n{' '.join(last.split(maxsplit=1)[1:])}"
    return clean(text)


def shown(text: str, longest: int = WHOLE) -> str:
    """Returns the user's words as a page shows them: whole up to so many characters, or of longer ones the beginning,
    what is asked last, and lines between them: first those that somebody wrote, the short ones first, since a rule is
    short; then what failed, and other lines. Lines that differ from one before only in numbers come after all others.
    What is left out is marked by `[…]`."""
    if len(text) <= longest:
        return text
    first, between, last = ends_of(text, min(_EDGE, longest // 3))
    code = {line for block in _FENCED.findall(text) for line in block.splitlines()}
    lines = [part for line in between.splitlines() if line.strip() for part in _bounded(line)]
    firsts: dict[str, int] = {}
    for at, line in enumerate([*first.splitlines(), *lines], -len(first.splitlines())):
        firsts.setdefault(_NUMBER.sub("0", line), at)

    def rank(at: int) -> tuple[bool, bool, int, bool, int]:
        line = lines[at]
        is_prose = line not in code and is_written(line)
        is_repeated = firsts[_NUMBER.sub("0", line)] != at
        return is_repeated, not is_prose, len(line).bit_length() if is_prose else 0, not FAILS.search(line), at

    says = [at for at, line in enumerate(lines) if has_words(line, _LEAST_WORDS) or FAILS.search(line)]
    # Each line may have a gap after it.
    room, taken = longest - len(first) - len(last) - len(GAP) - 2, set[int]()
    for at in sorted(says, key=rank):
        if (cost := len(lines[at]) + len(GAP) + 2) <= room:
            room -= cost
            taken.add(at)
    return "\n".join([first, *one_gap([line if at in taken else GAP for at, line in enumerate(lines)]), last])


def is_written(line: str) -> bool:
    """Returns whether a line looks like what somebody has written: it is of words, with few of the signs and digits of
    code and of programs' output, and says more than a label."""
    return len(_SIGN.findall(line)) <= max(1, _SIGNS * len(line)) and has_words(line, _LEAST_WRITTEN)


def ends_of(text: str, edge: int = _EDGE) -> tuple[str, str, str]:
    """Returns the beginning of a long text, what comes between, and its end. Beginning and end have at most `edge`
    characters, and are of whole lines or sentences if one ends there, or else of whole words."""
    first, last, half = text[:edge], text[-edge:], edge // 2
    ends = ([place.start() for place in pattern.finditer(first) if place.start() >= half] for pattern in _BREAKS)
    begins = ([place.end() for place in pattern.finditer(last) if place.end() <= half] for pattern in _BREAKS)
    end = next((found[-1] for found in ends if found), len(first))
    begin = next((found[0] for found in begins if found), 0)
    return first[:end], text[end : len(text) - len(last) + begin], last[begin:]


def _bounded(line: str) -> list[str]:
    """Returns a line as its sentences if it is long, each cut to the length of a line."""
    if len(line) <= _BETWEEN:
        return [line.rstrip()]
    return [shortened(part, _BETWEEN) for part in parts_of(line)] or [shortened(line, _BETWEEN)]
