"""Reading ahead: what a later summary will ask of messages, found before it is asked."""

from collections import deque
from collections.abc import Sequence

from ullage.model.message import Message
from ullage.summary.checks import Check, checked
from ullage.summary.choosing.constraints import constraints_of, instructions_of
from ullage.summary.choosing.findings import judged
from ullage.summary.reading.digest import read_messages
from ullage.summary.reading.message_names import names_in
from ullage.summary.reading.text_reader import Reader


def read_before(messages: Sequence[Message], indices: Sequence[int], reader: Reader, check: Check) -> None:
    """Reads messages, so that `reader` remembers their texts when a summary of them is composed or one of them is
    judged. `indices` are their indices in the transcript. An exception of `check` ends the work."""
    for message in checked(messages, check):
        names_in(reader, message)
    digest = read_messages(messages, indices, reader, check=check)
    for excerpt in digest.excerpts:
        judged(excerpt.text)
    deque(constraints_of(digest), maxlen=0)
    deque(instructions_of(messages, indices, frozenset(), digest.calls), maxlen=0)
