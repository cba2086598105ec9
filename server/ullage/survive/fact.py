"""Facts in texts: paths, names, commands, numbers and error lines, and whether a text holds one.

The definitions are made here, apart from those of the summary, so that the measure does not share the judgement of what
it measures.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from ullage.agents.shell import only_looks, without_cd


class Kind(StrEnum):
    """What a fact is."""

    CONSTRAINT = "constraint"
    DECISION = "decision"
    PATH = "path"
    NAME = "name"
    COMMAND = "command"
    NUMBER = "number"
    ERROR = "error"


class Fact(Struct, frozen=True, kw_only=True):
    """A fact of one kind. `text` is what a text must hold to carry it: of a path its last two parts, of a command its
    first words."""

    kind: Kind
    text: str


_PATH = r"(?<![\w/:.~@-])(?:~|\.{1,2})?/?(?:[\w.@+-]+/)+[\w.@+-]*\w"
# Endings of files, so that `session.id` and `e.g` are no files.
_ENDINGS = (
    "bash bib c cc cfg cjs conf cpp cs css csv ex exs gradle go h heex hpp html ini ipynb java js json jsonl jsx kt "
    "less lock lua md mjs mod php proto ps1 py pyi rb rs rst scala scss sh sql sum svelte svg swift tex toml ts tsx "
    "txt vim vue xml yaml yml zig zsh"
)
_FILE = rf"(?<![\w/.*-])[\w-]+\.(?:{_ENDINGS.replace(' ', '|')})(?![\w(/])"
_HASH = r"(?<!\w)(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}(?!\w)"
_NUMBER = r"(?<![\w.,#-])\d+(?:,\d{3})*(?:\.\d+)?(?!\w|[.,]\d)"
_IDENTIFIER = r"(?<![\w/.-])[A-Za-z_]\w{4,80}(?!\w)"
_FACT = re.compile(f"(?P<path>{_PATH})|(?P<file>{_FILE})|(?P<hash>{_HASH})|(?P<number>{_NUMBER})|(?P<id>{_IDENTIFIER})")
# Plain words are in every text; a name differs by an underscore or a capital inside.
_COMPOUND = re.compile(r"[A-Za-z0-9]_[A-Za-z0-9]|[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,5}$")
# A number of fewer digits, or a round one, is in a text by chance too often.
_FEWEST_DIGITS = 3
_ROUND = re.compile(r"\d0+$")
# Words of a command that name what it runs: `npm run build`, `cargo test`. Options and later arguments vary.
_COMMAND_WORDS = 3
_SEPARATORS = re.compile(r"&&|\|\||[;|\n]")
# What a command is given as text, not what it runs.
_GIVEN_TEXT = re.compile(
    r"<<-?\s{0,3}['\"]?(\w{1,40})['\"]?.*?^\s*\1\b|\"(?:[^\"\\]|\\.)*\"|'[^']*'", re.DOTALL | re.MULTILINE
)
_PLAIN_WORD = re.compile(r"[\w./:@=+-]+")
_ASSIGNMENT = re.compile(r"\w+=\S*$")
# Characters. A shorter word with a slash is `and/or` more often than a path.
_SHORTEST_PATH = 6
# Characters. A shorter line of an error says too little to be found again.
_SHORTEST_ERROR = 12


class Haystack:
    """A text, or several, in which facts are looked up. A fact is held only where it is not a part of a longer word."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._text = "\n".join(texts)

    def holds(self, fact: Fact) -> bool:
        """Returns whether the text holds the fact, letter for letter."""
        wanted, text = fact.text, self._text
        start = text.find(wanted)
        while start >= 0:
            stop = start + len(wanted)
            if not _continues(text[start - 1 : start], wanted[0]) and not _continues(text[stop : stop + 1], wanted[-1]):
                return True
            start = text.find(wanted, start + 1)
        return False


def _continues(character: str, neighbour: str) -> bool:
    return (neighbour.isalnum() or neighbour == "_") and (character.isalnum() or character == "_")


def facts_in(text: str) -> Iterator[Fact]:
    """Yields the paths, names and numbers in a text, with repetitions."""
    for match in _FACT.finditer(text):
        word = match[0]
        match match.lastgroup:
            case "path" if _is_path(word):
                yield Fact(kind=Kind.PATH, text=path_end(word))
            case "file":
                yield Fact(kind=Kind.PATH, text=word)
            case "number" if sum(map(str.isdigit, word)) >= _FEWEST_DIGITS and not _ROUND.match(word):
                yield Fact(kind=Kind.NUMBER, text=word)
            case "hash":
                yield Fact(kind=Kind.NAME, text=word)
            case "id" if _COMPOUND.search(word):
                yield Fact(kind=Kind.NAME, text=word)
            case _:
                pass


def path_end(path: str) -> str:
    """Returns the last two parts of a path: what is needed to find the file in a known project, however the path
    begins."""
    return "/".join(path.rstrip("/").split("/")[-2:])


def commands_in(line: str) -> Iterator[Fact]:
    """Yields the commands of a shell line that say something about the project: those that do more than look. A command
    of a single word is left out."""
    for part in _SEPARATORS.split(_GIVEN_TEXT.sub("''", without_cd(line)[0])):
        words = part.split()
        while words and _ASSIGNMENT.match(words[0]):
            words.pop(0)
        named = list(_leading(words))
        if len(named) > 1 and named[0] not in ("git", "cd", "for", "if") and not only_looks(part):
            yield Fact(kind=Kind.COMMAND, text=" ".join(named))


def _leading(words: Sequence[str]) -> Iterator[str]:
    for word in words[:_COMMAND_WORDS]:
        if word.startswith("-") or not _PLAIN_WORD.fullmatch(word):
            return
        yield word


def error_fact(line: str) -> Fact | None:
    """Returns the fact of an error's line, or None if the line is too short to be recognized again."""
    text = " ".join(line.split())[:120].strip()
    return Fact(kind=Kind.ERROR, text=text) if len(text) >= _SHORTEST_ERROR else None


def _is_path(word: str) -> bool:
    inner = word.strip("./~").count("/")
    return (
        len(word) >= 6
        and not word.startswith("/dev/")
        and (word[0] in "/~" or inner > 1 or _EXTENSION.search(word) is not None)
    )
