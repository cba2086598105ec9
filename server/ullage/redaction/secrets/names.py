"""Redacts values by their names, such as `password` or `API_KEY`.

Names are found in code, data, environments, command lines and prose.
"""

import re
from collections.abc import Iterable, Iterator

from ullage.redaction.known_words import NAMES, words_in
from ullage.redaction.scan import FewWithin, cut, lowered, places_of
from ullage.redaction.secrets.judgement import is_secret

_NAME = re.compile(
    r"(?:pass(?:word|wd|phrase|code)?|pwd|secret|token|credential|key|_auth|_pw|sig(?:nature)?)"
    r"(?:s|_?\d{1,3}|[_-](?:value|base|b64|base64|raw|plain|text|prod|production|dev|test|staging|live|old|new|v\d))?"
    r"(?![A-Za-z])",
    re.IGNORECASE,
)
_KEY_OF = re.compile(
    r"(?:api|access|secret|private|auth|encryption|signing|master|account|subscription|storage|shared|license|deploy"
    r"|consumer|client|webhook|hmac|jwt|role|app|admin|data|cookie|session)[_ .-]?$",
    re.IGNORECASE,
)
_FLAG = re.compile(r"(?<![\w-])--?(?:[A-Za-z0-9]+-){0,3}$")
_BEFORE = re.compile(r"[\w.-]*$")
_QUOTED = r"[bBrRfFuU]?\\{0,3}(?P<quote>[\"'`])(?P<literal>[^\n]{0,400}?)\\{0,3}(?P=quote)"
_BARE = r"(?P<bare>[^\s\"'`,;)}\]&<>|]{4,400})"
# What may come between a name and its value: quotes (escaped too), a subscript's bracket, a type, the assignment sign,
# the sign of a block in YAML. Then comes the value.
_ASSIGNED = re.compile(
    r"\\{0,3}[\"'`]?\]?(?::\s{0,2}&?[\w.\[\]|?]{1,30}(?=\s{0,2}=[^=]))?\s{0,3}(?P<sign>=>|:=|[:=]=?)\s{0,3}"
    rf"(?:[>|][-+]?\s+)?(?:{_QUOTED}|{_BARE})"
)
_CALLED = re.compile(r"\\{0,3}[\"'],\s{0,3}\\{0,3}(?P<quote>[\"'])(?P<literal>[^\"'\n\\]{4,400})\\{0,3}(?P=quote)")
_LISTED = re.compile(
    r"\\{0,3}[\"']?(?:\\n|[,\s]){1,40}\\{0,3}[\"']?value\\{0,3}[\"']?\s?[:=]\s{0,3}\\{0,3}[\"']?"
    r"(?P<literal>[^\s\"',}\\]{4,400})"
)
_ELEMENT = re.compile(r">\s{0,3}(?P<literal>[^<\s]{4,400})\s{0,3}</")
_ARGUMENT = re.compile(
    r"[= ]\s?(?:(?P<quote>[\"'])(?P<literal>[^\"'\n]{4,400})(?P=quote)|(?P<bare>[^\s\"'|;&-][^\s\"'|;&]{3,400}))"
)
_SPOKEN = re.compile(
    r"(?: (?:for|of) [\w@.-]{1,40}(?: [\w@.-]{1,40})?)? (?:is|was|to|are)(?: now)?:?\s{1,6}[\"'`(]?"
    r"(?P<bare>[^\s\"'`,;)]{6,400})"
)
_SET = re.compile(r"\w{0,20}\s{1,4}(?P<bare>[A-Za-z0-9+/=_-]{16,400})(?!\S)")
_AFTER = (_ASSIGNED, _CALLED, _LISTED, _ELEMENT, _SPOKEN, _SET)
_LONGEST_NAME = 40
_LONGEST_OF = len("subscription-")


def redact_named(text: str) -> str:
    """Returns `text` with `[redacted]` for the values of names that mean a password, secret, token, credential or
    key."""
    words = words_in(text) & NAMES
    return cut(text, _values(text, words)) if words else text


def _values(text: str, words: Iterable[str]) -> Iterator[tuple[int, int]]:
    done, few = 0, FewWithin()
    for at in sorted(places_of(lowered(text), words)):
        word = _NAME.match(text, at) if at >= done and few.tries(at) else None
        before = text[max(0, at - _LONGEST_NAME) : at]
        is_flag = "-" in before and _FLAG.search(before) is not None
        if word and (is_flag or _tells(word[0].lower(), before)):
            span, reach = _value_of(text, _name(before, word[0]), word.end(), is_flag)
            few.reaches(reach)
            if span:
                done = span[1]
                yield span


def _tells(word: str, before: str) -> bool:
    """Returns whether a word (lower case) of `_NAME` shows that the name around it means a secret. `before` is the text
    before the word.

    `key` counts only after a word like `api`, `pass` only after an underscore, and `sig` only if no letter or digit
    precedes it. Every other word counts always.
    """
    if word.startswith("key"):
        return _KEY_OF.search(before[-_LONGEST_OF:]) is not None
    if word.startswith("sig"):
        return not before[-1:].isalnum()
    return word != "pass" or before.endswith("_")


def _name(before: str, word: str) -> str:
    start = _BEFORE.search(before)
    return (start[0] if start else "") + word


def _value_of(text: str, name: str, end: int, is_flag: bool) -> tuple[tuple[int, int] | None, int]:
    """Returns the span of a name's secret value, if it has any, and the end of the text in which it was searched."""
    reach = end
    for pattern in (_ARGUMENT, *_AFTER) if is_flag else _AFTER:
        match = pattern.match(text, end)
        if match:
            reach = max(reach, match.end())
            span = _judged(match, name, pattern is _ARGUMENT)
            if span:
                return span, reach
    return None, reach


def _judged(match: re.Match[str], name: str, is_argument: bool) -> tuple[int, int] | None:
    groups = match.groupdict()
    quoted = groups.get("literal") is not None
    start, end = match.span("literal" if quoted else "bare")
    value = match.string[start:end]
    if not quoted and groups.get("sign") != "=":
        end -= len(value) - len(value.rstrip(".!?:"))
    if groups.get("sign") == "==" and not quoted:
        return None
    # True for `DB_PASSWORD=letmein` and `--password letmein`.
    bound = is_argument or (groups.get("sign") == "=" and name.isupper() and match.string[start - 1] == "=")
    return (start, end) if is_secret(name, match.string[start:end], quoted=quoted, bound=bound) else None
