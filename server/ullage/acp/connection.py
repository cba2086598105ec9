"""An ACP client's connection: the request engine over lines of JSON."""

from collections.abc import Iterable

from msgspec.structs import replace

from ullage.api.codes import error_object
from ullage.api.engine import RequestEngine
from ullage.jsonrpc.line_framing import MAX_LINE, LineSplitter, LineTooLong
from ullage.jsonrpc.peer import Dialect
from ullage.jsonrpc.rpc_errors import BadFrame, ErrorObject
from ullage.model.errors import AuthenticationFailed, NoModelConfigured, UllageError

# ACP's code for a missing key. The client then shows the agent's ways to authenticate.
AUTHENTICATION_REQUIRED = -32000
_NEEDS_KEY = (NoModelConfigured, AuthenticationFailed)
INITIALIZE = "initialize"
DIALECT = Dialect(cancel="$/cancel_request", cancel_key="requestId", opening=INITIALIZE)


class AcpConnection(RequestEngine):
    """The connection of one client."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        super().__init__(_Lines(max_line), DIALECT, describe=wire_error)


class _Lines:
    """One message per line. Empty lines are skipped, and the last line may lack its line break."""

    def __init__(self, max_line: int) -> None:
        self._splitter = LineSplitter(max_line)

    def feed(self, data: bytes) -> Iterable[bytes | BadFrame]:
        for item in self._splitter.feed(data):
            if isinstance(item, LineTooLong):
                yield BadFrame(reason=f"A message is longer than {item.limit} bytes.")
            elif body := item.strip(b" \t\r\n"):
                yield body

    def end(self) -> Iterable[bytes | BadFrame]:
        body = self._splitter.end().strip(b" \t\r\n")
        return (body,) if body else ()

    def frame(self, body: bytes) -> bytes:
        return body + b"\n"


def wire_error(error: UllageError) -> ErrorObject:
    """Returns the wire form of an error, the same at the Language Server's and ACP's door, with one exception: an
    authentication error gets the error code that ACP defines for it."""
    sent = error_object(error)
    return replace(sent, code=AUTHENTICATION_REQUIRED) if isinstance(error, _NEEDS_KEY) else sent
