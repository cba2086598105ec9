"""The interface of a token counter. `tiktoken_counter` and `approximate` implement it; `counter_choice` chooses one."""

from collections.abc import Container, Sequence
from typing import Protocol

from ullage.model.message import Message, ToolDefinition
from ullage.model.usage import Breakdown


class TokenCounter(Protocol):
    """Counts tokens for one model. Equal input always gives an equal count."""

    @property
    def name(self) -> str:
        """The name of the way of counting, as users see it: `o200k_base`, `approximate`."""
        ...

    @property
    def error_share(self) -> float:
        """The counter's stated mean error as a share of the true count; 0.0 if counts are exact."""
        ...

    def count(self, text: str) -> int:
        """Returns the tokens of a text. Takes any `str`, lone surrogates included; never raises."""
        ...

    def count_message(self, message: Message) -> int:
        """Returns the tokens that one message adds to a prompt, framing included. A marker counts as the text that
        the model is sent for it."""
        ...

    def count_messages(self, messages: Sequence[Message]) -> int:
        """Returns the sum of `count_message` over the messages."""
        ...

    def count_prompt(self, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> int:
        """Returns the tokens of a request: of its messages, its tools, and the opening of the answer. Without messages
        there is no request, and the count is that of the tools."""
        ...

    def count_tools(self, tools: Sequence[ToolDefinition]) -> int:
        """Returns the tokens that the definitions of offered tools add to a prompt."""
        ...

    def break_down(self, message: Message, memory_uses: Container[str] = ()) -> Breakdown:
        """Returns `count_message` by kind; its `total` equals `count_message`. Results of the tool uses with the ids
        `memory_uses` count as memory."""
        ...
