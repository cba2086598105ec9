"""An error of ours as it goes over the wire, the same at both doors."""

from ullage.api.codes import code_of
from ullage.jsonrpc.errors import ErrorData, ErrorObject
from ullage.model.errors import UllageError


def error_object(error: UllageError) -> ErrorObject:
    """The error with its code and name."""
    return ErrorObject(code=code_of(error), message=str(error), data=ErrorData(kind=type(error).__name__))
