"""An ACP client's connection: the request engine over lines of JSON."""

from msgspec.structs import replace

from ullage.api.codes import error_object
from ullage.api.engine import RequestEngine
from ullage.jsonrpc.line_framing import MAX_LINE, LineFraming
from ullage.jsonrpc.peer import Dialect
from ullage.jsonrpc.rpc_errors import ErrorObject
from ullage.model.errors import AuthenticationFailed, NoModelConfigured, UllageError

# ACP's code for a missing key. The client then shows the agent's ways to authenticate.
AUTHENTICATION_REQUIRED = -32000
_NEEDS_KEY = (NoModelConfigured, AuthenticationFailed)
INITIALIZE = "initialize"
DIALECT = Dialect(cancel="$/cancel_request", cancel_key="requestId", opening=INITIALIZE)


class AcpConnection(RequestEngine):
    """The connection of one ACP client. `max_line` is the length of the longest message that is accepted, in bytes."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        super().__init__(LineFraming(max_line), DIALECT, describe=wire_error)


def wire_error(error: UllageError) -> ErrorObject:
    """Returns an error as a JSON-RPC error object. It is the one that the Language Server sends, too, except that
    `NoModelConfigured` and `AuthenticationFailed` get the code -32000, which ACP defines for them."""
    sent = error_object(error)
    return replace(sent, code=AUTHENTICATION_REQUIRED) if isinstance(error, _NEEDS_KEY) else sent
