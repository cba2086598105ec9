"""A view with its token counts: the input from which every kind of edit is planned."""

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.inserted import typed_blocks
from ullage.model.events import Edit, EditTrigger
from ullage.model.message import Message
from ullage.tokens.counter import TokenCounter
from ullage.transcript.view import Item, apply_edit, groups, kept, pinned_ids

Measure = Callable[[Message], int]
_E = TypeVar("_E", bound=Edit)


class Stamp(Struct, frozen=True, kw_only=True):
    """The parts of an edit that come from outside the core: its id, its time (Unix milliseconds), and its trigger."""

    id: str
    timestamp: int
    trigger: EditTrigger = EditTrigger.AUTOMATIC


class CountedView(Struct, frozen=True, kw_only=True, dict=True):
    """The view's items and the tokens of each, in the same order. `fixed` tokens are in every prompt: the tools, and a
    hidden prompt of the agent or client. `measure` counts a message that is not in the view yet."""

    items: Sequence[Item]
    tokens: Sequence[int]
    fixed: int
    measure: Measure

    @cached_property
    def used(self) -> int:
        """The tokens of the whole context: `fixed` and all items."""
        return self.fixed + sum(self.tokens)

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        return tuple([item.message for item in self.items])

    @cached_property
    def groups(self) -> list[range]:
        """The ranges of indices of the messages that must stay together."""
        return groups(self.messages)

    @cached_property
    def newest(self) -> Message | None:
        """The newest message that the user typed, or None. No edit removes or shortens what was typed in it."""
        own = (item.message for item in reversed(self.items) if not item.inserted)
        return next((message for message in own if typed_blocks(message)), None)

    def kept(self, pinned: Collection[str]) -> tuple[str, ...]:
        """Returns the ids, in order, of the messages that no edit removes: system messages, pinned messages, the newest
        message that the user typed, and all messages that must stay together with one of them."""
        return kept(self.messages, pinned if self.newest is None else {*pinned, self.newest.id}, self.groups)

    def pinned(self, pinned: Collection[str]) -> frozenset[str]:
        """Returns the ids of pinned messages and of all messages that must stay together with one of them."""
        return pinned_ids(self.messages, pinned, self.groups)

    def held(self, ids: Collection[str]) -> int:
        """Returns the tokens of what every request has word for word: `fixed`, the messages with these ids, as
        `pinned` returns them, and what the user typed in the newest message."""
        held = self.fixed + self.size(ids)
        if self.newest is None or self.newest.id in ids:
            return held
        typed = tuple(self.newest.content[i] for i in typed_blocks(self.newest))
        return held + self.measure(replace(self.newest, content=typed))

    def size(self, ids: Collection[str]) -> int:
        return sum(tokens for item, tokens in zip(self.items, self.tokens, strict=True) if item.message.id in ids)

    def after(self, edit: Edit) -> "CountedView":
        """Returns the view after an edit. Only messages that the edit changed or inserted are counted again."""
        known = {id(item.message): tokens for item, tokens in zip(self.items, self.tokens, strict=True)}
        items = apply_edit(list(self.items), edit)
        tokens = [
            known[id(item.message)] if id(item.message) in known else self.measure(item.message) for item in items
        ]
        return CountedView(items=items, tokens=tokens, fixed=self.fixed, measure=self.measure)

    def saving(self, draft: _E) -> _E | None:
        """Returns the draft with the tokens that it saves in this view, or None if it saves none."""
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
