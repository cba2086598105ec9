"""An error as it goes over the wire, the same at both doors."""

from msgspec import UNSET, Struct, UnsetType

from ullage.api.codes import code_of
from ullage.model.errors import UllageError


class ErrorData(Struct, frozen=True, kw_only=True):
    """`kind` is the error's name, a stable word for programs."""

    kind: str


class ErrorObject(Struct, frozen=True, kw_only=True):
    """JSON-RPC's error object; `message` is one line fit for a person. `data` is left out where the request could not
    be read, and for a failure inside."""

    code: int
    message: str
    data: ErrorData | UnsetType = UNSET


def error_object(error: UllageError) -> ErrorObject:
    """The error with its code and name."""
    return ErrorObject(code=code_of(error), message=str(error), data=ErrorData(kind=type(error).__name__))
