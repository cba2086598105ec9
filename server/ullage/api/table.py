"""The shape of a method. `methods.py` holds the table; the doors add their prefix to `name` and serve the method."""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from msgspec import Struct

from ullage.service.conversation.workspace import Workspace

P = TypeVar("P")
R = TypeVar("R")


class Method(Struct, Generic[P, R], frozen=True, kw_only=True):
    """One method: `name` without prefix (`session/append`), and the types of its params and result.

    The handler gets decoded params. It returns a value of the result type or raises an `UllageError`. It may be
    cancelled as any coroutine. A `notification` has no id and gets no answer.
    """

    name: str
    params: type[P]
    result: type[R]
    handler: Callable[[Workspace, P], Awaitable[R]]
    doc: str = ""
    notification: bool = False


AnyMethod = Method[Any, Any]
