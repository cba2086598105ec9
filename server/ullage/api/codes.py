"""The error codes of both doors. `data.kind` of an error is the name of its class, and the message is the error's text.

Our own codes are positive. JSON-RPC reserves -32768 to -32000, the Language Server Protocol -32899 to -32800. -32002 is
the Agent Client Protocol's "resource not found".
"""

from ullage.jsonrpc.rpc_errors import INVALID_PARAMS, REQUEST_CANCELLED, ErrorData, ErrorObject
from ullage.model import errors

RESOURCE_NOT_FOUND = -32002

CODES: dict[type[errors.UllageError], int] = {
    errors.UllageError: 1000,
    errors.InputError: INVALID_PARAMS,
    errors.UnknownFormat: INVALID_PARAMS,
    errors.UnreadableTranscript: INVALID_PARAMS,
    errors.InvalidRequest: INVALID_PARAMS,
    errors.NotFound: RESOURCE_NOT_FOUND,
    errors.SessionNotFound: RESOURCE_NOT_FOUND,
    errors.MessageNotFound: RESOURCE_NOT_FOUND,
    errors.EditNotFound: RESOURCE_NOT_FOUND,
    errors.Conflict: 1100,
    errors.ConcurrentAppend: 1101,
    errors.SessionBusy: 1102,
    errors.NothingToCompact: 1103,
    errors.NothingToUndo: 1104,
    errors.PreviewExpired: 1105,
    errors.CompactionVetoed: 1106,
    errors.SessionFollowed: 1107,
    errors.StoreError: 1200,
    errors.StoreTooNew: 1201,
    errors.StoreUnavailable: 1202,
    errors.ContextError: 1300,
    errors.WindowUnknown: 1301,
    errors.CannotFit: 1302,
    errors.ProviderError: 1400,
    errors.NoModelConfigured: 1401,
    errors.ProviderUnavailable: 1402,
    errors.RateLimited: 1403,
    errors.AuthenticationFailed: 1404,
    errors.ContextTooLong: 1405,
    errors.RequestRefused: 1406,
    errors.AnswerBroken: 1407,
    errors.AgentError: 1408,
    errors.SdkMissing: 1409,
    errors.Cancelled: REQUEST_CANCELLED,
}


def code_of(error: errors.UllageError) -> int:
    """Returns the error code by which an error is sent: that of its class, or of the nearest base class that has
    one."""
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def error_object(error: errors.UllageError) -> ErrorObject:
    """Returns an `UllageError` as JSON-RPC's error object, with its code, its text and the name of its class."""
    return ErrorObject(code=code_of(error), message=str(error), data=ErrorData(kind=type(error).__name__))
