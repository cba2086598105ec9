"""Parts that fail when a test says so: a store and a token counter whose calls are numbered, and what a store holds."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from support.memory_store import MemoryStore
from ullage.model.errors import StoreUnavailable
from ullage.model.events import Record
from ullage.service.ports.store import SessionStore
from ullage.tokens.counter import TokenCounter, get_counter

# More sessions than any test makes.
_ALL = 1 << 20


class Faults:
    """Numbers the calls of a part from `arm` on, and has the call number `at` fail, and with `stays` all after it.
    `fired` says that one has failed."""

    def __init__(self) -> None:
        self.fired = ""
        self._at, self._stays, self._calls = 0, False, 0

    def arm(self, at: int, *, stays: bool = False) -> None:
        """Has the call number `at` fail, counted from 1 and from now on."""
        self._at, self._stays, self._calls, self.fired = at, stays, 0, ""

    def disarm(self) -> None:
        """Lets all calls pass."""
        self._at = 0

    def fails(self, name: str) -> bool:
        """Counts a call of the method `name`, and returns whether it is to fail."""
        self._calls += 1
        due = bool(self._at) and (self._calls == self._at or (self._stays and self._calls > self._at))
        if due and not self.fired:
            self.fired = name
        return due


class FaultyStore:
    """A store, one in memory unless another is given, whose calls may fail: each is refused before it has done
    anything."""

    def __init__(self, faults: Faults, inner: SessionStore | None = None) -> None:
        self.inner: SessionStore = inner or MemoryStore()
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)

        def call(*args: Any, **options: Any) -> Any:
            if self._faults.fails(name):
                raise StoreUnavailable(f"the store fails at `{name}`")
            return method(*args, **options)

        return call

    @property
    def as_store(self) -> SessionStore:
        """The same as a store."""
        return cast("SessionStore", self)


class FaultyCounter:
    """A program's own counter, which may fail."""

    def __init__(self, faults: Faults) -> None:
        self._counter = get_counter("gpt-4o")
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._counter, name)
        if not callable(found):
            return found

        def call(*args: Any, **options: Any) -> Any:
            if self._faults.fails(name):
                raise ArithmeticError(f"the counter fails at `{name}`")
            return found(*args, **options)

        return call

    @property
    def as_counter(self) -> TokenCounter:
        """The same as a counter."""
        return cast("TokenCounter", self)


class Held(Struct, frozen=True):
    """What a store holds: the whole log of each listed session."""

    logs: Mapping[str, Sequence[Record]]

    @classmethod
    def by(cls, store: SessionStore) -> "Held":
        """Returns what `store` holds now."""
        return cls({info.session_id: store.read(info.session_id) for info in store.list(limit=_ALL)})
