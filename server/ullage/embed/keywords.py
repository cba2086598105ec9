"""The error for an option that does not exist. It names the most similar option that does."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import wraps
from inspect import Parameter, signature
from typing import Any, TypeVar, cast

C = TypeVar("C", bound=type)


def check_options(where: str, given: Mapping[str, Any], known: Collection[str]) -> None:
    """Raises `TypeError` for the first name in `given` that is not in `known`. `where` is the name of the class or
    function for the error's text."""
    for name in given:
        if name in known:
            continue
        near = get_close_matches(name, known, 1)
        remedy = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(known)) or 'none'}"
        raise TypeError(f"{where}() has no option {name!r}; {remedy}")


def checked(made: C) -> C:
    """A class decorator: the class raises the `TypeError` of `check_options` for unknown options, and its `repr` shows
    the options that its objects were made with."""
    init = made.__init__
    known = [
        name
        for name, parameter in signature(init).parameters.items()
        if name != "self" and parameter.kind is not Parameter.VAR_KEYWORD
    ]

    @wraps(init)
    def refusing(self: Any, *args: Any, **options: Any) -> None:
        check_options(made.__name__, options, known)
        init(self, *args, **options)

    def show(self: Any) -> str:
        options = ", ".join(f"{name}={getattr(self, name)!r}" for name in known if name in vars(self))
        return f"{made.__name__}({options})"

    made.__init__ = refusing
    cast("Any", made).__repr__ = show
    return made
