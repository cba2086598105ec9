"""Quotes orders that archived text gives to a model, such as to ignore earlier orders.

Orders begin with the most common words. So an order is looked for at words that are rare, and the text before them.
"""

import re
from functools import cache, lru_cache

from msgspec import Struct

from ullage.redaction.known_words import FORGETTING, ORDERS, words_in
from ullage.redaction.scan import lowered, places_of


class _Order(Struct, frozen=True, kw_only=True):
    """A kind of order: words of which each order has one and most texts have none, the pattern of the order from there
    (`core` and `tail`) and up to there (`lead`), and the words that the order begins with. `before` are the last words
    of `lead`, if it always ends with such a word, at most `between` other words, and space."""

    rare: frozenset[str]
    starts: tuple[str, ...]
    core: str
    lead: str = ""
    tail: str = ""
    before: tuple[str, ...] = ()
    between: int = 0

    def can_be_in(self, text: str, words: frozenset[str]) -> bool:
        """Returns whether the order can be in a text, of which the rare words are given."""
        places = places_of(lowered(text), words & self.rare)
        return any(_pattern(self.core).match(text, at) and self._can_precede(text, at) for at in places)

    def _can_precede(self, text: str, at: int) -> bool:
        low, end = lowered(text), at
        for _ in range(self.between + 1 if self.before else 0):
            while end and text[end - 1].isspace():
                end -= 1
            if end < at and low.endswith(self.before, 0, end):
                return True
            while end and (text[end - 1].isalnum() or text[end - 1] == "_"):
                end -= 1
        return not self.before


_ORDERS = (
    _Order(
        rare=FORGETTING,
        starts=tuple(FORGETTING),
        core=r"(?:ignore|disregard|forget|override|bypass)(?:\s+(?:all|any|the|your|my|these|those|of|every|everything))*"
        r"\s+(?:previous|prior|above|earlier|preceding|foregoing|system|other|existing|original|before)"
        r"(?:\s+(?:instructions?|prompts?|messages?|rules?|directions?|context|commands?|orders?|text|guidelines?))?\b",
    ),
    _Order(
        rare=frozenset(("summar", "compact", "compress")),
        core=r"(?:summari[sz](?:e|ing)|compact(?:ing)?|compress(?:ing)?)\b",
        starts=("when", "while", "if", "before", "after"),
        lead=r"(?:when|while|if|before|after)\s+(?:you\s+|the model\s+|asked to\s+)?(?:are\s+)?",
        before=("when", "while", "if", "before", "after", "you", "model", "to", "are"),
        tail=r"[^\n.]{0,160}",
    ),
    _Order(
        rare=frozenset(("summar", "compact")),
        core=r"(?:summari[sz]|compact)",
        starts=("note", "message", "instruction", "attention", "hint", "order"),
        lead=r"(?:note|message|instruction|attention|hint|order)s?\s+(?:to|for)\s+(?:the\s+|whoever\s+)?",
        before=("to", "for", "the", "whoever"),
        tail=r"\w*[^\n.]{0,160}",
    ),
    _Order(
        rare=frozenset(("summar",)),
        core=r"summar(?:y|ies)\b",
        starts=("include", "insert", "add", "write", "put", "repeat", "copy", "mention", "state", "append", "output"),
        lead=r"(?:include|insert|add|write|put|repeat|copy|mention|state|append|output)\b[^\n.]{0,80}\b(?:in|into|to)"
        r"\s+(?:the|your|any|every)\s+(?:\w+\s+){0,2}",
        before=("the", "your", "any", "every"),
        between=2,
        tail=r"[^\n.]{0,80}",
    ),
    _Order(
        rare=frozenset(("summar",)),
        core=r"summary\s+(?:must|should|shall|has to|needs to|will)\b",
        starts=("the", "your", "any", "this"),
        lead=r"(?:the|your|any|this)\s+",
        before=("the", "your", "any", "this"),
        tail=r"[^\n.]{0,160}",
    ),
    _Order(
        rare=frozenset(("summar",)),
        core=r"summari[sz]e\b",
        starts=("do not", "don", "never"),
        lead=r"(?:do not|don['’]t|never)\s+",
        # `lowered` has a question mark for the other apostrophe.
        before=("do not", "don't", "don?t", "never"),
        tail=r"[^\n.]{0,120}",
    ),
    _Order(
        rare=frozenset(("you are now",)),
        core=r"you\s+are\s+now\s+(?:an?\s|in\s|the\s|no longer)",
        starts=("you",),
        tail=r"[^\n.]{0,120}",
    ),
    _Order(
        rare=frozenset(("instruction", "system prompt")),
        core=r"(?:instructions?|system prompt)\s?:",
        starts=("new", "updated", "revised", "real", "actual"),
        lead=r"(?:new|updated|revised|real|actual)\s+(?:system\s+)?",
        before=("new", "updated", "revised", "real", "actual", "system"),
        tail=r"[^\n.]{0,160}",
    ),
)


def quote_orders(text: str) -> str:
    """Returns `text` with quotation marks around each order, and `(quoted)` after it."""
    words = words_in(text)
    orders = () if words.isdisjoint(ORDERS) else tuple(order for order in _ORDERS if order.can_be_in(text, words))
    if not orders:
        return text
    pattern = _any_of(orders)
    pieces: list[str] = []
    done = 0
    # The words that an order begins with are common ones.
    for at in sorted({at for order in orders for at in places_of(lowered(text), order.starts)}):
        found = pattern.match(text, at) if at >= done else None
        if found:
            pieces += [text[done:at], f"“{found[0]}” (quoted)"]
            done = found.end()
    return "".join([*pieces, text[done:]])


@cache
def _pattern(order: str) -> re.Pattern[str]:
    return re.compile(order, re.IGNORECASE)


@lru_cache(maxsize=1 << len(_ORDERS))
def _any_of(orders: tuple[_Order, ...]) -> re.Pattern[str]:
    patterns = "|".join(f"{order.lead}{order.core}{order.tail}" for order in orders)
    return _pattern(rf"(?<!“)\b(?:{patterns})")
