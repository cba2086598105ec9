"""Rewrites archived text that looks like a marker, like a provider's frame or like an order to the model.

What a summary quotes must look like a quote. No visible text is dropped, so that the passage can still be found. Square
and angle brackets that a model would take for its frame become round ones; orders, and headings like the summary's own,
are put in quotation marks.
"""

import re

from ullage.redaction.known_words import ROLES, words_in
from ullage.redaction.orders import quote_orders
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
