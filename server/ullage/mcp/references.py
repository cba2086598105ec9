"""References to messages, as results show them and `open` takes them: `#85`, `#80-90`, `s_0198c2#85`."""

import re

from msgspec import Struct

from ullage.model.errors import InvalidRequest
from ullage.model.message import number_of

# Messages that one stretch may have. More is a transcript, which no model needs in its context.
LONGEST_STRETCH = 50
_FORM = re.compile(
    r"(?P<session>[\w.:-]{1,128})?#(?P<first>[0-9]{1,9})(?:\s*[-–]\s*#?(?P<last>[0-9]{1,9}))?|(?P<bare>[0-9]{1,9})"
)
_SHOWN = 40


class Reference(Struct, frozen=True, kw_only=True):
    """A stretch of messages, `first` to `last`, numbered from 1. `session` is the session's id or the beginning of it,
    "" for the model's own conversation."""

    session: str
    first: int
    last: int


def read_reference(text: str) -> Reference:
    """Returns what a reference means. Raises `InvalidRequest` if the text has another form, or if the stretch is empty
    or longer than 50 messages."""
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise InvalidRequest(
            f"open: {text[:_SHOWN]!r} is no reference. Give one as `ullage_search` shows it: #85, #80-90, or with a "
            "session s_0198c2#85"
        )
    first = int(match["first"] or match["bare"])
    last = int(match["last"] or first)
    if not 1 <= first <= last:
        raise InvalidRequest(f"open: #{first}-{last} is empty: messages are numbered from #1 on, the first comes first")
    if last - first >= LONGEST_STRETCH:
        raise InvalidRequest(
            f"open: a stretch has at most {LONGEST_STRETCH} messages; open #{first}-{first + LONGEST_STRETCH - 1} first"
        )
    return Reference(session=match["session"] or "", first=first, last=last)


def reference_of(index: int, session: str = "") -> str:
    """Returns the reference of the message at `index` of a session, "" for the model's own conversation."""
    return f"{session}#{number_of(index)}"
