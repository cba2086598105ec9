"""Anchors: the names in a text that cannot be guessed again once they are lost.

They are paths, URLs, qualified and compound identifiers, command-line flags, hashes and ticket ids. Plain words are not
anchors. Texts should be bounded (see `excerpts`). Every pattern takes time linear in its input.
"""

import re
from itertools import chain

# The character that ends a part cannot occur within the part, so the quantifiers are possessive and never backtrack.
_CANDIDATE = re.compile(
    r"https?://[^\s\"'<>`)\]}]{4,200}"
    r"|--[a-z][a-z0-9-]{2,40}"
    r"|(?<![\w@.-])[~\w@.-]{0,80}+(?:/[\w@.+-]{1,80}+){1,16}+"
    r"|[A-Za-z_]\w{0,80}+(?:(?:\.|::)[A-Za-z_]\w{0,80}+){1,8}+"
    r"|[A-Za-z0-9_]{3,80}+(?:-[A-Za-z0-9_]{1,40}+){0,6}+"
)
_INNER_CAPITAL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_HASH = re.compile(r"(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,64}")
_EXTENSION = re.compile(r"\.[A-Za-z]\w{0,5}$")
_TICKET = re.compile(r"[A-Za-z]{2,}-[A-Za-z]*\d\w*")
# Punctuation at the end of a name that belongs to the sentence.
_CLINGING = ".,:;-/"
_SHORTEST, _LONGEST = 4, 80
# Words remembered. A session of 160,000 tokens has 15,000 different ones.
_MOST_WORDS = 32_768
# What every anchor has at least one of: a sign within it, a digit, a capital in its middle.
_TELLING = re.compile(r"[/_.0-9]|--|::|[a-z][A-Z]|[A-Z]{2}[a-z]")
# Signs around a word that cannot belong to an anchor. A dash begins a flag, and a slash, a dot or a tilde a path.
_SIGNS = "\"'`()[]{}<>,;:=*!?|&#$%^\\"


def find_anchors(text: str) -> tuple[str, ...]:
    """Returns the anchors of a text, each once, in the order in which they first occur."""
    # No anchor contains a space.
    return tuple(dict.fromkeys(chain.from_iterable(map(_anchors_in, text.split()))))


class _Words(dict[str, tuple[str, ...]]):
    """The anchors of words, which are texts without spaces. Remembered, because texts repeat their words: looking up a
    key costs less than calling a function that remembers."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        if len(self) >= _MOST_WORDS:
            self.clear()
        self[word] = found = _read_word(word)
        return found


_WORDS = _Words()
_anchors_in = _WORDS.__getitem__


def _read_word(word: str) -> tuple[str, ...]:
    # Most words are plain, with at most some signs around them, and most others are one identifier.
    bare = word.strip(_SIGNS)
    if len(bare) < _SHORTEST or (bare.isalpha() and (bare.islower() or bare.istitle() or bare.isupper())):
        return ()
    if bare.isidentifier() and bare.isascii() and len(bare) <= _LONGEST:
        return (bare,) if is_anchor(bare) else ()
    if _TELLING.search(word) is None:
        return ()
    candidates = [candidate.rstrip(_CLINGING) for candidate in _CANDIDATE.findall(word)]
    return tuple([name for name in candidates if is_anchor(name)])


def forget_words() -> None:
    """Forgets the anchors of all words, as in a process that has just started."""
    _WORDS.clear()


def is_anchor(name: str) -> bool:
    """Returns whether a candidate is an anchor: a path, a URL, a flag, a compound or qualified identifier, a hash or a
    ticket id."""
    if len(name) < _SHORTEST or name.isdigit():
        return False
    if "/" in name:
        return _is_path(name)
    if name.startswith("--") or "::" in name:
        return True
    if "." in name:
        return len(name) > 5 and not name[0].isdigit()
    if ("_" in name and "_" in name.strip("_")) or _INNER_CAPITAL.search(name) is not None:
        return True
    # Letters alone are neither a hash nor a ticket's id.
    return not name.isalpha() and (_HASH.fullmatch(name) is not None or _TICKET.fullmatch(name) is not None)


def is_path(name: str) -> bool:
    """Returns whether an anchor names a file or folder, and not an identifier in code."""
    return "://" not in name and ("/" in name or ("." in name and _EXTENSION.search(name) is not None))


def _is_path(name: str) -> bool:
    # "and/or" and "1/2" are words. A root, a dot or a second slash makes a path.
    return name[0] in "/~." or name.count("/") > 1 or _EXTENSION.search(name) is not None or "_" in name
