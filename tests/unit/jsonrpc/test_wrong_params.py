"""What is wrong with a client's message is said with what to send instead."""

from enum import StrEnum
from typing import Literal

import msgspec
import pytest
from msgspec import Raw, Struct

from ullage.jsonrpc.envelope import BadFrame, FrameParser, RpcError, read_params


class Shape(StrEnum):
    """A form of leaves."""

    ROUND = "round"
    LONG = "long"


class Params(Struct, rename="camel"):
    """Params with words."""

    session_id: str
    shape: Shape | None = None
    scope: Literal["tree", "row"] = "tree"


@pytest.mark.parametrize(
    ("params", "remedy"),
    [
        ('{"sessionId": "s", "shape": "flat"}', "there are round, long"),
        ('{"sessionId": "s", "scope": "leaf"}', "there are tree, row"),
        ('{"sessionID": "s"}', "is 'sessionID' meant as `sessionId`?"),
        ('{"session_id": "s"}', "is 'session_id' meant as `sessionId`?"),
        ("{}", "missing required field `sessionId`."),
    ],
)
def test_a_wrong_param_is_said_with_the_remedy(params: str, remedy: str) -> None:
    with pytest.raises(RpcError) as error:
        read_params("trees/count", Raw(params.encode()), msgspec.json.Decoder(Params))
    assert remedy in str(error.value)


def test_a_message_in_a_line_of_its_own_is_refused_at_once_and_the_next_with_a_header_is_read() -> None:
    parser = FrameParser()
    (refused,) = parser.feed(b'{"jsonrpc": "2.0", "id": 1, "method": "initialize"}\n')
    assert isinstance(refused, BadFrame)
    assert "Content-Length: N" in refused.reason
    assert parser.feed(b"Content-Length: 2\r\n\r\n{}") == [b"{}"]
