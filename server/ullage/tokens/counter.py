"""What a token counter is. Implementations: `tiktoken_counter`, `approximate`; `registry` chooses one."""

from collections.abc import Container, Sequence
from typing import Protocol

from ullage.model.message import Message, ToolDefinition
from ullage.model.usage import Breakdown


class TokenCounter(Protocol):
    """Counts tokens for one model. Counting is pure: equal input, equal answer."""

    @property
    def name(self) -> str:
        """What is counted with, for people: `o200k_base`, `approximate`."""
        ...

    @property
    def error_share(self) -> float:
        """Stated mean error as a share of the true count; 0.0 where counts are exact."""
        ...

    def count(self, text: str) -> int:
        """Tokens of bare text. Takes any `str`, lone surrogates included; never raises."""
        ...

    def count_message(self, message: Message) -> int:
        """Tokens one message adds to a prompt, its overhead included. For a marker: what the model is sent."""
        ...

    def count_messages(self, messages: Sequence[Message]) -> int:
        """The sum of `count_message`."""
        ...

    def count_tools(self, tools: Sequence[ToolDefinition]) -> int:
        """Tokens the definitions of offered tools add to a prompt."""
        ...

    def break_down(self, message: Message, memory_uses: Container[str] = ()) -> Breakdown:
        """`count_message` by kind; its `total` equals `count_message`. Results of the tool uses with the ids
        `memory_uses` count as memory."""
        ...
