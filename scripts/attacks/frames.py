"""Random frames, most of them wrong in some way. The same seed and number always give the same frame."""

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from ullage.api.methods import METHODS

Json = dict[str, Any]
# The protocols' own methods that a door may be asked. Methods that end the connection by design are left out. Methods
# that delete are asked of made-up sessions only.
ACP_METHODS = (
    "initialize", "authenticate", "session/new", "session/load", "session/resume", "session/list", "session/close",
    "session/delete", "session/fork", "session/set_config_option", "session/set_mode", "session/prompt",
    "session/cancel", "$/cancel_request",
)  # fmt: skip
LSP_METHODS = (
    "initialize", "initialized", "workspace/executeCommand", "workspace/didChangeConfiguration",
    "textDocument/didOpen", "textDocument/hover", "window/workDoneProgress/cancel", "$/cancelRequest", "$/setTrace",
    "$/progress",
)  # fmt: skip
_FIELDS = (
    "sessionId", "cwd", "mcpServers", "prompt", "configId", "value", "cursor", "methodId", "protocolVersion",
    "clientCapabilities", "messageId", "query", "limit", "offset", "provider", "scope", "focus", "editId", "position",
    "timestamp", "previewId", "summary", "text", "path", "format", "context", "messages", "usage", "model", "tools",
    "command", "arguments", "settings", "requestId", "id", "title", "dryRun", "_meta", "capabilities", "processId",
)  # fmt: skip
_TEXTS = ("", "x", "/context", "/compact", "s_none", "\ud83d", "\u0000", "é" * 50, "../../etc/passwd", "-1", "1e999")
_BLOCKS = ("text", "image", "resource", "resource_link", "audio", "context_compaction", "nonsense")
_NUMBERS = (0, 1, -1, 7, 10**6, 2**63, -(2**70), 0.5, -1.5, 1e300, 1.0)
# The depth of random values.
_DEPTH = 3
# Deeper than any decoder's recursion limit.
_DEEP = 50_000


class Frame(Struct, frozen=True):
    """The body of a message, and the kind of fault in it."""

    body: bytes
    kind: str


class FrameMaker:
    """Makes frames for the door whose own methods are `methods` with the prefix `prefix`. Many messages name the
    session `session_id`, which may be changed. The door refuses bodies over `longest` bytes."""

    def __init__(self, seed: int, methods: Sequence[str], prefix: str, session_id: str, longest: int) -> None:
        self._seed = seed
        self._own = [prefix + method.name for method in METHODS]
        self._methods = [*methods, *self._own]
        self.session_id = session_id
        self._longest = longest
        self._kinds: tuple[Callable[[random.Random], bytes], ...] = (
            self.wrong_typed,
            self.wrong_typed,
            self.out_of_order,
            self.truncated,
            self.flipped,
            self.garbage,
            self.no_message,
            self.wrong_envelope,
            self.deeply_nested,
            self.odd_numbers,
            self.batched,
            self.not_utf8,
        )

    def make(self, number: int) -> Frame:
        """Returns the frame of that number."""
        rng = random.Random(f"{self._seed}/{number}")
        # Large frames take long to make and to read, so there are few.
        kind = self.oversized if rng.random() < 0.002 else rng.choice(self._kinds)
        return Frame(kind(rng), kind.__name__)

    def sound(self, rng: random.Random) -> Json:
        """Returns a message as a client might send it, with params of random shape."""
        message: Json = {"jsonrpc": "2.0", "method": rng.choice(self._methods), "params": self._params(rng)}
        if rng.random() < 0.8:
            message["id"] = rng.choice([rng.randrange(10_000), f"r{rng.randrange(10_000)}"])
        return message

    def wrong_typed(self, rng: random.Random) -> bytes:
        return _encode(self.sound(rng))

    def out_of_order(self, rng: random.Random) -> bytes:
        """Returns a body without context: an answer or a cancellation without a request, work on a session that does
        not exist."""
        reply = {"jsonrpc": "2.0", "id": rng.choice([1, "1", None]), "result": self._value(rng)}
        error = {"jsonrpc": "2.0", "id": rng.choice([1, "1", None]), "error": self._value(rng)}
        cancel = {"jsonrpc": "2.0", "method": rng.choice(["$/cancel_request", "$/cancelRequest"]), "params": {"id": 7}}
        again: Json = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": 1, "capabilities": {}},
        }
        gone = {"jsonrpc": "2.0", "id": 2, "method": rng.choice(self._own), "params": {"sessionId": "s_gone"}}
        messages: list[Json] = [reply, error, cancel, again, gone]
        return _encode(rng.choice(messages))

    def truncated(self, rng: random.Random) -> bytes:
        body = _encode(self.sound(rng))
        return body[: rng.randrange(1, len(body))]

    def flipped(self, rng: random.Random) -> bytes:
        body = bytearray(_encode(self.sound(rng)))
        for _ in range(rng.randrange(1, 4)):
            body[rng.randrange(len(body))] = rng.randrange(256)
        return bytes(body)

    def garbage(self, rng: random.Random) -> bytes:
        return rng.randbytes(rng.randrange(1, 200))

    def no_message(self, rng: random.Random) -> bytes:
        return _encode(self._value(rng))

    def wrong_envelope(self, rng: random.Random) -> bytes:
        message = self.sound(rng)
        message[rng.choice(["jsonrpc", "method", "id", "params", "result", "error"])] = self._value(rng)
        if rng.random() < 0.5:
            message.pop(rng.choice(list(message)))
        return _encode(message)

    def deeply_nested(self, rng: random.Random) -> bytes:
        depth = rng.choice([100, 1_000, _DEEP])
        opening, closing = rng.choice([(b"[", b"]"), (b'{"a":', b"}")])
        nest = opening * depth + b"1" + closing * depth
        method = rng.choice(self._methods).encode()
        return rng.choice([nest, b'{"jsonrpc":"2.0","id":1,"method":"%b","params":%b}' % (method, nest)])

    def odd_numbers(self, rng: random.Random) -> bytes:
        number = rng.choice([b"1e999", b"-0", b"9" * 30, b"1.5", b"1E5", b"-9223372036854775809", b"0.1e-400", b"01"])
        field = rng.choice([b"id", b"params", b"jsonrpc"])
        return b'{"jsonrpc":"2.0","method":"session/list","id":1,"%b":%b}' % (field, number)

    def batched(self, rng: random.Random) -> bytes:
        return _encode([self.sound(rng) for _ in range(rng.randrange(4))])

    def not_utf8(self, rng: random.Random) -> bytes:
        body = _encode(self.sound(rng) | {"method": "METHOD"})
        return body.replace(
            b"METHOD", rng.choice([b"\xff\xfe", b"\xc3", b"\xed\xa0\x80", b"\x80\x80", b"session/list\xf5"])
        )

    def oversized(self, rng: random.Random) -> bytes:
        text = "x" * (self._longest + rng.randrange(1, 100_000))
        return _encode({"jsonrpc": "2.0", "id": 3, "method": "session/new", "params": {"cwd": text}})

    def _params(self, rng: random.Random) -> Any:
        if rng.random() < 0.05:
            return self._value(rng)
        names = rng.sample(_FIELDS, rng.randrange(5))
        params = {name: self._value(rng) for name in names}
        if rng.random() < 0.5:
            params["sessionId"] = rng.choice([self.session_id, "s_none", self._value(rng)])
        return params

    def _value(self, rng: random.Random, depth: int = 0) -> Any:
        leaf = rng.choice([*_TEXTS, *_NUMBERS, True, False, None, {"type": rng.choice(_BLOCKS), "text": "x"}])
        match rng.randrange(4) if depth < _DEPTH else 0:
            case 2:
                return [self._value(rng, depth + 1) for _ in range(rng.randrange(4))]
            case 3:
                return {rng.choice(_FIELDS): self._value(rng, depth + 1) for _ in range(rng.randrange(4))}
            case _:
                return leaf


def _encode(value: Any) -> bytes:
    # Plain ASCII: half surrogate pairs are escaped, as JavaScript sends them.
    return json.dumps(value).encode()
