"""What old messages are worth verbatim, between the summary and the tail."""

from collections.abc import Iterator, Sequence

import msgspec

from ullage.model.blocks import ToolResultBlock, ToolUseBlock
from ullage.model.message import Message, Role
from ullage.summary.anchors import find_anchors
from ullage.summary.calls import result_text
from ullage.summary.excerpts import head_and_tail
from ullage.summary.history import typed_text
from ullage.summary.redaction import redact
from ullage.transcript.commands import fenced_command

# A person's own words are few and not to be had again; what tools returned can be asked for.
_PROMPT, _REFERRED = 3.0, 2.0
# With as many names that the tail still uses, a result is worth half of what it can be.
_HALF = 3
_READ_AT_MOST = 8_000


def worth(messages: Sequence[Message], group: range, tail: range) -> float:
    """From 0 (a summary says it as well) to 5: a person's own words, and results whose names the agent's messages of
    the tail still use; nothing for what holds a secret. Both ranges are places in `messages`; those of `group` belong
    together."""
    if any(redact(text) != text for place in group for text in _texts(messages[place])):
        return 0.0  # what a summary would leave out is not carried on in full
    prompts = any(_is_prompt(messages, place) for place in group)
    if any(_holds_secret(messages[place]) for place in group):
        # Nobody asked for it to stay, and a summary would leave the secret out.
        return 0.0
    used = {name for place in tail if messages[place].role is Role.ASSISTANT for name in _names(messages[place])}
    shared = len({name for place in group for name in _names(messages[place])} & used) if used else 0
    return _PROMPT * prompts + _REFERRED * shared / (shared + _HALF)


def _is_prompt(messages: Sequence[Message], place: int) -> bool:
    message = messages[place]
    is_output = place > 0 and bool(fenced_command(messages, place - 1))
    return message.role is Role.USER and not message.compaction and not is_output and bool(typed_text(message))


def _holds_secret(message: Message) -> bool:
    text = "\n".join(_texts(message))
    return redact(text) != text


def _names(message: Message) -> tuple[str, ...]:
    return find_anchors(head_and_tail("\n".join(_texts(message)), _READ_AT_MOST))


def _texts(message: Message) -> Iterator[str]:
    yield message.text
    for block in message.content:
        if isinstance(block, ToolResultBlock):
            yield result_text(block)
        elif isinstance(block, ToolUseBlock):
            yield msgspec.json.encode(block.input).decode()
