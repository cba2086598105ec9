"""The most informative part of a long output: its head, its tail, lines that report errors, and lines with wanted
names."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

# Words that a compiler, a test runner, a shell or a failing program writes.
_TROUBLE = re.compile(
    r"\b(?:error|errors|failed|failure|failures|fatal|panic|panicked|exception|traceback|denied|refused|undefined"
    r"|unresolved|segfault|abort(?:ed)?|assert(?:ion)?|cannot|can't|not found|no such)\b|(?<=\w)(?:Error|Exception)\b"
    r"|^\s*(?:E  |FAIL|ERROR|--- FAIL|✗|✖|not ok)",
    re.IGNORECASE,
)
# Names rather than words: with a digit, a separator or a capital inside. They are found in two steps, because a
# lookahead at every position of a long run of letters would take quadratic time.
_RUN = re.compile(r"[A-Za-z_/.][\w./:-]{4,99}")
_LIKE_A_NAME = re.compile(r"[\d_./:-]|[a-z][A-Z]")
# The share of the kept text for informative lines. The head and the tail share the rest, the tail because outcomes come
# last.
_TELLING_SHARE = 0.4
_HEAD_SHARE = 0.4
# One line may take this share of the kept text; otherwise a line of minified text would take all of it.
_LINE_SHARE = 0.25
# Characters of the notice in a gap between lines or within a line.
GAP_CHARS = 40
_CUT_HEAD_SHARE = 0.6


def names(text: str) -> set[str]:
    """Returns the identifiers, paths and numbers in a text (of 5 to 100 characters, with a digit, a separator or a
    capital inside), without punctuation at their ends."""
    return {found.rstrip("./:-") for found in _RUN.findall(text) if _LIKE_A_NAME.search(found)}


def excerpt(text: str, chars: int, wanted: Collection[str] = ()) -> str:
    """Returns the most informative lines of a text, in at most about `chars` characters: its head, its tail, and lines
    that report errors or hold names in `wanted`. A notice in each gap states how many lines are missing. A long line
    loses its middle. A text that is short enough is returned unchanged."""
    if len(text) <= chars:
        return text
    longest = max(GAP_CHARS, int(chars * _LINE_SHARE))
    lines = [cut_middle(line, longest) for line in text.split("\n")]
    stays = _telling(lines, int(chars * _TELLING_SHARE), wanted)
    room = chars - sum(_cost(lines[at]) for at in stays)
    head = _fill(lines, range(len(lines)), int(room * _HEAD_SHARE), stays)
    tail = _fill(lines, range(len(lines) - 1, -1, -1), room - int(room * _HEAD_SHARE), stays | head)
    return "\n".join(_with_gaps(lines, sorted(stays | head | tail)))


def cut_middle(text: str, chars: int) -> str:
    """Returns at most `chars` characters of a text, with a notice in the middle, or only the head if there is no
    room for a notice."""
    if len(text) <= chars:
        return text
    gap = f"\n[… {len(text) - chars:,} characters left out to make room …]\n"
    room = chars - len(gap)
    if room < len(gap):
        return text[: max(0, chars)]
    head = int(room * _CUT_HEAD_SHARE)
    return text[:head] + gap + text[len(text) - (room - head) :]


def _telling(lines: Sequence[str], room: int, wanted: Collection[str]) -> set[int]:
    """Returns the indices of the most informative lines within `room` characters: lines that report errors first,
    then lines with wanted names, rare names before common ones. A repeated line counts once."""
    found = [names(line).intersection(wanted) if wanted else set[str]() for line in lines]
    often = Counter(name for each in found for name in each)
    scores = {
        at: (bool(_TROUBLE.search(line)), sum(1 / often[name] for name in found[at])) for at, line in enumerate(lines)
    }
    taken: set[int] = set()
    said: set[str] = set()
    for at in sorted(scores, key=lambda at: (scores[at], -at), reverse=True):
        if not any(scores[at]) or room < GAP_CHARS:
            break
        if lines[at].strip() in said or _cost(lines[at]) + GAP_CHARS > room:
            continue
        said.add(lines[at].strip())
        taken.add(at)
        room -= _cost(lines[at]) + GAP_CHARS
    return taken


def _fill(lines: Sequence[str], order: Sequence[int], room: int, taken: Collection[int]) -> set[int]:
    """Returns the indices of lines, taken in the given order while they together have at most `room` characters.
    Indices in `taken` are skipped and cost nothing."""
    filled: set[int] = set()
    for at in order:
        if at in taken:
            continue
        room -= _cost(lines[at])
        if room < 0:
            break
        filled.add(at)
    return filled


def _cost(line: str) -> int:
    return len(line) + 1


def _with_gaps(lines: Sequence[str], places: Sequence[int]) -> Iterator[str]:
    before = -1
    for at in (*places, len(lines)):
        if at - before > 1:
            yield f"[… {at - before - 1:,} lines left out …]"
        if at < len(lines):
            yield lines[at]
        before = at
