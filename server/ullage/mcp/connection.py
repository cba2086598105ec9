"""An MCP client's connection: the request engine over lines of JSON."""

from ullage.api.engine import RequestEngine
from ullage.jsonrpc.line_framing import MAX_LINE, LineFraming
from ullage.jsonrpc.peer import Dialect
from ullage.jsonrpc.rpc_errors import INVALID_REQUEST
from ullage.mcp.without_handshake import needs_no_handshake

INITIALIZE = "initialize"
PING = "ping"
# MCP wants no answer to a request that was cancelled, and lets a client ping before the handshake. From 2026-07-28 on
# there is no handshake: each request names its version. JSON-RPC's batches, which only MCP 2025-03-26 has, are refused
# as any other array.
DIALECT = Dialect(
    cancel="notifications/cancelled",
    cancel_key="requestId",
    opening=INITIALIZE,
    early=(INVALID_REQUEST, "NotInitialized"),
    null_ids=False,
    always=frozenset({PING}),
    stands_alone=needs_no_handshake,
    answers_cancelled=False,
)


class McpConnection(RequestEngine):
    """The connection of one MCP client. `max_line` is the length of the longest message that is accepted, in bytes."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        super().__init__(LineFraming(max_line), DIALECT)
