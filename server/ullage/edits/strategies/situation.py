"""The input of a strategy's decision: the groups of messages that may go, and the number of tokens over the limit."""

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
    """The messages that stay whatever the strategy: pinned messages and the first user message, by id. Messages in
    `relied` are pointed to by notices; they go only in order of age, so that each notice goes before the message it
    points to."""

    pinned: frozenset[str] = frozenset()
    first_user_id: str | None = None
    relied: frozenset[str] = frozenset()


class Candidate(Struct, frozen=True, kw_only=True):
    """A group of messages that may go: their indices in the view, ascending, and their tokens. `relied` is set if a
    notice points to one of them."""

    places: tuple[int, ...]
    tokens: int
    speaker: Speaker
    relied: bool = False


class Situation(Struct, frozen=True, kw_only=True):
    """A view to be truncated. `excess` is the number of tokens over the limit, 0 or less if the view fits.
    `candidates` are the groups that may go, oldest first; `summaries` are compaction markers, which go only when no
    candidate is left."""

    messages: Sequence[Message]
    excess: int
    candidates: tuple[Candidate, ...]
    summaries: tuple[Candidate, ...] = ()

    @property
    def free(self) -> tuple[Candidate, ...]:
        """The candidates that may be dropped in any order."""
        return tuple(candidate for candidate in self.candidates if not candidate.relied)

    def after(self, gone: Collection[Candidate]) -> "Situation":
        """Returns the situation once the candidates `gone` are left out."""
        places = {candidate.places for candidate in gone}
        return replace(
            self,
            excess=self.excess - sum(candidate.tokens for candidate in gone),
            candidates=tuple(candidate for candidate in self.candidates if candidate.places not in places),
        )


def assess(view: CountedView, excess: int, keep: Keep) -> Situation:
    """Returns the situation of a view. The last group stays, because a request must end with the message to be
    answered."""
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
    """Returns the first candidates of `order`, as many as must go to remove the excess."""
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
