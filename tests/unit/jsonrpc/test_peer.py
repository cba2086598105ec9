"""How a peer reads a message, and which answers it owes."""

from enum import StrEnum
from typing import Any, Literal

import msgspec
import pytest
from msgspec import Raw, Struct

from ullage.jsonrpc.envelope import (
    METHOD_NOT_FOUND,
    Answered,
    BadFrame,
    Called,
    Cancelled,
    Dialect,
    ErrorObject,
    Event,
    Exited,
    FrameParser,
    Ignored,
    LineSplitter,
    LineTooLong,
    Notified,
    Peer,
    Refused,
    RemoteError,
    RpcError,
    read_params,
)

PLAIN = Dialect(cancel="$/cancel_request", cancel_key="requestId")
STAGED = Dialect(
    cancel="$/cancelRequest",
    cancel_key="id",
    opening="open",
    early=(-32002, "Early"),
    closing="close",
    exit="exit",
    null_ids=False,
)


def body(**fields: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **fields})


def receive(peer: Peer, **fields: Any) -> Event:
    return peer.receive(body(**fields))


def refused(event: Event) -> tuple[int, Any]:
    assert isinstance(event, Refused)
    return event.reply.error.code, event.reply.id


@pytest.fixture
def peer() -> Peer:
    return Peer(PLAIN)


@pytest.mark.parametrize("request_id", [0, 7, "seven", "", None])
def test_a_request_is_owed_an_answer_until_it_is_given(peer: Peer, request_id: int | str | None) -> None:
    event = receive(peer, id=request_id, method="session/new", params={"cwd": "/"})
    assert event == Called(request_id, "session/new", Raw(b'{"cwd":"/"}'))
    assert peer.owed == {request_id}
    assert msgspec.to_builtins(peer.answer(request_id, {"a": 1})) == {
        "id": request_id,
        "result": {"a": 1},
        "jsonrpc": "2.0",
    }
    assert peer.owed == frozenset()


def test_no_request_is_answered_twice(peer: Peer) -> None:
    receive(peer, id=1, method="x")
    peer.refuse(1, ErrorObject(code=METHOD_NOT_FOUND, message="no"))
    with pytest.raises(KeyError):
        peer.answer(1, {})


def test_a_request_with_the_id_of_a_running_one_is_refused(peer: Peer) -> None:
    receive(peer, id=1, method="x")
    assert refused(receive(peer, id=1, method="x")) == (-32600, 1)
    assert peer.owed == {1}


def test_a_notification_is_owed_nothing(peer: Peer) -> None:
    assert receive(peer, method="session/cancel", params={}) == Notified("session/cancel", Raw(b"{}"))
    assert peer.owed == frozenset()


def test_our_requests_have_ids_of_their_own_and_are_forgotten_once_answered() -> None:
    peer = Peer(PLAIN, "ullage-")
    first, second = peer.ask("fs/read_text_file", {}), peer.ask("fs/read_text_file", {})
    assert (first.id, second.id) == ("ullage-1", "ullage-2")
    assert receive(peer, id="ullage-2", result={"content": ""}) == Answered("ullage-2", Raw(b'{"content":""}'))
    assert peer.open == {"ullage-1"}


def test_an_error_is_an_answer_too(peer: Peer) -> None:
    peer.ask("x", {})
    event = receive(peer, id="1", error={"code": -32000, "message": "no", "data": {"a": 1}})
    assert event == Answered("1", Raw(b""), RemoteError(-32000, "no", Raw(b'{"a":1}')))


@pytest.mark.parametrize("error", [5, "no", {"code": "x", "message": "no"}, []])
def test_an_error_of_no_shape_is_an_error_that_quotes_it(peer: Peer, error: Any) -> None:
    peer.ask("x", {})
    event = receive(peer, id="1", error=error)
    assert isinstance(event, Answered)
    assert event.error is not None
    assert (event.error.code, msgspec.json.decode(event.error.message)) == (0, error)


def test_an_error_of_null_next_to_a_result_counts_as_no_error(peer: Peer) -> None:
    peer.ask("x", {})
    assert receive(peer, id="1", result=1, error=None) == Answered("1", Raw(b"1"))


def test_an_answer_without_result_and_error_is_an_error(peer: Peer) -> None:
    peer.ask("x", {})
    event = receive(peer, id="1")
    assert isinstance(event, Answered)
    assert event.error is not None
    assert peer.open == frozenset()


@pytest.mark.parametrize("request_id", [1, "1", None])
def test_an_answer_to_nothing_is_ignored(request_id: int | str | None) -> None:
    assert isinstance(receive(Peer(PLAIN), id=request_id, result={}), Ignored)
    assert isinstance(receive(Peer(PLAIN), id=request_id, error={"code": 1, "message": ""}), Ignored)


def test_a_late_answer_to_a_request_that_was_taken_back_is_ignored(peer: Peer) -> None:
    request = peer.ask("session/request_permission", {})
    told = peer.take_back(request.id)
    assert (told.method, told.params) == ("$/cancel_request", {"requestId": "1"})
    assert receive(peer, id="1", result={}) == Ignored()


def test_a_request_can_be_taken_back_while_it_is_owed_an_answer(peer: Peer) -> None:
    receive(peer, id="a", method="x")
    cancel = {"method": "$/cancel_request", "params": {"requestId": "a"}}
    assert receive(peer, **cancel) == Cancelled("a")
    peer.answer("a", {})
    assert isinstance(receive(peer, **cancel), Ignored)


@pytest.mark.parametrize("params", [{}, {"requestId": 1.5}, [], None, 7])
def test_a_cancellation_of_nothing_readable_is_ignored(params: Any) -> None:
    assert isinstance(receive(Peer(PLAIN), method="$/cancel_request", params=params), Ignored)


@pytest.mark.parametrize(
    ("sent", "code", "request_id"),
    [
        (b"", -32700, None),
        (b"nonsense", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"x"', -32700, None),
        (b'{"jsonrpc":2,"id":1,"method":"x"', -32700, None),
        (b"\xff\xfe", -32700, None),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"[]", -32600, None),
        (b"5", -32600, None),
        (b"null", -32600, None),
        (b"{}", -32600, None),
        (b'{"jsonrpc":"2.0"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":3}', -32600, 3),
        (b'{"jsonrpc":"1.0","id":3,"method":"x"}', -32600, 3),
        (b'{"id":3,"method":"x"}', -32600, 3),
        (b'{"jsonrpc":"2.0","id":3,"method":5}', -32600, 3),
        (b'{"jsonrpc":"2.0","id":3.5,"method":"x"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"x"}', -32600, None),
        (b'{"jsonrpc":"2.0","id":[1],"method":"x"}', -32600, None),
        (b'[{"jsonrpc":"2.0","id":3,"method":"x"}]', -32600, None),
    ],
)
def test_what_is_no_message_is_refused_with_its_code_and_id(sent: bytes, code: int, request_id: int | None) -> None:
    assert refused(Peer(PLAIN).receive(sent)) == (code, request_id)


def test_half_an_emoji_breaks_no_message() -> None:
    event = Peer(PLAIN).receive(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"text":"\\ud83d"}}')
    assert isinstance(event, Called)


def opened() -> Peer:
    peer = Peer(STAGED)
    receive(peer, id=0, method="open")
    peer.answer(0, {})
    return peer


def test_before_the_opening_request_requests_are_refused_and_notifications_ignored() -> None:
    peer = Peer(STAGED)
    event = receive(peer, id=1, method="x")
    assert refused(event) == (-32002, 1)
    assert receive(peer, method="x") == Ignored()
    assert peer.owed == frozenset()


def test_the_opening_request_lets_in_what_follows_it_before_it_is_answered() -> None:
    peer = Peer(STAGED)
    assert isinstance(receive(peer, id=0, method="open"), Called)
    assert isinstance(receive(peer, id=1, method="x"), Called)
    assert isinstance(receive(peer, method="x"), Notified)


def test_a_second_opening_request_is_refused_unless_the_first_was() -> None:
    peer = Peer(STAGED)
    receive(peer, id=0, method="open")
    assert refused(receive(peer, id=1, method="open")) == (-32600, 1)
    peer.refuse(0, ErrorObject(code=-32602, message="no"))
    assert isinstance(receive(peer, id=1, method="open"), Called)


def test_after_the_closing_request_others_are_refused_and_notifications_ignored() -> None:
    peer = opened()
    assert isinstance(receive(peer, id=1, method="close"), Called)
    assert refused(receive(peer, id=2, method="x")) == (-32600, 2)
    assert receive(peer, method="x") == Ignored()


def test_an_exit_is_orderly_after_the_closing_request_only() -> None:
    peer = opened()
    assert receive(peer, method="exit") == Exited(orderly=False)
    receive(peer, id=1, method="close")
    assert receive(peer, method="exit") == Exited(orderly=True)


def test_an_exit_is_accepted_before_the_opening_request() -> None:
    assert receive(Peer(STAGED), method="exit") == Exited(orderly=False)


def test_an_id_of_null_is_refused_where_the_protocol_has_none() -> None:
    assert refused(receive(opened(), id=None, method="x")) == (-32600, None)


def test_each_protocol_cancels_in_its_own_words() -> None:
    peer = opened()
    receive(peer, id=7, method="x")
    assert receive(peer, method="$/cancelRequest", params={"id": 7}) == Cancelled(7)
    assert isinstance(receive(peer, method="$/cancelRequest", params={"id": True}), Ignored)
    taken_back = peer.take_back(peer.ask("y", {}).id)
    assert (taken_back.method, taken_back.params) == ("$/cancelRequest", {"id": "1"})


def test_a_method_without_a_name_ends_no_connection() -> None:
    assert receive(Peer(PLAIN), method="") == Notified("", Raw(b""))


# What is wrong with a client's message is said with what to send instead


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


# One message per line: the end of a line, the longest line, and what is left at the end of the input


def split(*chunks: bytes, max_line: int = 20) -> list[bytes | LineTooLong]:
    splitter = LineSplitter(max_line)
    return [item for chunk in chunks for item in splitter.feed(chunk)]


def test_a_line_comes_with_its_break_as_it_was_sent() -> None:
    assert split(b"{}\n[1]\r\n\n") == [b"{}\n", b"[1]\r\n", b"\n"]


def test_a_carriage_return_alone_ends_no_line() -> None:
    assert split(b"a\rb\n") == [b"a\rb\n"]


def test_a_line_that_is_too_long_is_reported_once_and_skipped() -> None:
    assert split(b"x" * 15, b"x" * 15, b"x" * 15, b"x\nok\n") == [LineTooLong(20), b"ok\n"]


def test_a_line_too_long_in_one_piece_is_skipped_too() -> None:
    assert split(b"x" * 30 + b"\nok\n") == [LineTooLong(20), b"ok\n"]


def test_the_longest_line_allowed_is_taken() -> None:
    assert split(b"x" * 19 + b"\n") == [b"x" * 19 + b"\n"]


def test_what_has_no_break_is_left_at_the_end() -> None:
    splitter = LineSplitter()
    assert splitter.feed(b"a\nb") == [b"a\n"]
    assert (splitter.end(), splitter.end()) == (b"b", b"")
