"""Cutting text into bounded pieces. Every text that a summary quotes is cut here, so a long input does not cost
more."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby

# Characters. The middle of a longer result is not read: tools report the essential at the beginning and at the end.
RESULT_LIMIT = 32_000
PROSE_LIMIT = 48_000
LINE_LIMIT = 360
PIECE_LIMIT = 260
_LONGEST_LINE = 2000
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+(?=[A-Z`\"'(\[*0-9-])")
# Chinese and Japanese have no space after a sentence.
_WIDE_ENDS = "。！？"
_ANY_SENTENCE_END = re.compile(rf"{_SENTENCE_END.pattern}|(?<=[{_WIDE_ENDS}])\s*(?=[^\s」』）)”’\"'])")
_MARKUP = re.compile(r"^(?:[-*•>#]+|\d{1,3}[.)])\s+")
# A tool's number before a line of a file, with what parts it from the line, and what a text with such a line has.
LINE_NUMBER = re.compile(r"^\s{0,6}(\d{1,6})(?:→|\t|:(?!\d)\s?|\s*\|\s?)")
_NUMBERED = re.compile(r"\n\s{0,6}\d{1,6}[→\t:|\s]")
_EMPHASIS = re.compile(r"(`[^`]*`)|\*\*(?=\S)((?:[^`*]|`[^`]*`){1,400}+)(?<=\S)\*\*|(?<!/)\*\*(?!/)")
_TERMINAL = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f]")
_SPACES = re.compile(r"[ \t]{2,}")
# Sentences in which an agent names its next call or praises its progress.
CHATTER = re.compile(
    r"(?:(?:now|next|good|great|perfect|okay|ok|excellent|right|first)\b[.,!:]?\s*){0,3}"
    r"(?:let me|let's|i'll|i will|i need to|starting|i should)\b"
    r"|(?:perfect|great|good|excellent)\b[^.:]{0,40}[.:!]?$",
    re.IGNORECASE,
)
_WORD = re.compile(r"[A-Za-z]{2}")
_LETTERS = re.compile(r"[^\W\d_]{2}")
# Sentences and entries of lists that lost the space or the line break between them, as some recorded thinking did:
# `the repo root.But it`, `detectedLet me`, `are:- Write- Edit`.
_OPENERS = (
    "The|This|That|These|Those|There|They|But|So|Let|Now|However|If|We|It|Since|When|Then|First|Looking|Checking|Actually"
    "|Wait|Also|And|Or|Both|Maybe|Perhaps|No|Yes|Not|In|On|For|After|Before|I|I'll|I'm|You|My|Next|Hmm|Ok|OK|Okay"
    "|Based|Because|Using|While|Once"
)
_GLUED = re.compile(rf"[.:?!](?<=[a-z0-9`)\]\"'].)(?=(?:{_OPENERS})[ ,'’])")
# After a hash or a word, which a capital can only follow within a name.
_CAPITAL = re.compile(r"[A-Z](?:(?<=[0-9a-f]{7}.)|(?<=[a-z]{3}.))")
_AFTER_HASH, _AFTER_WORD = (
    re.compile(rf"(?:{_OPENERS})\b"),
    re.compile(r"(?:Let me|Let['’]s|So|But|However,|Actually,|Wait,) "),
)
_GLUED_ENTRY = re.compile(r"(?<=[^\s-])- (?=\S)")
_SENTENCE = re.compile(r".+?(?:(?<=[.!?])(?=\s)[ \t]*\n?|(?<=[。！？])|\n|$)", re.DOTALL)
_MARK = re.compile(r"\s*(?:\d{1,3}[.)]|[-*•])\s*")
# A line that a patch adds or removes, or a row of a table. The mark of a list has one space after it.
_PATCH = re.compile(r"[+-](?: {2,}|\t)|[^\n]*\S(?:\t| \| )")
_SPACE = re.compile(r"\s+")
_LAST_SPACE = re.compile(r"\s+(?=\S*$)")
# Characters. A longer run without a space is no name, so it may be divided.
_LONG_WORD = 120
# A sentence that corrects the agent or forbids something.
FORBIDS = re.compile(
    r"\b(?:never|must(?: not|n['’]t)|do not|don['’]t|stop|avoid|instead of|rather than|wrong|revert|undo|undid|not what"
    r"|forbidden|shouldn['’]t|should not|always|should (?:be|stay|have been)|supposed to|no longer|is actually"
    r"|not \S[^.!?\n]{0,80} but|I (?:said|told|meant|asked|already)|hallucinat\w+"
    r"|niemals|auf keinen fall|dürfen nicht|darfst? nicht|bitte nicht"
    r"|soll(?:te|en|st|test)? (?:\w+ ){0,3}(?:nicht|kein\w*)|nicht (?:mehr|ändern|löschen|verwenden|benutzen)"
    r"|nicht \S[^.!?\n]{0,80} sondern|statt(?:dessen)?|falsch"
    r"|ich (?:sagte|meinte|habe (?:doch )?gesagt)|jamais|nunca)\b"
    r"|不要|不能|不得|请勿|切勿|禁止|绝不|不准|不许|别再|而不是|不是[^。！？\n]{1,40}(?:而)?是|不对|错了|我说(?:过|的)|撤销"
    r"|ないで|てはいけ|ではなく|じゃなくて|違い?ます|やめて"
    r"|(?:^|[,;!]) *(?:no|nope|nein)\b|^\s*(?:wait|actually)\b",
    re.IGNORECASE,
)
GAP = " […] "
# Neighbouring gaps, after a text was shortened again.
_GAPS = re.compile(r"(?:\s{0,9}\[…\]\s{0,9}){2,}")


def head_and_tail(text: str, limit: int) -> str:
    """Returns the text; if it has more than `limit` characters, its first and last `limit / 2`, joined by a newline.
    Each is a few characters shorter if it would begin or end inside a word."""
    if len(text) <= limit:
        return text
    return f"{text[: _end_before(text, limit // 2)]}\n{text[_start_after(text, len(text) - limit // 2) :]}"


def clip(text: str, limit: int) -> str:
    """Returns a text of at most `limit` characters. A longer one loses its middle, which `[…]` replaces. No word is
    divided that has fewer than `_LONG_WORD` characters."""
    if len(text) <= limit:
        return text
    keep = max(limit - len(GAP), 2)
    head = keep * 2 // 3
    before, after = _end_before(text, head), _start_after(text, len(text) - (keep - head))
    return f"{text[:before].rstrip()}{GAP}{text[after:].lstrip()}"


def _end_before(text: str, at: int) -> int:
    """Returns the place at or before `at` where no word is divided, or `at` itself inside a very long word."""
    gap = None if text[at : at + 1].isspace() else _LAST_SPACE.search(text[max(at - _LONG_WORD, 0) : at])
    return at if gap is None else max(at - _LONG_WORD, 0) + gap.start()


def _start_after(text: str, at: int) -> int:
    """Returns the place at or after `at` where no word is divided, or `at` itself inside a very long word."""
    gap = None if text[at - 1 : at].isspace() else _SPACE.search(text, at, at + _LONG_WORD)
    return gap.end() if gap else at


def shorten(text: str, limit: int) -> str:
    """Returns a text of at most `limit` characters that consists of whole sentences and lines, in their order. What
    forbids or corrects something comes first, in up to half of the room, then the beginning. `[…]` marks each gap. If
    not even the first sentence fits, it is clipped."""
    if len(text) <= limit:
        return text
    sentences = _whole_sentences(text)
    chosen, room = set[int](), limit - 2 * len(GAP)
    for number, sentence in _outside_code(sentences):
        size = len(sentence) + len(GAP)
        if FORBIDS.search(sentence) and size <= room - limit // 2:
            chosen.add(number)
            room -= size
    return _chosen(text, limit, chosen, room)


def begin(text: str, limit: int) -> str:
    """Returns the first whole sentences and lines of a text, of at most `limit` characters, with `[…]` after them if
    there are more. If not even the first sentence fits, it is clipped."""
    return text if len(text) <= limit else _chosen(text, limit, set(), limit - 2 * len(GAP))


def _chosen(text: str, limit: int, chosen: set[int], room: int) -> str:
    """Returns the `chosen` sentences of a text, and the first of the others that fit into `room` characters."""
    sentences = _whole_sentences(text)
    for number, sentence in enumerate(sentences):
        if number not in chosen:
            if len(sentence) > room:
                break
            chosen.add(number)
            room -= len(sentence)
    if not chosen:
        return clip(sentences[0].strip() if sentences else text, limit)
    pieces = [sentences[number] if number in chosen else "" for number in range(len(sentences))]
    return _GAPS.sub(GAP, "".join(_with_gaps(pieces))).strip()


@lru_cache(maxsize=16)
def _whole_sentences(text: str) -> tuple[str, ...]:
    """Returns the sentences of a text that have more than spaces, none of them the mark of a list alone."""
    parts, mark = list[str](), ""
    for part in _SENTENCE.findall(text):
        if _MARK.fullmatch(part):
            mark += part
        elif part.strip():
            parts.append(mark + part)
            mark = ""
    return tuple([*parts, mark] if mark else parts)


def _outside_code(sentences: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yields the sentences that are neither code, nor lines of a patch, nor rows of a table, nor comments of a form,
    with their numbers."""
    fenced = commented = False
    for number, sentence in enumerate(sentences):
        fenced ^= sentence.lstrip().startswith("```")
        commented |= "<!--" in sentence
        if not (fenced or commented or _PATCH.match(sentence)):
            yield number, sentence
        commented &= "-->" not in sentence


def _with_gaps(pieces: list[str]) -> Iterator[str]:
    """Yields the pieces that are not empty, and one gap in place of neighbouring empty ones."""
    for is_left, run in groupby(pieces, key=bool):
        yield "".join(run) if is_left else GAP


def cut_at_space(text: str, limit: int) -> str:
    """Returns a text of at most `limit` characters. A longer one ends at a space and with `…`, so that no name is cut,
    unless its first name is longer than the limit."""
    if len(text) <= limit:
        return text
    at = text.rfind(" ", 0, limit - 1)
    return f"{text[: at if at > 0 else limit - 2].rstrip()} …"


def prose(text: str) -> list[str]:
    """Returns a text as pieces of one or a few sentences, each from a single line. Marks of Markdown lists and headings
    are removed, and lines without a word are left out. What was run together is parted."""
    pieces: list[str] = []
    for raw in _parted(head_and_tail(text, PROSE_LIMIT)).splitlines():
        line = single_spaced(_without_emphasis(_MARKUP.sub("", raw.strip())))
        if _LETTERS.search(line):
            pieces.extend(_pack(sentences(line[: _end_before(line, 4000)]), PIECE_LIMIT, " "))
    return pieces


def _without_emphasis(line: str) -> str:
    """Returns a line without the marks of strong emphasis. In code and in paths `**` is no such mark."""
    if "**" not in line:
        return line
    return _EMPHASIS.sub(r"\1\2", line) if "`" in line or "/" in line else line.replace("**", "")


def sentences(text: str) -> list[str]:
    """Returns the sentences of a text of one line. None ends inside code between backticks, as in
    `f: (x: string) => void`."""
    wide = not text.isascii() and any(sign in text for sign in _WIDE_ENDS)
    end = _ANY_SENTENCE_END if wide else _SENTENCE_END
    if "`" not in text:
        return end.split(text)
    parts: list[str] = []
    start = counted = ticks = 0
    for gap in end.finditer(text):
        ticks += text.count("`", counted, gap.start())
        counted = gap.start()
        if ticks % 2 == 0 or text.find("`", counted) < 0:
            parts.append(text[start:counted])
            start = gap.end()
    return [*parts, text[start:]]


def _parted(text: str) -> str:
    """Returns a text with spaces between sentences and line breaks between entries of lists that were run together."""
    text = _CAPITAL.sub(_parted_word, _GLUED.sub(r"\g<0> ", text))
    if ":- " in text:
        text = "\n".join(_GLUED_ENTRY.sub("\n- ", line) if ":- " in line else line for line in text.split("\n"))
    number, at = 2, text.find("1. ")
    while at >= 0 and (at := text.find(f"{number}. ", at + 3)) > 0:
        # Only in order, and only where no space parts them: `in `a.py`2. Then`.
        if not text[at - 1].isspace():
            text = f"{text[:at]}\n{text[at:]}"
        number += 1
    return text


def _parted_word(capital: re.Match[str]) -> str:
    text, at = capital.string, capital.start()
    opens = _AFTER_WORD if text[at - 3 : at].isalpha() else _AFTER_HASH
    return f" {capital[0]}" if opens.match(text, at) else capital[0]


def lines(text: str, limit: int = RESULT_LIMIT) -> list[str]:
    """Returns the lines of code or output without terminal codes, line numbers and indentation. Lines without a word
    are left out, and long lines lose their middle. Of a text of more than `limit` characters only the beginning and the
    end are read."""
    found, _ = numbered_lines(head_and_tail(text, limit))
    return [single_spaced(line.strip()) for line in found if _WORD.search(line)]


def numbered_lines(text: str) -> tuple[list[str], list[int]]:
    """Returns the lines of code or output, and for each the number that the tool wrote before it, 0 if none. They keep
    their indentation, but have no terminal codes; long lines lose their middle."""
    raws = text.splitlines()
    # Most texts are printable except for their tabs, and have short lines without numbers. To see that of a whole text
    # costs less than to look at each line for everything.
    is_plain = text.replace("\n", "").replace("\t", "").isprintable()
    has_numbers = _NUMBERED.search("\n".join(["", *raws]))
    if is_plain and not has_numbers and max(map(len, raws), default=0) <= LINE_LIMIT:
        return [raw.rstrip() for raw in raws], [0] * len(raws)
    found, numbers = list[str](), list[int]()
    for raw in raws:
        line = raw if len(raw) <= _LONGEST_LINE else clip(raw, _LONGEST_LINE)
        if not is_plain and not line.isprintable():
            line = _TERMINAL.sub("", line)
        number = LINE_NUMBER.match(line)
        line = line[number.end() :].rstrip() if number else line.rstrip()
        found.append(line if len(line) <= LINE_LIMIT else clip(line, LINE_LIMIT))
        numbers.append(int(number[1]) if number else 0)
    return found, numbers


def single_spaced(line: str) -> str:
    """Returns a line with one space for each run of spaces and tabs."""
    if "\t" in line:
        return _SPACES.sub(" ", line)
    while "  " in line:
        line = line.replace("  ", " ")
    return line


def _pack(parts: list[str], limit: int, joint: str) -> list[str]:
    """Returns neighbouring parts joined by `joint` while they have fewer than `limit` characters. A sentence that names
    the agent's next call or praises its progress is a piece of its own, so that it can be left out."""
    packed: list[str] = []
    alone = True
    for part in parts:
        announces = CHATTER.match(part) is not None
        if packed and not alone and not announces and len(packed[-1]) + len(part) < limit:
            packed[-1] += joint + part
        else:
            packed.append(clip(part, LINE_LIMIT))
        alone = announces
    return packed
