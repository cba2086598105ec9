"""Short ways to write messages, events and logs in tests."""

from collections.abc import Sequence
from itertools import count

from ullage.edits.counted import CountedView, Stamp
from ullage.model.events import Event, MessageAppended, Record
from ullage.model.message import (
    Block,
    CompactionBlock,
    Message,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    render_marker,
)
from ullage.transcript.view import Item

STAMP = Stamp(id="e1", timestamp=1_000)


def system(id_: str, text: str = "Be brief.") -> Message:
    return _message(id_, Role.SYSTEM, TextBlock(text=text))


def user(id_: str, text: str = "Go on.") -> Message:
    return _message(id_, Role.USER, TextBlock(text=text))


def assistant(id_: str, text: str = "Done.") -> Message:
    return _message(id_, Role.ASSISTANT, TextBlock(text=text))


def thinking(id_: str, text: str = "Hm.") -> Message:
    return _message(id_, Role.ASSISTANT, ThinkingBlock(thinking=text, signature="s"))


def uses(id_: str, *tool_ids: str, name: str = "run", **given: str) -> Message:
    """Returns an assistant message that calls a tool once per id."""
    return _message(id_, Role.ASSISTANT, *(ToolUseBlock(id=tool, name=name, input=dict(given)) for tool in tool_ids))


def results(id_: str, *tool_ids: str, text: str = "ok", is_error: bool = False) -> Message:
    """Returns a user message with one result per id."""
    blocks = (
        ToolResultBlock(tool_use_id=tool, content=(TextBlock(text=text),), is_error=is_error) for tool in tool_ids
    )
    return _message(id_, Role.USER, *blocks)


def append(*messages: Message) -> list[Event]:
    return [MessageAppended(message=message) for message in messages]


def log(events: Sequence[Event]) -> list[Record]:
    """Returns records at positions 0, 1, …, one millisecond apart."""
    return [Record(position=i, timestamp=i, event=event) for i, event in zip(count(), events, strict=False)]


def measure(message: Message) -> int:
    """Counts one token for each word and one for the message, in place of a real counter."""
    return 1 + sum(len(word) // 8 + 1 for text in _texts(message.content) for word in text.split())


def counted(*messages: Message, fixed: int = 0) -> CountedView:
    """Returns a view of these messages with `measure` as its counter."""
    items = tuple(Item(i, message) for i, message in enumerate(messages))
    return CountedView(items=items, tokens=[measure(message) for message in messages], fixed=fixed, measure=measure)


def words(number: int, word: str = "word") -> str:
    return " ".join([word] * number)


def _message(id_: str, role: Role, *content: Block) -> Message:
    return Message(id=id_, role=role, content=content)


def _texts(content: Sequence[Block]) -> list[str]:
    texts: list[str] = []
    for block in content:
        match block:
            case TextBlock(text=text) | ThinkingBlock(thinking=text):
                texts.append(text)
            case ToolResultBlock(content=parts):
                texts += [part.text for part in parts if isinstance(part, TextBlock)]
            case ToolUseBlock(input=given):
                texts += [str(value) for value in given.values()]
            case CompactionBlock():
                texts.append(render_marker(block))
            case _:
                texts.append(str(block))
    return texts
