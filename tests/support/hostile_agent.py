"""An agent that means harm: a program whose first prompt is answered by the attack that its command line names."""

import json
import os
import signal
import sys
from typing import Any

Json = dict[str, Any]
SESSION = "s"
# Updates of a flood, of 200 bytes each.
_FLOOD = 20_000
# Bytes of a line that is longer than the proxy reads.
_LONG = 40_000_000
_MALFORMED = (
    b"{",
    b"[]",
    b"[1, 2",
    b"null",
    b"\xff\xfe{\x00}\x00",
    b"\xef\xbb\xbf{}",
    b'{"jsonrpc": "2.0", "method": 5}',
    b'{"jsonrpc": "2.0", "method": "session/update"}',
    b'{"jsonrpc": "2.0", "method": "session/update", "params": [1]}',
    b'{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": 7, "update": "x"}}',
    b'{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": null}}',
    b'{"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": {"sessionUpdate": []}}}',
    b'{"jsonrpc": "2.0", "method": "\\ud800", "params": {"sessionId": "\\udfff"}}',
    b'{"jsonrpc": "2.0", "id": 1e999, "result": {}}',
    b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b"\0" * 1_000,
)
# What no field of an update has.
_ODD: tuple[Any, ...] = (None, 10**30, -1, 1e308, [], {"a": []}, "\0\x1b]0;title\x07", "x" * 100_000, True)
_WRONG_IDS: tuple[Any, ...] = (None, -1, 10**30, "", "ullage-proxy-1", "ullage-proxy-999", [], {}, 1.5, True)
_UPDATES: dict[str, tuple[str, ...]] = {
    "agent_message_chunk": ("content", "messageId"),
    "tool_call": ("toolCallId", "title", "kind", "status", "content", "locations", "rawInput", "_meta"),
    "tool_call_update": ("toolCallId", "status", "content", "rawOutput", "_meta"),
    "plan": ("entries",),
    "usage_update": ("used", "size", "cost"),
    "available_commands_update": ("availableCommands",),
    "current_mode_update": ("currentModeId",),
    "config_option_update": ("configOptions",),
    "session_info_update": ("title", "updatedAt", "_meta"),
    "compaction_update": ("status", "summary"),
}


def _write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def _send(message: Json) -> None:
    _write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def _update(**update: Any) -> None:
    _send({"method": "session/update", "params": {"sessionId": SESSION, "update": update}})


def _answer(request: Json, result: Any = None) -> None:
    _send({"id": request["id"], "result": {"stopReason": "end_turn"} if result is None else result})


def _flood(request: Json) -> None:
    text = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "flood " * 10}}
    line = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": SESSION, "update": text}})
    _write((line + "\n").encode() * _FLOOD)
    _answer(request)


def _long_line(request: Json) -> None:
    _write(b'{"jsonrpc": "2.0", "method": "_x", "params": "' + b"x" * _LONG + b'"}\n')
    _answer(request)


def _malformed(request: Json) -> None:
    _write(b"\n".join(_MALFORMED) + b"\n")
    _answer(request)


def _odd_updates(request: Json) -> None:
    for kind, names in _UPDATES.items():
        for name in names:
            for value in _ODD:
                _update(**{"sessionUpdate": kind, "toolCallId": "t", name: value})
    _answer(request)


def _wrong_ids(request: Json) -> None:
    for wrong in _WRONG_IDS:
        _send({"id": wrong, "result": {"sessionId": "other"}})
        _send({"id": wrong, "error": {"code": -1, "message": "no"}})
    for other in ("", "other", "../../etc/passwd", "\0", "x" * 10_000):
        _send({"method": "session/update", "params": {"sessionId": other, "update": {"sessionUpdate": "plan"}}})
        _send({"id": other, "method": "session/request_permission", "params": {"sessionId": other}})
    _answer(request)


def _answers_twice(request: Json) -> None:
    _answer(request)
    _answer(request)
    _send({"id": request["id"], "error": {"code": -1, "message": "no"}})


def _answers_oddly(request: Json) -> None:
    _answer(request, [{"stopReason": 7}])


def _refuses_oddly(request: Json) -> None:
    _send({"id": request["id"], "error": "no"})


def _never_answers(_request: Json) -> None:
    _update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "I think."})


def _dies(_request: Json) -> None:
    os._exit(3)


def _dies_in_a_line(_request: Json) -> None:
    _write(b'{"jsonrpc": "2.0", "id": ')
    os._exit(3)


def _dies_in_a_long_line(_request: Json) -> None:
    _write(b'{"jsonrpc": "2.0", "method": "_x", "params": "' + b"x" * _LONG)
    os._exit(3)


def _lives_without_output(_request: Json) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.close(1)


ATTACKS = {
    function.__name__.strip("_").replace("_", "-"): function
    for function in (
        _flood,
        _long_line,
        _malformed,
        _odd_updates,
        _wrong_ids,
        _answers_twice,
        _answers_oddly,
        _refuses_oddly,
        _never_answers,
        _dies,
        _dies_in_a_line,
        _dies_in_a_long_line,
        _lives_without_output,
    )
}


def main() -> None:
    attack = ATTACKS[sys.argv[1]]
    for line in sys.stdin.buffer:
        request: Json = json.loads(line)
        match request.get("method"):
            case "initialize":
                _answer(request, {"protocolVersion": 1, "agentInfo": {"name": "evil", "version": "1"}})
            case "session/new":
                _answer(request, {"sessionId": SESSION})
            case "session/prompt":
                attack(request)
            case "session/cancel" | None:
                pass
            case _ if "id" in request:
                _send({"id": request["id"], "error": {"code": -32601, "message": "no such method"}})
            case _:
                pass


if __name__ == "__main__":
    main()
