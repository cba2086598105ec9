"""What a strategy decides on: the groups of messages that may go, and how many tokens are too many."""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.counted import CountedView
from ullage.model.blocks import ToolResultBlock, ToolUseBlock
from ullage.model.message import Message, Role
from ullage.model.strategies import Speaker
from ullage.transcript.cut_points import groups
from ullage.transcript.keep import kept, leading


class Keep(Struct, frozen=True, kw_only=True):
    """What stays whatever the strategy: pinned messages and the first user message, by id. Messages that notices point
    to (`relied`) go only in the order of age, so that each notice goes before what it stands for."""

    pinned: frozenset[str] = frozenset()
    first_user_id: str | None = None
    relied: frozenset[str] = frozenset()


class Candidate(Struct, frozen=True, kw_only=True):
    """A group of messages that may go: their places in the view, ascending, and their tokens. `relied`: a notice points
    to one of them."""

    places: tuple[int, ...]
    tokens: int
    speaker: Speaker
    relied: bool = False


class Situation(Struct, frozen=True, kw_only=True):
    """A view to be truncated. `excess` is the tokens over the limit, 0 or less when it fits; `candidates` are what may
    go, oldest first; `summaries`, compaction markers, only when nothing else is left."""

    messages: Sequence[Message]
    excess: int
    candidates: tuple[Candidate, ...]
    summaries: tuple[Candidate, ...] = ()

    @property
    def free(self) -> tuple[Candidate, ...]:
        """The candidates that may go in any order."""
        return tuple(candidate for candidate in self.candidates if not candidate.relied)

    def after(self, gone: Collection[Candidate]) -> "Situation":
        """What is left to decide once some have gone."""
        places = {candidate.places for candidate in gone}
        return replace(
            self,
            excess=self.excess - sum(candidate.tokens for candidate in gone),
            candidates=tuple(candidate for candidate in self.candidates if candidate.places not in places),
        )


def assess(view: CountedView, excess: int, keep: Keep) -> Situation:
    """The situation of a view. The last group stays, since a request must end with what is to be answered."""
    messages = view.messages
    stays = {*leading(messages, keep.first_user_id), *kept(messages, keep.pinned)}
    found = [
        Candidate(
            places=places,
            tokens=sum(view.tokens[i] for i in places),
            speaker=_speaker(messages, places),
            relied=any(messages[i].id in keep.relied for i in places),
        )
        for group in groups(messages)[:-1]
        if (places := tuple(i for i in group if messages[i].id not in stays))
    ]
    summaries = tuple(each for each in found if any(messages[i].compaction for i in each.places))
    return Situation(
        messages=messages,
        excess=excess,
        candidates=tuple(each for each in found if each not in summaries),
        summaries=summaries,
    )


def until_fits(order: Iterable[Candidate], excess: int) -> tuple[Candidate, ...]:
    """As many of the candidates, from the first on, as must go for nothing to be in excess."""
    gone: list[Candidate] = []
    for candidate in order:
        if excess <= 0:
            break
        gone.append(candidate)
        excess -= candidate.tokens
    return tuple(gone)


def _speaker(messages: Sequence[Message], places: Sequence[int]) -> Speaker:
    blocks = (block for i in places for block in messages[i].content)
    if any(isinstance(block, ToolUseBlock | ToolResultBlock) for block in blocks):
        return Speaker.TOOL
    return Speaker.ASSISTANT if messages[places[0]].role is Role.ASSISTANT else Speaker.USER
