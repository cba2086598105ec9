"""An ACP client's connection: the request engine over lines of JSON."""

from collections.abc import Iterable

from msgspec.structs import replace

from ullage.api.codes import error_object
from ullage.api.engine import RequestEngine
from ullage.jsonrpc.line_framing import MAX_LINE, LineSplitter, LineTooLong
from ullage.jsonrpc.peer import Dialect
from ullage.jsonrpc.rpc_errors import BadFrame, ErrorObject
from ullage.model.errors import AuthenticationFailed, NoModelConfigured, UllageError

# The client then shows the agent's ways to authenticate.
AUTHENTICATION_REQUIRED = -32000
_NEEDS_KEY = (NoModelConfigured, AuthenticationFailed)
INITIALIZE = "initialize"
DIALECT = Dialect(cancel="$/cancel_request", cancel_key="requestId", opening=INITIALIZE)


class AcpConnection(RequestEngine):
    """One client's connection."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        super().__init__(_Lines(max_line), DIALECT, describe=wire_error)


class _Lines:
    """One message per line; empty lines are passed over, and the last line may lack its break."""

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
    """The error as both doors send it, but for a key that is missing or wrong: that has a code of its own here."""
    sent = error_object(error)
    return replace(sent, code=AUTHENTICATION_REQUIRED) if isinstance(error, _NEEDS_KEY) else sent
