"""Examples: names before a cut of a recorded session, and whether the agent writes them again after the cut.

There is a cut at every tenth of a session's characters. An example is an anchor (`ullage.summary.reading.anchors`) that
is in the messages before the cut, but not in the `TAIL` before it, which a context keeps anyway. Its features are those
of the weights (`ullage.summary.choosing.weights`). The outcome is whether the agent writes the anchor after the cut, in
its text or in a tool call, before a tool result or a user message shows the anchor. Thinking counts as neither.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from benches.quality_sessions import read_recorded
from ullage.model.errors import UllageError
from ullage.model.message import Message
from ullage.summary.choosing.weights import Mention, count_mentions, features_of
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.contents import Excerpt, Seen, Source, names_of
from ullage.summary.reading.digest import Digest, read_messages
from ullage.summary.reading.text_reader import Reader

CUTS = tuple(tenth / 10 for tenth in range(1, 10))
# In thousands of tokens: the smallest budget of the quality bench.
TAIL = 4
# All sessions have the same weight, so those with fewer examples would be mostly noise.
FEWEST_EXAMPLES = 50
# Features are rounded to this, so that equal examples are counted together and a fit takes seconds.
_GRAIN = 0.1
Features = tuple[float, ...]


class Session(Struct, frozen=True, kw_only=True):
    """A recorded session: its file and its hash, the agent's format, and its examples. `seen` counts the examples with
    the same features, `written` those of them with a positive outcome."""

    path: Path
    sha256: str
    agent: str
    seen: Mapping[Features, int]
    written: Mapping[Features, int]


def read_sessions(files: Iterable[Path]) -> Iterator[Session]:
    """Yields the sessions that are long enough. Files that no reader reads are left out."""
    for path in files:
        try:
            recorded = read_recorded([path])[0]
        except UllageError:
            continue
        seen, written = _count(recorded.messages)
        if sum(seen.values()) >= FEWEST_EXAMPLES:
            sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
            yield Session(path=path, sha256=sha256, agent=recorded.format, seen=seen, written=written)


def _count(messages: Sequence[Message]) -> tuple[Counter[Features], Counter[Features]]:
    seen: Counter[Features] = Counter()
    written: Counter[Features] = Counter()
    for features, outcome in examples_of(messages):
        seen[features] += 1
        written[features] += outcome
    return seen, written


def examples_of(messages: Sequence[Message]) -> Iterator[tuple[Features, bool]]:
    """Yields features and outcome of each anchor at each cut."""
    digest = read_messages(messages, range(len(messages)), Reader())
    for place in _places(messages):
        before = [one for one in digest.contents if one.index < place]
        carried = _carried(digest, place)
        for name, mention in count_mentions(before).items():
            if mention.since >= TAIL:
                yield _rounded(mention), name in carried


def _places(messages: Sequence[Message]) -> list[int]:
    sizes = [len(str(message.content)) for message in messages]
    places: set[int] = set()
    for share in CUTS:
        size, place = 0.0, 0
        while size < share * sum(sizes):
            size += sizes[place]
            place += 1
        places.add(place)
    return sorted(places)


def _rounded(mention: Mention) -> Features:
    return tuple(round(value / _GRAIN) * _GRAIN for value in features_of(mention))


def _carried(digest: Digest, place: int) -> set[str]:
    """Returns the anchors that the agent writes after the cut before they are shown."""
    carried: set[str] = set()
    shown: set[str] = set()
    for is_written, names in _told(digest, place):
        if is_written:
            carried |= names - shown
        else:
            shown |= names
    return carried


def _told(digest: Digest, place: int) -> Iterator[tuple[bool, set[str]]]:
    """Yields names in the order of the messages after the cut, each set with whether the agent writes it."""
    requests = [(request.index, False, set(find_anchors(request.text))) for request in digest.requests]
    others = [(one.index, _writes(one), set(names_of([one]))) for one in digest.contents if _tells(one)]
    for index, is_written, names in sorted([*requests, *others], key=lambda told: told[0]):
        if index >= place:
            yield is_written, names


def _writes(one: Excerpt | Seen) -> bool:
    return one.source in (Source.AGENT, Source.CALL)


def _tells(one: Excerpt | Seen) -> bool:
    return bool(one.counts.names) and one.source is not Source.THINKING
