"""The input of a strategy's decision: the groups of messages that may go, and the number of tokens over the limit."""

from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from ullage.edits.counted import CountedView
from ullage.model.blocks import ToolResultBlock, ToolUseBlock
from ullage.model.message import Message, Role
from ullage.model.settings import Speaker
from ullage.transcript.cut_points import groups, leading


class Keep(Struct, frozen=True, kw_only=True):
    """The ids of messages that every strategy keeps, besides the newest that the user typed: pinned messages and the
    first user message. `relied` are the ids of messages that show what notices in other messages refer to; they are
    only dropped in order of age, so that each notice is dropped before the message that it refers to."""

    pinned: frozenset[str] = frozenset()
    first_user_id: str | None = None
    relied: frozenset[str] = frozenset()


class Candidate(Struct, frozen=True, kw_only=True):
    """A group of messages that may be dropped together: their indices in the view, ascending, and their tokens.
    `speaker` is their kind: `tool` if any of them has a tool use or a result, else by the first message's role.
    `relied` is set if a notice refers to one of them."""

    places: tuple[int, ...]
    tokens: int
    speaker: Speaker
    relied: bool = False


class Situation(Struct, frozen=True, kw_only=True):
    """A view from which messages are to be dropped. `excess` is the number of tokens over the limit, 0 or less if the
    view fits. `candidates` are the groups that may be dropped, oldest first. `summaries` are groups with compaction
    markers; they are dropped only when no candidate is left."""

    messages: Sequence[Message]
    excess: int
    candidates: tuple[Candidate, ...]
    summaries: tuple[Candidate, ...] = ()

    @property
    def free(self) -> tuple[Candidate, ...]:
        """The candidates that may be dropped in any order: those that no notice refers to."""
        return tuple(candidate for candidate in self.candidates if not candidate.relied)

    def after(self, gone: Collection[Candidate]) -> "Situation":
        """Returns the situation after the candidates `gone` are dropped."""
        places = {candidate.places for candidate in gone}
        return replace(
            self,
            excess=self.excess - sum(candidate.tokens for candidate in gone),
            candidates=tuple(candidate for candidate in self.candidates if candidate.places not in places),
        )


def assess(view: CountedView, excess: int, keep: Keep) -> Situation:
    """Returns the situation of a view that is `excess` tokens over its limit.

    Every group of messages but the last is a candidate, without its messages that must be kept. Groups with the marker
    of a compaction are in `summaries`, not in `candidates`. The last group is kept, because a request must end with the
    message to be answered.
    """
    messages = view.messages
    stays = {*leading(messages, keep.first_user_id), *view.kept(keep.pinned)}
    found = [
        Candidate(
            places=places,
            tokens=sum([view.tokens[i] for i in places]),
            speaker=_speaker(messages, places),
            relied=bool(keep.relied) and any(messages[i].id in keep.relied for i in places),
        )
        for group in groups(messages)[:-1]
        if (places := tuple([i for i in group if messages[i].id not in stays]))
    ]
    marked = {i for i, message in enumerate(messages) if message.compaction}
    summaries = tuple(each for each in found if not marked.isdisjoint(each.places)) if marked else ()
    return Situation(
        messages=messages,
        excess=excess,
        candidates=tuple(each for each in found if each not in summaries),
        summaries=summaries,
    )


def until_fits(order: Iterable[Candidate], excess: int) -> tuple[Candidate, ...]:
    """Returns the first candidates of `order`, as many as are needed to drop `excess` tokens; all if they are not
    enough."""
    gone: list[Candidate] = []
    for candidate in order:
        if excess <= 0:
            break
        gone.append(candidate)
        excess -= candidate.tokens
    return tuple(gone)


def _speaker(messages: Sequence[Message], places: Sequence[int]) -> Speaker:
    for i in places:
        for block in messages[i].content:
            if isinstance(block, ToolUseBlock | ToolResultBlock):
                return Speaker.TOOL
    return Speaker.ASSISTANT if messages[places[0]].role is Role.ASSISTANT else Speaker.USER
