"""The part of writing a request that is the same for every provider's format."""

from ullage.model.answer import ModelRequest
from ullage.model.blocks import TextBlock
from ullage.model.message import Message, Role


def ask_messages(request: ModelRequest) -> tuple[Message, ...]:
    """Returns the messages of a request. Instructions, if there are any, are added as a user's message at the end, so
    that the beginning, which the provider caches, stays unchanged."""
    text = request.instructions or request.reminder
    if not text:
        return request.messages
    asked = Message(id="instructions", role=Role.USER, content=(TextBlock(text=text),))
    return (*request.messages, asked)
