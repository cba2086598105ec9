"""A view with its counts: what every kind of edit is planned on."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.edits import Edit, EditTrigger
from ullage.model.message import Message
from ullage.tokens.counter import TokenCounter
from ullage.transcript.view import Item, apply_edit

Measure = Callable[[Message], int]
_E = TypeVar("_E", bound=Edit)


class Stamp(Struct, frozen=True, kw_only=True):
    """What an edit gets from outside: its id, the time (Unix milliseconds) and who asked."""

    id: str
    timestamp: int
    trigger: EditTrigger = EditTrigger.AUTOMATIC


class CountedView(Struct, frozen=True, kw_only=True):
    """The view's items and each one's tokens; `fixed` tokens come on top whatever the messages are (tools, a
    provider's hidden prompt). `measure` gives the tokens of a message that is not in the view yet."""

    items: Sequence[Item]
    tokens: Sequence[int]
    fixed: int
    measure: Measure

    @property
    def used(self) -> int:
        """Tokens of the whole context."""
        return self.fixed + sum(self.tokens)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages alone."""
        return tuple(item.message for item in self.items)

    def after(self, edit: Edit) -> "CountedView":
        """The view and counts with an edit applied."""
        known = {id(item.message): tokens for item, tokens in zip(self.items, self.tokens, strict=True)}
        items = apply_edit(list(self.items), edit)
        tokens = [
            known[id(item.message)] if id(item.message) in known else self.measure(item.message) for item in items
        ]
        return CountedView(items=items, tokens=tokens, fixed=self.fixed, measure=self.measure)

    def saving(self, draft: _E) -> _E | None:
        """The edit with the tokens it saves; None if it saves none."""
        saved = self.used - self.after(draft).used
        return replace(draft, tokens_saved=saved) if saved > 0 else None


def count_view(messages: Sequence[Message], counter: TokenCounter) -> CountedView:
    """Messages that are no session's as a view of their own, counted."""
    return CountedView(
        items=tuple(Item(index, message) for index, message in enumerate(messages)),
        tokens=[counter.count_message(message) for message in messages],
        fixed=0,
        measure=counter.count_message,
    )
