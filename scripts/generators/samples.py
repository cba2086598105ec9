"""Makes texts that a regular expression matches, such as a secret that a scanner's rule describes."""

import random
import re
from collections.abc import Callable
from importlib import import_module
from typing import Any

# Python's own parser of regular expressions. It has no public name since 3.11.
_parse: Callable[[str], Any] = import_module("re._parser").parse
# Go's syntax in Python's. A sample is written as the rule has it, so flags of letter case are left out.
_FLAGS = re.compile(r"\(\?-?[ismU]+(?P<scoped>:)?\)?")
_NAMES = {"[[:alnum:]]": "[a-zA-Z0-9]", "[:alnum:]": "a-zA-Z0-9", r"\z": r"\Z", r"[\s\S]": r"\w"}
_CLASSES = {
    "CATEGORY_WORD": "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_",
    "CATEGORY_DIGIT": "0123456789",
    "CATEGORY_SPACE": " ",
}
# What is chosen from for a class of other characters than some.
_ANY = _CLASSES["CATEGORY_WORD"]
# How many more repetitions than the fewest are made of a part without a limit, or with a high one.
_MOST_MORE = 24


def sample(rule: str, chance: random.Random) -> str:
    """Returns a text that the rule (in Go's syntax) matches: what its first group matches if it has a group. Raises
    `ValueError` for a rule of which no sample can be made."""
    for go, python in _NAMES.items():
        rule = rule.replace(go, python)
    scoped = _FLAGS.sub(lambda found: "(?:" if found["scoped"] else "", rule)
    maker = _Maker(chance)
    try:
        whole = maker.sequence(_parse(scoped))
    except (re.error, OverflowError) as error:
        raise ValueError(f"{rule}: {error}") from error
    return maker.first or whole


class _Maker:
    """A descent through a parsed expression. `first` is what its first group has become."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.first = ""

    def sequence(self, parsed: Any) -> str:
        return "".join(self._part(str(op), value) for op, value in parsed)

    def _part(self, op: str, value: Any) -> str:
        match op:
            case "LITERAL":
                return chr(value)
            case "IN" | "ANY" | "NOT_LITERAL":
                return self._chance.choice(self._members(value) if op == "IN" else _ANY)
            case "BRANCH":
                return self.sequence(self._chance.choice(value[1]))
            case "MAX_REPEAT" | "MIN_REPEAT":
                low, high, inner = value
                times = self._chance.randint(low, min(int(high), low + _MOST_MORE))
                return "".join(self.sequence(inner) for _ in range(times))
            case "SUBPATTERN":
                return self._group(value[0], value[3])
            case "AT" | "ASSERT" | "ASSERT_NOT":
                return ""
            case _:
                raise ValueError(f"{op} is not read")

    def _group(self, number: int | None, inner: Any) -> str:
        text = self.sequence(inner)
        if number is not None and not self.first:
            self.first = text
        return text

    def _members(self, parts: Any) -> str:
        found = ""
        for op, value in parts:
            match str(op):
                case "LITERAL":
                    found += chr(value)
                case "RANGE":
                    found += "".join(map(chr, range(value[0], value[1] + 1)))
                case "CATEGORY":
                    found += _CLASSES.get(str(value), _ANY)
                case _:  # a negated class
                    return _ANY
        return found
