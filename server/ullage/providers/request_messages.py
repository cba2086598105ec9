"""The part of writing a request that is the same for every provider's format."""

from ullage.model.answer import ModelRequest
from ullage.model.blocks import TextBlock
from ullage.model.message import Message, Role


def ask_messages(request: ModelRequest) -> tuple[Message, ...]:
    """Returns the messages, followed by the instructions if there are any, so that the cached beginning stays
    unchanged."""
    if not request.instructions:
        return request.messages
    asked = Message(id="instructions", role=Role.USER, content=(TextBlock(text=request.instructions),))
    return (*request.messages, asked)
