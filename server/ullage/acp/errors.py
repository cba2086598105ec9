"""Our errors with the codes that the Agent Client Protocol has for them."""

from msgspec.structs import replace

from ullage.api.error_object import error_object
from ullage.jsonrpc.errors import ErrorObject
from ullage.model.errors import AuthenticationFailed, NoModelConfigured, UllageError

# The client then shows the agent's ways to authenticate.
AUTHENTICATION_REQUIRED = -32000
_NEEDS_KEY = (NoModelConfigured, AuthenticationFailed)


def wire_error(error: UllageError) -> ErrorObject:
    """The error as both doors send it, but for a key that is missing or wrong: that has a code of its own here."""
    sent = error_object(error)
    return replace(sent, code=AUTHENTICATION_REQUIRED) if isinstance(error, _NEEDS_KEY) else sent
