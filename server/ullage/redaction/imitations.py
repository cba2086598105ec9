"""Rewrites archived text that looks like a marker, like a provider's frame or like an order to the model.

What a summary quotes must look like a quote. No visible text is dropped, so that the passage can still be found. Square
and angle brackets that a model would take for its frame become round ones; orders, and headings like the summary's own,
are put in quotation marks. Orders begin with the most common words. So an order is looked for at words that are rare,
and in the text before them.
"""

import re
from functools import cache, lru_cache

from msgspec import Struct

from ullage.redaction.known_words import FORGETTING, ORDERS, ROLES, words_in
from ullage.redaction.scan import lowered, places_of

# Characters that end a line for some readers, though not in Markdown. After such a line end, text would be outside its
# quote.
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_ENDS = ("\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
# Invisible characters. They hide orders from users, and secrets and imitations from the patterns below.
_UNSEEN = re.compile(
    r"[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# Texts in English and code have a smaller share of characters other than ASCII's.
_FEW = 0.02
# Joiners next to ASCII characters. Only some scripts and emoji need joiners.
_JOINERS = re.compile(r"(?<=[\x00-~])[\u200c\u200d]+|(?<![\u200c\u200d])[\u200c\u200d]++(?=[\x00-~])")
_MARKED = (
    r"(?=\s*+(?:compaction\b|\d+\s++(?:(?:earlier|older|previous|prior|archived)\s*+)?messages\b"
    r"|(?:context|conversation|session)[_ -](?:compaction|compacted|summary|archived?)|end of (?:summary|compaction)"
    r"|/?(?:inst|sys|system|system_prompt|available_tools|tool_calls|tool_results)\s*[\]］】:]))"
    r"(?P<inside>[^\]］】\n]{0,400})(?P<close>[\]］】])?"
)
_MARKER = re.compile(rf"[\[［【]{_MARKED}", re.IGNORECASE)
# The brackets other than ASCII's are rare. The search for one character is faster.
_SQUARE_MARKER, _OTHER_BRACKETS = re.compile(rf"\[{_MARKED}", re.IGNORECASE), ("［", "【")
_TAG = re.compile(
    r"<(?P<inside>/?(?:(?:system|context|compaction|conversation|transcript|history|summary|analysis|instruction"
    r"|assistant|user|human|tool|function|thinking|memory|developer|prompt|result|reminder|important|command)[\w-]*"
    r"|antml:[\w-]{1,40}|s|bos|eos|start_of_turn|end_of_turn)(?:\s[^<>\n]{0,200})?/?)>",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"<(?P<inside>[|｜][^<>\n]{1,60}[|｜])>|<<(?P<double>/?SYS)>>", re.IGNORECASE)
_SAID = rf"(?P<role>(?:{'|'.join(sorted(ROLES))})\s?:)(?=\s|[*_]|$)"
_ROLE = re.compile(rf"(?m)^(?P<lead>[ \t>*_#-]{{0,12}}){_SAID}", re.IGNORECASE)
# Where a role is found. This is faster than to look for its line first.
_ROLE_HINT = re.compile(rf"(?<![^\n \t>*_#-]){_SAID}", re.IGNORECASE)
_TITLES = (
    "(?:task|constraints|user requests|decisions and findings|errors and fixes|state of work|details"
    "|standing instructions|open|plan|last modified files|next step|where to look|files|commands|identifiers)"
)
_TITLED = rf"{_TITLES}[ \t]*+(?:#{{1,6}}[ \t]*+)?"
_HEADING = re.compile(rf"(?m)^(?P<lead>[ \t>*-]{{0,12}})(?P<heading>#{{1,6}}[ \t]*{_TITLED})$", re.IGNORECASE)
# The last sign before a heading's title. It begins with literal text, for which the search is many times faster than
# at every line.
_HEADING_HINT = re.compile(rf"(?m)#(?<![^\n \t>*#-]#)[ \t]*{_TITLED}$", re.IGNORECASE)


def neutralise(text: str) -> str:
    """Returns `text` with everything rewritten that a model would take for a marker, for a provider's frame or for an
    order: brackets become round, and orders and headings get quotation marks. Invisible characters are removed.
    Applying it to the result changes nothing."""
    if _holds(text, _ENDS):
        text = _LINE_ENDS.sub("\n", text)
    if not text.isascii():
        text = _UNSEEN.sub("", text) if _has_unseen(text) else text
        text = _JOINERS.sub("", text) if _holds(text, ("\u200c", "\u200d")) else text
    if ("[" in text and _SQUARE_MARKER.search(text)) or _holds(text, _OTHER_BRACKETS):
        text = _MARKER.sub(_round_marker, text)
    if "<" in text:
        text = _TOKEN.sub(lambda match: f"({match['inside'] or match['double']})", text)
        text = _TAG.sub(r"(\g<inside>)", text)
    if "#" in text and _HEADING_HINT.search(text):
        text = _HEADING.sub(r"\g<lead>“\g<heading>”", text)
    roles = words_in(text) & ROLES
    if any(_ROLE_HINT.match(text, at) for at in places_of(lowered(text), roles)):
        text = _ROLE.sub(r"\g<lead>(\g<role>)", text)
    return quote_orders(text)


def _has_unseen(text: str) -> bool:
    """Returns False if no invisible character is in `text`. Looks at the characters that are not ASCII if they are few,
    which is faster than the pattern."""
    low = lowered(text)
    return low.count("?") > len(text) * _FEW or any(_UNSEEN.match(text, at) for at in places_of(low, "?"))


def _holds(text: str, words: tuple[str, ...]) -> bool:
    # A generator is slower on short texts, and most texts are short.
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False


def _round_marker(match: re.Match[str]) -> str:
    return f"({match['inside']}{')' if match['close'] else ''}"


class _Order(Struct, frozen=True, kw_only=True):
    """A kind of order: rare words, one of them in each such order and none in most texts, the pattern of the order from
    the rare word on (`core` and `tail`) and up to it (`lead`), and the words that the order begins with. `before` are
    the last words of `lead`, if it always ends with such a word, at most `between` other words, and space."""

    rare: frozenset[str]
    starts: tuple[str, ...]
    core: str
    lead: str = ""
    tail: str = ""
    before: tuple[str, ...] = ()
    between: int = 0

    def can_be_in(self, text: str, words: frozenset[str]) -> bool:
        """Returns whether the order can be in a text that has the rare words `words`."""
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
