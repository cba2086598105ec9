"""A view with its token counts: the input from which every kind of edit is planned."""

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
    """What an edit gets from outside the core: its id, the time (Unix milliseconds), and what triggered it."""

    id: str
    timestamp: int
    trigger: EditTrigger = EditTrigger.AUTOMATIC


class CountedView(Struct, frozen=True, kw_only=True):
    """The view's items and the tokens of each. `fixed` tokens are added whatever the messages are: the tools, and a
    provider's hidden prompt. `measure` counts a message that is not in the view yet."""

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
        """The messages without their indices."""
        return tuple(item.message for item in self.items)

    def after(self, edit: Edit) -> "CountedView":
        """Returns the view and its counts after an edit."""
        known = {id(item.message): tokens for item, tokens in zip(self.items, self.tokens, strict=True)}
        items = apply_edit(list(self.items), edit)
        tokens = [
            known[id(item.message)] if id(item.message) in known else self.measure(item.message) for item in items
        ]
        return CountedView(items=items, tokens=tokens, fixed=self.fixed, measure=self.measure)

    def saving(self, draft: _E) -> _E | None:
        """Returns the edit with the number of tokens it saves, or None if it saves none."""
        saved = self.used - self.after(draft).used
        return replace(draft, tokens_saved=saved) if saved > 0 else None


def count_view(messages: Sequence[Message], counter: TokenCounter) -> CountedView:
    """Returns a counted view of messages that belong to no session."""
    return CountedView(
        items=tuple(Item(index, message) for index, message in enumerate(messages)),
        tokens=[counter.count_message(message) for message in messages],
        fixed=0,
        measure=counter.count_message,
    )
