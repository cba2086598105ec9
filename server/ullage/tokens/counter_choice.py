"""Chooses the counter for a model: exact if its encoding is public, else scaled, and approximate as the last resort."""

import logging
from collections.abc import Callable
from lzma import LZMAError

from ullage.tokens.approximate import ApproximateCounter
from ullage.tokens.counter import TokenCounter
from ullage.tokens.families import Family, family_of
from ullage.tokens.model_names import bare_name
from ullage.tokens.tiktoken_counter import TiktokenCounter

_log = logging.getLogger(__name__)

MakeCounter = Callable[[Family], TokenCounter]


class CounterRegistry:
    """Makes one counter per family of models and encoding, and keeps it. If an exact or scaled counter cannot be made,
    logs one warning and gives approximate counters."""

    def __init__(self, make_exact: MakeCounter = TiktokenCounter) -> None:
        self._make_exact = make_exact
        self._counters: dict[tuple[str, str], TokenCounter] = {}
        self._warned = False

    def get_counter(self, model: str, encoding: str | None = None) -> TokenCounter:
        """Returns the counter for a model's name as any provider spells it. `encoding` (`cl100k_base`, `o200k_base`,
        `approximate`) replaces the family's own; its counts are then not scaled."""
        family = family_of(bare_name(model))
        key = (family.name, encoding or "")
        if key not in self._counters:
            self._counters[key] = self._make(family, encoding)
        return self._counters[key]

    def _make(self, family: Family, encoding: str | None) -> TokenCounter:
        if encoding == "approximate":
            return ApproximateCounter(family)
        try:
            return self._make_exact(family.counted_with(encoding) if encoding else family)
        except (ImportError, OSError, LZMAError) as error:
            self._warn(error)
            return ApproximateCounter(family)

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            _log.warning("Token counts are approximate, the packed vocabulary cannot be used: %s", error)


_registry = CounterRegistry()


def get_counter(model: str, encoding: str | None = None) -> TokenCounter:
    """Returns the counter that this process uses for a model; see `CounterRegistry.get_counter`."""
    return _registry.get_counter(model, encoding)
