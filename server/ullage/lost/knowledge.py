"""What was known before a compaction, and what of it the agent's context still has: the base of finding what was
lost."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.lost.carried import Carried
from ullage.lost.loss import Loss
from ullage.model.artifacts import ArtifactLedger
from ullage.model.message import Message
from ullage.redaction.clean import clean
from ullage.summary.choosing.ledger import collect_from
from ullage.summary.choosing.weights import Mention, count_mentions, weigh
from ullage.summary.reading.anchors import find_anchors
from ullage.summary.reading.digest import Digest, read_messages
from ullage.summary.reading.excerpts import shorten
from ullage.summary.reading.text_reader import Reader
from ullage.survive.fact import Kind
from ullage.survive.guiding_sentences import Told, told_in

# Characters. A longer sentence is a list or a pasted line, whose beginning says what it is.
_LONGEST = 400


class Before(Struct, frozen=True, kw_only=True):
    """What was known before a compaction: `count` messages, read. `mentions` and `weights` are those of the anchors.
    Paths under the folder `cwd` are shown without it."""

    count: int
    told: tuple[Told, ...]
    digest: Digest
    mentions: dict[str, Mention]
    weights: dict[str, float]
    ledger: ArtifactLedger
    cwd: str


class Known(Struct, frozen=True, kw_only=True):
    """What was known before the compaction, and the agent's context after it."""

    before: Before
    carried: Carried


def read_before(messages: Sequence[Message], cwd: str = "") -> Before:
    """Reads the messages before a compaction, for `lost_from`. This takes nearly all of the time, and needs no summary
    yet. Paths under the folder `cwd` are written without it."""
    digest = read_messages(messages, range(len(messages)), Reader())
    mentions = count_mentions(digest.contents)
    weights = weigh(mentions)
    return Before(
        count=len(messages),
        told=tuple(told_in(messages)),
        digest=digest,
        mentions=mentions,
        weights=weights,
        ledger=collect_from(digest, mentions, weights),
        cwd=cwd.rstrip("/"),
    )


def make_loss(known: Known, kind: Kind, text: str, index: int, worth: float) -> Loss:
    """Returns the loss of a text. Its weight is `worth` and the weights of the names that it alone has."""
    line = one_line(text)
    names = tuple(name for name in dict.fromkeys(find_anchors(line)) if not known.carried.holds_name(name))
    weights = tuple(known.before.weights.get(name, 0.0) for name in names)
    return Loss(kind=kind, text=line, index=index, names=names, name_weights=weights, weight=worth + sum(weights))


def lighter(loss: Loss, share: float) -> Loss:
    """Returns the loss with this share of its weight."""
    return replace(loss, weight=loss.weight * share, name_weights=tuple(weight * share for weight in loss.name_weights))


def one_line(text: str) -> str:
    """Returns a text cleaned, on one line and without marks of a list."""
    # Names of files and lines of output may imitate an order, too.
    return shorten(" ".join(clean(text).split()).lstrip("-*>| "), _LONGEST)


def recency(known: Known, index: int) -> float:
    """Returns how late a message is, from 0 to 1: a later word corrects an earlier one."""
    return index / max(1, known.before.count - 1)
