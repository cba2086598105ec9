"""The view: the messages that the model would be sent, as items that know their index in the transcript; and how an
edit changes them.
"""

from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.blocks import (
    Block,
    Provided,
    ResourceBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.edits import CompactionEdit, DropEdit, Edit, Replacement, ReplacingEdit, RewindEdit
from ullage.model.message import Message


class Item(Struct, frozen=True):
    """A message of the view. `index` is its index among the appended messages. A marker or a notice was never appended:
    it has `inserted` set and the `index` that the first message after it had when the edit was made."""

    index: int
    message: Message
    inserted: bool = False


def apply_edit(items: list[Item], edit: Edit) -> list[Item]:
    """Returns the view's items after an edit. Ids in the edit are ignored if no message of the view has them."""
    if isinstance(edit, CompactionEdit):
        return _apply_compaction(items, edit)
    if isinstance(edit, DropEdit):
        return _apply_drop(items, edit)
    if isinstance(edit, RewindEdit):
        left_out = set(edit.message_ids)
        return [item for item in items if item.message.id not in left_out]
    return _apply_replacements(items, edit)


def touched_ids(edit: Edit) -> frozenset[str]:
    """Returns the ids of the messages whose content the edit may change, or of the marker or notice that it inserts.
    The messages that it removes are not among them."""
    if isinstance(edit, CompactionEdit):
        return frozenset({edit.marker.id})
    if isinstance(edit, DropEdit):
        return frozenset({edit.notice.id})
    if isinstance(edit, RewindEdit):
        return frozenset()
    return frozenset(replacement.message_id for replacement in edit.replacements)


def _apply_compaction(items: list[Item], edit: CompactionEdit) -> list[Item]:
    leading = set(edit.leading)
    stays = leading | set(edit.kept)
    place = 1 + max((item.index for item in items if item.message.id in leading), default=edit.start - 1)

    def goes(item: Item) -> bool:
        return edit.start <= item.index < edit.end and item.message.id not in stays

    return _exchange(items, goes, Item(place, edit.marker, True))


def _apply_drop(items: list[Item], edit: DropEdit) -> list[Item]:
    dropped = set(edit.message_ids)
    place = next((item.index for item in items if item.message.id in dropped), None)
    if place is None:
        return items
    return _exchange(items, lambda item: item.message.id in dropped, Item(place, edit.notice, True))


def _exchange(items: list[Item], goes: Callable[[Item], bool], new: Item) -> list[Item]:
    stays = [item for item in items if not goes(item)]
    at = next((i for i, item in enumerate(stays) if item.index >= new.index), len(stays))
    return [*stays[:at], new, *stays[at:]]


def _apply_replacements(items: list[Item], edit: ReplacingEdit) -> list[Item]:
    by_message: dict[str, list[Replacement]] = {}
    for replacement in edit.replacements:
        by_message.setdefault(replacement.message_id, []).append(replacement)
    return [
        Item(item.index, _replace(item.message, by_message[item.message.id]), item.inserted)
        if item.message.id in by_message
        else item
        for item in items
    ]


def _replace(message: Message, replacements: Iterable[Replacement]) -> Message:
    content = list(message.content)
    for replacement in replacements:
        if replacement.block < len(content):
            content[replacement.block] = replace_block(content[replacement.block], replacement)
    given = message.provided
    return replace(message, content=tuple(content), provided=replace(given, whole=False) if given else None)


# The fields of the providers' formats that hold content, or speak of places in it.
_CONTENT = frozenset({"content", "function", "input", "citations", "text"})


def replace_block(block: Block, replacement: Replacement) -> Block:
    """Returns the block with the replacement's content: `input` for a tool use, `text` for every other kind of block.
    Returns the block unchanged if the replacement lacks that content.

    An image becomes a text block. Thinking loses its signature, because the signature is valid for the old text only.
    """
    if isinstance(block, ToolUseBlock):
        if replacement.input is None:
            return block
        return replace(block, input=replacement.input, provided=without_content(block.provided))
    if replacement.text is None:
        return block
    return _with_text(block, replacement.text)


def _with_text(block: Block, text: str) -> Block:
    match block:
        case ToolResultBlock():
            return replace(block, content=(TextBlock(text=text),), provided=without_content(block.provided))
        case ThinkingBlock():
            return ThinkingBlock(thinking=text)
        case ResourceBlock():
            return replace(block, text=text, data=None, provided=without_content(block.provided))
        case ToolUseBlock():
            return block
        case _:
            return TextBlock(text=text)


def without_content(provided: Provided | None) -> Provided | None:
    """Returns a provider's own fields without those that hold the block's content or refer to places in it, because the
    content was replaced. Returns None if no field is left."""
    if provided is None or provided.whole:
        return None
    fields = {name: value for name, value in provided.fields.items() if name not in _CONTENT}
    return replace(provided, fields=fields) if fields else None
