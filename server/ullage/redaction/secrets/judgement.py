"""Judges whether a value can be a secret, by its name and its characters, where the patterns alone cannot decide."""

import re
from itertools import pairwise
from math import log2

_PASSWORD = re.compile(r"(?i)pass|pwd|\bpin\b|secret|credential")
# Words in the place of a password or token that are not one: types, states, placeholders, the name repeated.
_WORDS = re.compile(
    r"(?i)(?:(?:my|your|the|some|new|old|user|test|fake|dummy|default|sample|db)[-_ ]?){0,2}"
    r"(?:pass(?:word|wd|phrase|code)?|pwd|pw|secret|token|key|apikey|api[-_]key|credentials?|value|name|string|text|str"
    r"|bytes|none|null|nil|true|false|undefined|optional|required|hidden|invalid|valid|missing|empty|incorrect|wrong"
    r"|expired"
    r"|any|object|number|integer|boolean|bool|char|varchar|bearer|basic|digest|jwt|oauth|csrf"
    r"|session|cookie|hash|bcrypt"
    r"|include|omit|same-origin"
    r"|admin|user|username|env|vault|here|changeme|change[-_]me|redacted|masked|encrypted|placeholder|example|todo)"
    r"(?:[-_ ]?(?:here|value|name|string|goes[-_ ]here|\d{1,2}))?"
)
_PLACEHOLDER = re.compile(
    r"(?i)(?:.*\[redacted.*|<[^>]*>?|\$[A-Za-z_{(].*|%[\w(%].*|\{.*|\*{3,}.*|.*\.{3}|.*…|x{3,}|#\{.*|@\{.*"
    r"|!(?:ref|vault|sub).*"
    r"|your[-_ ].*|.*[-_]here|(?:self|this|os|process|env|config|settings|args|opts|options|params|secrets|ctx"
    r"|cls)\b[.\[].*)"
)
_CODE = re.compile(
    r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+[(\[]?.*"  # a.b, a::b, a->b
    r"|[A-Za-z_$][\w$.:!]*[(\[{<].*"  # calls, subscripts, types
    r"|(?:u?int|float|double|i|u|f|uint|varchar|char|text|utf-?|base|sha-?|md|aes-?|rsa-?|[hrep]s|oauth|http|v"
    r"|p)\d{1,4}(?:_t|be|le)?"
    r"|[./~][\w./@+-]*/[\w./@+-]*\w|\w+://.*|[\w-]+\.(?:py|ts|js|json|ya?ml|toml|md|txt|rs|go|java|cs|sh|env"
    r"|pem|key|crt)"
)
_IDENTIFIER = re.compile(
    r"[A-Za-z_][a-z_]*(?:_?\d{1,2})?|[A-Z][A-Z_]*(?:_?\d{1,2})?|[a-z]+(?:[A-Z][a-z]+)+\d?|[A-Za-z_]+"
)
_SHORTEST_QUOTED, _SHORTEST_BARE, _SHORTEST_KEY = 4, 6, 8


def is_secret(name: str, value: str, *, quoted: bool, bound: bool) -> bool:
    """Returns whether `value`, assigned to something called `name`, is a secret. Placeholders, common words and code
    are not.

    `quoted` means that the value is a string literal. `bound` means that the value follows the name directly, as in an
    environment file or on a command line, where the value can't be code.
    """
    value = value.strip()
    if _PLACEHOLDER.fullmatch(value) or _WORDS.fullmatch(value):
        return False
    if _PASSWORD.search(name):
        return _is_password(name, value, quoted=quoted, bound=bound)
    if len(value) < _SHORTEST_KEY or " " in value or value.isdigit():
        return False
    if not quoted and (_CODE.fullmatch(value) or _IDENTIFIER.fullmatch(value)):
        return False
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value)) and (quoted or bound or is_random(value))


def _is_password(name: str, value: str, *, quoted: bool, bound: bool) -> bool:
    if quoted:
        spaced = " " in value and "phrase" not in name.lower()
        return len(value) >= _SHORTEST_QUOTED and not spaced and not _CODE.fullmatch(value)
    if len(value) < (_SHORTEST_QUOTED if bound else _SHORTEST_BARE) or _CODE.fullmatch(value):
        return False
    return bound or not value.replace("_", "a").isalpha()


def is_random(value: str) -> bool:
    """Returns whether the characters of `value` look random. Fewer than eight letters and digits never do.

    In names, the kind of character (upper case, lower case, digit) changes only between words, about once in four
    characters. In random text it changes twice in three. So the kind must change in at least 38 % of the
    neighbouring pairs, and the entropy must be at least 2.8 bits per character.
    """
    letters = [_kind(char) for char in value if char.isalnum()]
    if len(letters) < _SHORTEST_KEY:
        return False
    changes = sum(one != other for one, other in pairwise(letters))
    return changes / (len(letters) - 1) >= 0.38 and _entropy(value) >= 2.8


def _kind(char: str) -> int:
    return 0 if char.isdigit() else 1 if char.isupper() else 2


def _entropy(value: str) -> float:
    """Returns Shannon's entropy of the characters, in bits per character."""
    counts = [value.count(char) for char in set(value)]
    return -sum(count / len(value) * log2(count / len(value)) for count in counts)
