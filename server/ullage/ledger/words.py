"""The words of a text of any script, without a language, and its sentences.

The one list of words here only makes a question stricter: what lacks the `never` of a sentence does not say it.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from ullage.model.expressions import expression
from ullage.redaction.remembering import len_of, remembering

# Characters of scripts that put no space between words: Thai, Lao, Myanmar, Khmer, kana, Han.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTER = rf"(?:(?![{_UNSPACED}])[^\W_])"
_TOKEN = expression(rf"[{_UNSPACED}]+|{_LETTER}+(?:['’]{_LETTER}+)*")
_IS_UNSPACED = expression(rf"[{_UNSPACED}]")
# Letters of a word that a passage may lack. A longer one may be what a sentence is about.
_OMITTED = 2
# A word that is a name by its shape: with a digit, an inner capital, or joined by a sign of paths and identifiers.
_NAME = expression(r"[\w./\\@#:~-]*(?:[a-z][A-Z]|\d|\w[_/\\-]\w|\w\.\w|`)[\w./\\@#:~`-]*")
# Words that negate, of the languages with the most users.
_NEGATING_WORDS = (
    "no not never none nothing without dont doesnt isnt arent cant cannot wont shouldnt mustnt didnt nor neither avoid "
    "nicht nie niemals kein keine keinen keiner keines ohne ne pas jamais aucun aucune sans ni nunca ningun sin não "
    "nem sem jamais non mai nessun senza niet nooit geen zonder ikke aldri ingen inte aldrig inga nie bez żaden nigdy "
    "не нет никогда ни без ні"
    "hiç asla değil yok без لا لم ليس بدون לא אין בלי नहीं मत कभी tidak jangan bukan không đừng "
    "안 않 못 마 말고 하지 없이"
)
# What negates in scripts without spaces: a character anywhere in a pair, or the whole pair.
_NEGATING_CHARACTERS, _NEGATING_PAIRS = (
    frozenset("不没沒无無别別勿禁未非否"),
    frozenset(("ない", "なく", "せん", "すに", "ไม")),
)
_NOT_ASCII = expression(r"[^\x00-\x7f]+")
_MARKS = expression(r"[`*]|(?<!\w)_|_(?!\w)")
# Not after `./...`, which is a path.
_PARTS = expression(r"(?<=[^\s./][.!?…])\s+|(?<=[。！？])|[\r\n]+")


class Words(Struct, frozen=True, kw_only=True):
    """A text as words that are compared: `all` in order, and those that a passage must have to say it: all but words of
    one or two letters that are no numbers, no parts of names, no negations and not after a number, as a unit is."""

    all: tuple[str, ...]
    needed: frozenset[str]


@remembering(500_000, len_of)
def words_of(text: str) -> Words:
    """Returns the words of a text. Runs of a script without spaces become pairs of neighbouring characters."""
    words = tuple(words_in(folded(text)))
    names = {word for name in _NAME.findall(unicodedata.normalize("NFKC", text)) for word in words_in(folded(name))}
    units = {word for before, word in pairwise(words) if before.isdigit()}
    decides = names | units
    needed = (word for word in words if len(word) > _OMITTED or word in decides or negates(word) or is_pair(word))
    return Words(all=words, needed=frozenset(needed))


def is_pair(word: str) -> bool:
    """Returns whether a word is a piece of a script that puts no space between words."""
    return _IS_UNSPACED.match(word) is not None


def negates(word: str) -> bool:
    """Returns whether a word, folded, negates."""
    if is_pair(word):
        return word in _NEGATING_PAIRS or not _NEGATING_CHARACTERS.isdisjoint(word)
    return word.replace("'", "") in _negating_words()


@lru_cache(maxsize=1)
def _negating_words() -> frozenset[str]:
    return frozenset(map(folded, _NEGATING_WORDS.split()))


def has_words(text: str, number: int) -> bool:
    """Returns whether a text has at least so many words; of a script without spaces, so many characters."""
    found = 0
    for run in _TOKEN.finditer(text):
        found += len(run[0]) if _IS_UNSPACED.match(run[0]) else 1
        if found >= number:
            return True
    return False


def parts_of(text: str) -> list[str]:
    """Returns the sentences and lines of a text that have a word, without marks around them."""
    return [part for piece in _PARTS.split(text) if (part := piece.strip()) and _TOKEN.search(part)]


def folded(text: str) -> str:
    """Returns a text without capitals, accents, vowel signs and kinds of letters, which writers leave out."""
    if text.isascii():
        return text.lower()
    apart = unicodedata.normalize("NFKD", text.replace("’", "'")).casefold()
    return _NOT_ASCII.sub(_without_marks, apart)


def unmarked(text: str) -> str:
    """Returns a text folded, without marks of emphasis and code, its words one space apart."""
    return " ".join(folded(_MARKS.sub("", text)).split())


def _without_marks(run: re.Match[str]) -> str:
    return "".join(character for character in run[0] if unicodedata.category(character)[0] != "M")


def words_in(text: str) -> Iterator[str]:
    """Yields the words of a folded text, in order."""
    for run in _TOKEN.findall(text):
        if _IS_UNSPACED.match(run) and len(run) > 1:
            yield from map("".join, pairwise(run))
        else:
            yield run
