"""What `ullage lost --json` and `ullage brief --json` print."""

from msgspec import Struct

from ullage.cli.reported_figures import Report
from ullage.ledger.ledger_entry import Kind, Life


class LostRow(Struct, frozen=True, kw_only=True):
    """A thing that an agent's compaction left out. `number` is that of its message. `state` is its newest state, such
    as `open`, `failed` or `created`. `detail` is what is needed to understand it: the question that a reply answers,
    how a check ended; may be empty."""

    kind: Kind
    state: Life
    text: str
    detail: str
    number: int


class LostReport(Report, frozen=True, kw_only=True):
    """What `ullage lost --json` prints: what the last compaction left out, by kind and then in
    the order of the conversation. `messages` is
    the number of messages before it, `kept` of those among them that the agent kept, and `at` its time, null if
    unknown. `counts` has how many were left out of each kind, whether listed or not."""

    name: str
    at: int | None
    messages: int
    kept: int
    counts: dict[str, int]
    lost: tuple[LostRow, ...]


class BriefReport(Report, frozen=True, kw_only=True):
    """What `ullage brief --json` prints. `text` is the brief, empty if nothing was left out, and `characters` its
    length in UTF-16 units. `given` has how many things of each kind are in it, `left` how many had no room."""

    name: str
    text: str
    characters: int
    given: dict[str, int]
    left: dict[str, int]
