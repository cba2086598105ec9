"""What differs between the providers' wire formats."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from support.wire.account import Account
from support.wire.http import Json
from support.wire.replies import Refusal, Reply

# Characters of one piece of a text as it is streamed: short enough to part words and JSON anywhere.
_PIECE = 7


class Dialect(Protocol):
    """One provider's format. Events are given as (name, data); the name is empty where the format has none."""

    name: str
    # What a client's base URL ends in.
    base: str
    path: str
    count_path: str
    # The provider's tokens per token of the table the servers count with: nobody's tokenizer is the one we guess.
    tokens_share: float
    # What stands in every event that brings text.
    text_mark: bytes

    def violations(self, body: Json) -> list[str]:
        """What the provider would refuse of a request."""
        ...

    def items(self, body: Json) -> list[Any]:
        """What of a request is counted: tools, system prompt, then message by message."""
        ...

    def max_tokens(self, body: Json) -> int:
        """The most tokens that the answer may have."""
        ...

    def events(self, model: str, reply: Reply, account: Account) -> Iterator[tuple[str, Json]]:
        """An answer from its first event to its last."""
        ...

    def error(self, refusal: Refusal) -> Json:
        """The body of an error answer."""
        ...

    def error_event(self, refusal: Refusal) -> tuple[str, Json]:
        """The same in the middle of a stream."""
        ...

    def counted(self, tokens: int) -> Json:
        """The answer to a request to count."""
        ...

    def too_long(self, tokens: int, window: int) -> Refusal:
        """What the provider says of a prompt that does not fit."""
        ...

    def models(self, path: str, model: str) -> Json:
        """The answer to a question about models."""
        ...


def frame(name: str, data: Json) -> bytes:
    """An event as it stands in the stream."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def pieces(text: str) -> Sequence[str]:
    """A text in pieces, cut anywhere."""
    return [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]


def missing(body: Json, *names: str) -> list[str]:
    """The fields that a request lacks."""
    return [f"no {name}" for name in names if not body.get(name)]
