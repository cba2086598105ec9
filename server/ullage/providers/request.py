"""What every provider does to a request before it is written in the provider's format."""

from ullage.model.answer import ModelRequest
from ullage.model.blocks import TextBlock
from ullage.model.message import Message, Role


def ask_messages(request: ModelRequest) -> tuple[Message, ...]:
    """The messages, the instructions at their end, where they leave the cached beginning as it is."""
    if not request.instructions:
        return request.messages
    asked = Message(id="instructions", role=Role.USER, content=(TextBlock(text=request.instructions),))
    return (*request.messages, asked)
