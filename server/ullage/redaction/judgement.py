"""Judges whether a value can be a secret, by its name and its characters, where the patterns alone cannot decide."""

import re
from collections import Counter
from math import log2
from operator import ne
from string import ascii_lowercase, ascii_uppercase, digits

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
_SHORTEST_QUOTED, _SHORTEST_BARE, _SHORTEST_KEY, _SHORTEST_DRAWN = 4, 6, 8, 16
# What a token consists of, and where its parts end.
_TOKEN = re.compile(r"[\w.~+/=:-]+")
_SEPARATORS = re.compile(r"[^A-Za-z0-9]+")
# The kind of each character: digit, upper case, or any other.
_KINDS = str.maketrans(
    {**dict.fromkeys(digits, "0"), **dict.fromkeys(ascii_uppercase, "A"), **dict.fromkeys(ascii_lowercase, "a")}
)
_DIGITS = re.compile("0+")


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
    if not quoted and (_is_code(value, bound=bound) or _IDENTIFIER.fullmatch(value)):
        return False
    is_mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return is_mixed and (quoted or bound or is_random(value) or is_drawn(value))


def _is_password(name: str, value: str, *, quoted: bool, bound: bool) -> bool:
    if quoted:
        spaced = " " in value and "phrase" not in name.lower()
        return len(value) >= _SHORTEST_QUOTED and not spaced and not _CODE.fullmatch(value)
    if len(value) < (_SHORTEST_QUOTED if bound else _SHORTEST_BARE) or _is_code(value, bound=bound):
        return False
    return bound or not value.replace("_", "a").isalpha()


def _is_code(value: str, *, bound: bool) -> bool:
    """Returns whether an unquoted value reads as code. A dotted token such as Discord's reads so, too, but has a drawn
    part."""
    if not _CODE.fullmatch(value):
        return False
    drawn = is_drawn(value) if bound else any(map(is_drawn, _SEPARATORS.split(value)))
    return not drawn or not _TOKEN.fullmatch(value)


def is_drawn(value: str) -> bool:
    """Returns whether the characters of a value can be drawn at random from any alphabet: lower case and digits, or
    hexadecimal digits. Names with a number have few changes between letters and digits, such tokens have many. So this
    says less than `is_random` and holds only for values whose name or place means a secret."""
    chars = "".join(filter(str.isalnum, value))
    if len(chars) < _SHORTEST_DRAWN:
        return False
    kinds = chars.translate(_KINDS)
    changes = sum(map(ne, kinds, kinds[1:]))
    return changes >= 0.2 * (len(chars) - 1) and _DIGITS.subn("", kinds)[1] >= 2 and _entropy(value) >= 2.8


def is_random(value: str) -> bool:
    """Returns whether the characters of `value` look random. Fewer than eight letters and digits never do.

    In names, the kind of character (upper case, lower case, digit) changes only between words, about once in four
    characters. In random text it changes twice in three. So the kind must change in at least 38 % of the
    neighbouring pairs, and the entropy must be at least 2.8 bits per character.
    """
    kinds = "".join(filter(str.isalnum, value)).translate(_KINDS)
    if len(kinds) < _SHORTEST_KEY:
        return False
    changes = sum(map(ne, kinds, kinds[1:]))
    return changes / (len(kinds) - 1) >= 0.38 and _entropy(value) >= 2.8


def _entropy(value: str) -> float:
    """Returns Shannon's entropy of the characters, in bits per character."""
    size = len(value)
    return -sum(count / size * log2(count / size) for count in Counter(value).values())
