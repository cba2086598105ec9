"""Regular expressions that are compiled when they are first used, for modules whose expressions take a millisecond or
more: a program needs few of them, and to compile all takes a sixth of the time in which a command starts."""

import re
from typing import Any, AnyStr, cast


def expression(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Returns what `re.compile` does, but compiles on first use. A wrong expression raises `re.error` only then."""
    return cast("re.Pattern[AnyStr]", _Expression(source, flags))


class _Expression:
    def __init__(self, source: str | bytes, flags: int) -> None:
        self._given: tuple[Any, int] = source, flags

    def __getattr__(self, name: str) -> Any:
        # Called only for what is not there yet.
        compiled: re.Pattern[Any] = re.compile(*self._given)
        self.__dict__ |= {each: getattr(compiled, each) for each in dir(compiled) if not each.startswith("_")}
        return getattr(compiled, name)
