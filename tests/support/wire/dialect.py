"""The differences between the providers' wire formats."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from support.wire.account import Account
from support.wire.http import Json
from support.wire.replies import Refusal, Reply

# Characters in one piece of a streamed text: few enough to cut words and JSON anywhere.
_PIECE = 7


class Dialect(Protocol):
    """One provider's format. Events are pairs (name, data); the name is empty if the format has none."""

    name: str
    # The end of a client's base URL.
    base: str
    path: str
    count_path: str
    # The provider's tokens per token of the table that the servers count with. No real tokenizer equals Ullage's guess.
    tokens_share: float
    # The bytes that every event with text has.
    text_mark: bytes

    def violations(self, body: Json) -> list[str]:
        """Returns the faults for which the provider would refuse a request."""
        ...

    def items(self, body: Json) -> list[Any]:
        """Returns the parts of a request that are counted: tools, system prompt, then message by message."""
        ...

    def max_tokens(self, body: Json) -> int:
        """Returns the most tokens that the answer may have."""
        ...

    def events(self, model: str, reply: Reply, account: Account) -> Iterator[tuple[str, Json]]:
        """Yields an answer from its first event to its last."""
        ...

    def error(self, refusal: Refusal) -> Json:
        """Returns the body of an error answer."""
        ...

    def error_event(self, refusal: Refusal) -> tuple[str, Json]:
        """Returns the event of an error in the middle of a stream."""
        ...

    def counted(self, tokens: int) -> Json:
        """Returns the answer to a request to count."""
        ...

    def too_long(self, tokens: int, window: int) -> Refusal:
        """Returns the provider's refusal of a prompt that does not fit."""
        ...

    def models(self, path: str, model: str) -> Json:
        """Returns the answer to a request for models."""
        ...


def frame(name: str, data: Json) -> bytes:
    """Returns the bytes of an event in the stream."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def pieces(text: str) -> Sequence[str]:
    """Returns a text in pieces, cut anywhere."""
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]


def missing(body: Json, *names: str) -> list[str]:
    """Returns the fields that a request lacks."""
    return [f"no {name}" for name in names if not body.get(name)]
