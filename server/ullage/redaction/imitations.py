"""Rewrites archived text that looks like a marker, like a provider's frame or like an order to the model.

What a summary quotes must look like a quote. No visible text is dropped, so that the passage can still be found. Square
and angle brackets that a model would take for its frame become round ones; orders, and headings like the summary's own,
are put in quotation marks.
"""

import re
from functools import lru_cache

from ullage.redaction.scan import lowered, places_of

# Characters that end a line for some readers, though not in Markdown. After such a line end, text would be outside its
# quote.
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_ENDS = ("\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029")
# Invisible characters. They hide orders from users, and secrets and imitations from the patterns below.
_UNSEEN = re.compile(
    r"[\u00ad\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# Joiners next to ASCII characters. Only some scripts and emoji need joiners.
_JOINERS = re.compile(r"(?<=[\x00-~])[\u200c\u200d]+|(?<![\u200c\u200d])[\u200c\u200d]++(?=[\x00-~])")
_MARKER = re.compile(
    r"[\[［【](?=\s*+(?:compaction\b|\d+\s++(?:(?:earlier|older|previous|prior|archived)\s*+)?messages\b"
    r"|(?:context|conversation|session)[_ -](?:compaction|compacted|summary|archived?)|end of (?:summary|compaction)"
    r"|/?(?:inst|sys|system|system_prompt|available_tools|tool_calls|tool_results)\s*[\]］】:]))"
    r"(?P<inside>[^\]］】\n]{0,400})(?P<close>[\]］】])?",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"<(?P<inside>/?(?:(?:system|context|compaction|conversation|transcript|history|summary|analysis|instruction"
    r"|assistant|user|human|tool|function|thinking|memory|developer|prompt|result|reminder|important|command)[\w-]*"
    r"|antml:[\w-]{1,40}|s|bos|eos|start_of_turn|end_of_turn)(?:\s[^<>\n]{0,200})?/?)>",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"<(?P<inside>[|｜][^<>\n]{1,60}[|｜])>|<<(?P<double>/?SYS)>>", re.IGNORECASE)
_ROLES = ("human", "assistant", "user", "system", "developer")
_ROLE = re.compile(
    rf"(?m)^(?P<lead>[ \t>*_#-]{{0,12}})(?P<role>(?:{'|'.join(_ROLES)})\s?:)(?=\s|[*_]|$)", re.IGNORECASE
)
# A role where it is found, in lower case.
_COLON = re.compile(rf"(?:{'|'.join(_ROLES)})\s?:")
_TITLES = (
    "(?:task|constraints|user requests|decisions and findings|errors and fixes|state of work|details"
    "|standing instructions|open|plan|last modified files|next step|where to look|files|commands|identifiers)"
)
_HEADING = re.compile(
    rf"(?m)^(?P<lead>[ \t>*-]{{0,12}})(?P<heading>#{{1,6}}[ \t]*{_TITLES}[ \t]*+(?:#{{1,6}}[ \t]*+)?)$", re.IGNORECASE
)
# What every heading has. It begins with literal text, for which the search is many times faster than at every line.
_HEADING_HINT = re.compile(rf"#[ \t]*{_TITLES}", re.IGNORECASE)
_FORGETTING = ("ignore", "disregard", "forget", "override", "bypass")
_EARLIER = ("previous", "prior", "above", "earlier", "preceding", "foregoing", "system", "other", "existing")
# Orders: the words that they begin with, and groups of words. A text without a word of every group can't match. In the
# others, the slow pattern is only tried where an order can begin.
_ORDERS = (
    (
        _FORGETTING,
        ((*_EARLIER, "original", "before"),),
        r"(?:ignore|disregard|forget|override|bypass)(?:\s+(?:all|any|the|your|my|these|those|of|every|everything))*"
        r"\s+(?:previous|prior|above|earlier|preceding|foregoing|system|other|existing|original|before)"
        r"(?:\s+(?:instructions?|prompts?|messages?|rules?|directions?|context|commands?|orders?|text|guidelines?))?\b",
    ),
    (
        ("when", "while", "if", "before", "after"),
        (("summari", "compact", "compress"),),
        r"(?:when|while|if|before|after)\s+(?:you\s+|the model\s+|asked to\s+)?(?:are\s+)?"
        r"(?:summari[sz](?:e|ing)|compact(?:ing)?|compress(?:ing)?)\b[^\n.]{0,160}",
    ),
    (
        ("note", "message", "instruction", "attention", "hint", "order"),
        (("summari", "compact"),),
        r"(?:note|message|instruction|attention|hint|order)s?\s+(?:to|for)\s+(?:the\s+|whoever\s+)?"
        r"(?:summari[sz]\w*|compact\w*)[^\n.]{0,160}",
    ),
    (
        ("include", "insert", "add", "write", "put", "repeat", "copy", "mention", "state", "append", "output"),
        (("summary", "summaries"),),
        r"(?:include|insert|add|write|put|repeat|copy|mention|state|append|output)\b[^\n.]{0,80}\b(?:in|into|to)"
        r"\s+(?:the|your|any|every)\s+(?:\w+\s+){0,2}summar(?:y|ies)\b[^\n.]{0,80}",
    ),
    (
        ("the", "your", "any", "this"),
        (("summary",), ("must", "should", "shall", "has to", "needs to", "will")),
        r"(?:the|your|any|this)\s+summary\s+(?:must|should|shall|has to|needs to|will)\b[^\n.]{0,160}",
    ),
    (("do not", "don", "never"), (("summari",),), r"(?:do not|don['’]t|never)\s+summari[sz]e\b[^\n.]{0,120}"),
    (("you",), (("are",), ("now",)), r"you\s+are\s+now\s+(?:an?\s|in\s|the\s|no longer)[^\n.]{0,120}"),
    (
        ("new", "updated", "revised", "real", "actual"),
        (("instruction", "system prompt"), (":",)),
        r"(?:new|updated|revised|real|actual)\s+(?:system\s+)?(?:instructions?|system prompt)\s?:[^\n.]{0,160}",
    ),
)
_ORDER_HINTS = (*_FORGETTING, "summar", "compact", "compress", "you are now", "instruction", "system prompt")


def neutralise(text: str) -> str:
    """Returns `text` with everything rewritten that a model would take for a marker, for a provider's frame or for an
    order: brackets become round, and orders and headings get quotation marks. Invisible characters are removed.
    Applying it to the result changes nothing."""
    if _holds(text, _ENDS):
        text = _LINE_ENDS.sub("\n", text)
    if not text.isascii():
        text = _UNSEEN.sub("", text)
        text = _JOINERS.sub("", text) if _holds(text, ("\u200c", "\u200d")) else text
    if _holds(text, ("[", "［", "【")):
        text = _MARKER.sub(_round_marker, text)
    if "<" in text:
        text = _TOKEN.sub(lambda match: f"({match['inside'] or match['double']})", text)
        text = _TAG.sub(r"(\g<inside>)", text)
    if "#" in text and _HEADING_HINT.search(text):
        text = _HEADING.sub(r"\g<lead>“\g<heading>”", text)
    low = lowered(text)
    if ":" in text and any(_COLON.match(low, at) for at in places_of(low, _ROLES)):
        text = _ROLE.sub(r"\g<lead>(\g<role>)", text)
    if _holds(low, _ORDER_HINTS):
        text = _quote_orders(text)
    return text


def _quote_orders(text: str) -> str:
    low = lowered(text)
    # The words that an order begins with are the most common ones.
    orders = [order for order in _ORDERS if all(_holds(low, words) for words in order[1]) and _holds(low, order[0])]
    if not orders:
        return text
    pattern = _any_of(tuple(order for _, _, order in orders))
    pieces: list[str] = []
    done = 0
    for at in sorted({at for starts, _, _ in orders for at in places_of(low, starts)}):
        found = pattern.match(text, at) if at >= done else None
        if found:
            pieces += [text[done:at], f"“{found[0]}” (quoted)"]
            done = found.end()
    return "".join([*pieces, text[done:]])


@lru_cache(maxsize=1 << len(_ORDERS))
def _any_of(orders: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"(?<!“)\b(?:{'|'.join(orders)})", re.IGNORECASE)


def _holds(text: str, words: tuple[str, ...]) -> bool:
    # A generator is slower on short texts, and most texts are short.
    for word in words:  # noqa: SIM110
        if word in text:
            return True
    return False


def _round_marker(match: re.Match[str]) -> str:
    return f"({match['inside']}{')' if match['close'] else ''}"
