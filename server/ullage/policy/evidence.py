"""What a log shows of its agent's window and compactions, and how fast the context grows, folded event by event; and
what follows from that for a context after a compaction (`ending`).

Endings were tried on 25 recorded compactions of Claude Code, each predicted from those of the other conversations
(docs/guide/figure.md). Files that are attached again, listings and notes are in few logs, and differ less between
conversations than the counts of the files that may come back.
"""

from collections.abc import Sequence
from statistics import fmean, median

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.events import (
    CompactionCause,
    CompactionEdit,
    ContextEdited,
    ContextEstimated,
    Event,
    ModelChanged,
    UsageReported,
    WindowReported,
    compaction_block,
)
from ullage.model.usage import RateLimit
from ullage.tokens.tracker import Ending

# Calls of the model. Growth is heavy-tailed, so a forecast needs more than a few of them; what the user asked for an
# hour ago says little about now.
RECENT_CALLS = 20
# Recorded compactions. Later versions and other settings compact elsewhere, so old ones are forgotten.
RECENT_COMPACTIONS = 20
# As `Evidence.model_since`: the model has not answered yet.
_NOT_YET = -1


class Compacted(Struct, frozen=True, kw_only=True):
    """One compaction that the agent of a conversation made: the tokens of the context before it, the agent's version
    and model, and its cause.

    `beyond` is the largest context, in tokens, with which the agent made another call since the compaction before: the
    threshold is higher. `at` is Unix milliseconds, 0 if unknown. `id` is that of its edit, the same in every import
    of the same file. `rest` are the tokens that the first prompt after it held besides the messages in the log, and
    `hidden` are those of them that each prompt holds; 0 as long as no such prompt is known. `attached` are the tokens
    of the files that the agent attaches again, None if that is not known. `is_copied` says that the last report before
    it was copied from another conversation: either the compaction is a copy, too, or the agent made it at once, because
    it had resumed a context that another conversation had filled.
    """

    tokens: int
    version: str = ""
    model: str = ""
    cause: CompactionCause = CompactionCause.UNKNOWN
    id: str = ""
    beyond: int = 0
    at: int = 0
    rest: int = 0
    hidden: int = 0
    attached: int | None = None
    is_copied: bool = False

    @property
    def event(self) -> tuple[str | int, ...]:
        """What tells it from others: time, size and model, which copied logs keep; without a time, its id."""
        return (self.at, self.tokens, self.model) if self.at else (self.id,)

    @property
    def tells(self) -> bool:
        """Whether the compaction shows at which size the agent compacts by itself."""
        return self.cause is CompactionCause.THRESHOLD

    @property
    def fills(self) -> bool:
        """Whether the compaction shows how large the window is."""
        return self.tells or self.cause is CompactionCause.OVERFLOW


class Evidence(Struct, frozen=True, kw_only=True):
    """What a log has shown so far of its agent's window and compactions. Sizes are tokens.

    `said` is the window that the agent reports for the present model, and `compacts_at` the threshold that it reports;
    None if it reports none. `largest` has the largest reported prompt of each model since the last compaction. `last`
    is the context's size after the last usage report, which belongs to the message `answer`; 0 if an edit or another
    model followed. `model_since` is when the present model answered first, in Unix milliseconds: 0 if no other did
    before, or if that is not known. `beyond` is the largest context with which the agent made another call since the
    last compaction, with this model and `version`. `compactions` are the agent's own, and `growths` the tokens that
    recent calls of the model added, both oldest first. `is_copied` says that the last report was copied from another
    conversation. `rate_limits` are those that the agent reported last.
    """

    said: int | None = None
    compacts_at: int | None = None
    largest: dict[str, int] = {}
    compactions: tuple[Compacted, ...] = ()
    last: int = 0
    answer: str = ""
    model_since: int = 0
    beyond: int = 0
    version: str = ""
    growths: tuple[int, ...] = ()
    is_copied: bool = False
    rate_limits: tuple[RateLimit, ...] = ()

    def after(self, event: Event, model: str, version: str) -> "Evidence":
        """Returns the evidence after one more event, with the answering `model` and the agent's `version`."""
        match event:
            case UsageReported(usage=usage, message_id=answer, is_copied=is_copied) if usage.prompt:
                reported = self._report(usage.prompt, usage.total, answer, model, version)
                since = event.timestamp if self.model_since == _NOT_YET else self.model_since
                return replace(reported, is_copied=is_copied, model_since=since)
            case ContextEdited(edit=CompactionEdit(by_agent=True) as edit):
                return self._compacted(edit, model, version)
            case ContextEdited() | ContextEstimated():
                return replace(self, last=0)
            case ModelChanged():
                since = _NOT_YET if self.answer else 0
                return replace(self, said=None, compacts_at=None, last=0, beyond=0, model_since=since)
            case WindowReported(size=size, compacts_at=compacts_at, rate_limits=limits):
                said, at = size or self.said, compacts_at or self.compacts_at
                return replace(self, said=said, compacts_at=at, rate_limits=limits or self.rate_limits)
            case _:
                return self

    def ended(self, rest: int, hidden: int) -> "Evidence":
        """Returns the evidence after the first report since a compaction: `rest` and `hidden` as in `Compacted`."""
        if not self.compactions:
            return self
        last = replace(self.compactions[-1], rest=rest, hidden=min(hidden, rest))
        return replace(self, compactions=(*self.compactions[:-1], last))

    def attaching(self, tokens: int) -> "Evidence":
        """Returns the evidence with the tokens of the files that the agent attaches after the last compaction."""
        if not self.compactions:
            return self
        return replace(self, compactions=(*self.compactions[:-1], replace(self.compactions[-1], attached=tokens)))

    def joined(self, others: tuple[Compacted, ...]) -> "Evidence":
        """Returns the evidence with compactions of other conversations placed before its own, each compaction once: an
        own one that came of a copied context is left out if that of the other conversation is known."""
        own = {one.event for one in self.compactions}
        before = tuple(one for one in others if one.event not in own)
        resumed = (one for one in self.compactions if one.is_copied)
        twice = {one.event for one in resumed if any(_fills_alike(one, other) for other in before)}
        after = (one for one in self.compactions if one.event not in twice)
        return replace(self, compactions=(*before, *after))

    def _report(self, prompt: int, total: int, answer: str, model: str, version: str) -> "Evidence":
        grown = total - self.last
        counts = self.last and grown > 0 and answer != self.answer
        beyond = self.beyond if version == self.version else 0
        return replace(
            self,
            largest=self.largest | {model: prompt} if prompt > self.largest.get(model, 0) else self.largest,
            last=total,
            answer=answer,
            beyond=max(beyond, self.last) if counts and version == self.version else beyond,
            version=version,
            growths=(*self.growths, grown)[-RECENT_CALLS:] if counts else self.growths,
        )

    def _compacted(self, edit: CompactionEdit, model: str, version: str) -> "Evidence":
        tokens = compaction_block(edit).context_size_before
        if not tokens:
            return replace(self, largest={}, last=0, beyond=0)
        seen = Compacted(
            tokens=tokens,
            version=version,
            model=model,
            cause=edit.cause,
            id=edit.id,
            beyond=self.beyond if version == self.version else 0,
            at=edit.timestamp,
            is_copied=self.is_copied,
        )
        return replace(self, largest={}, last=0, beyond=0, compactions=(*self.compactions, seen)[-RECENT_COMPACTIONS:])


# The largest difference, as a share, of two compactions of one context: the prompt that the later one came with.
_ALIKE = 0.01


def _fills_alike(one: Compacted, other: Compacted) -> bool:
    return one.model == other.model and abs(one.tokens - other.tokens) <= _ALIKE * other.tokens


# Compactions. The median of fewer may be that of an exception.
_LEAST = 3


def ending(seen: Sequence[Compacted], version: str, model: str, *, knows_files: bool = False) -> Ending | None:
    """Returns what contexts held after these compactions of one agent. Three or more must be known: compactions of the
    same version and model, else of the same model, else any. Returns None if there are fewer. With `knows_files`, what
    is attached again is known and is not part of it; then only compactions for which it is known count."""
    # Where all that a prompt holds counts as hidden, the hidden part itself was not known before.
    known = [one for one in seen if one.rest > one.hidden and not (knows_files and one.attached is None)]
    same = [one for one in known if one.model == model]
    groups = ([one for one in same if one.version == version], same, known)
    chosen = next((group for group in groups if len(group) >= _LEAST), None)
    if chosen is None:
        return None
    added = [one.rest - one.hidden - (one.attached or 0 if knows_files else 0) for one in chosen]
    middle = median(added)
    return Ending(
        hidden=round(median(one.hidden for one in chosen)),
        added=round(middle),
        deviation=round(fmean(abs(each - middle) for each in added)),
    )
