"""The checks of `ullage doctor`, one function each. A failed check says what to do."""

import asyncio
import base64
import hashlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from ullage import __version__
from ullage.catalog.limits import MODELS
from ullage.cli.lsp_client import start_server
from ullage.cli.plugin_health import plugin_checks
from ullage.cli.provider_health import Check, GivenProvider, extras_check, provider_checks
from ullage.cli.retention_health import retention_checks
from ullage.cli.store_health import store_check, team_checks
from ullage.cli.wiring_health import wiring_checks
from ullage.model.errors import UllageError
from ullage.store.store_place import StorePlace
from ullage.tokens.counter_choice import get_counter
from ullage.tokens.vocabulary import SPECS, read_tokens

_OLDEST_PYTHON = (3, 11)
# A text and its number of tokens in o200k_base, GPT-4o's encoding, as OpenAI's own tokenizer counts them.
_KNOWN_MODEL, _KNOWN_TEXT, _KNOWN_TOKENS = "gpt-4o", "tiktoken is great!", 6
_REINSTALL = "install Ullage again: a file of the package is damaged"


def checks(store: StorePlace | None, provider: GivenProvider | None) -> Iterator[Check]:
    """Yields the results of all checks: Python, the store, the package's data, the server, the extras and the
    providers. Each check runs when its result is requested.

    `store` is the store's place, or None for the one in the user's data folder. `provider` is the only provider to
    check, or None for all known ones.
    """
    yield _python()
    yield from (_guarded(what, check) for what, check in _guardable(store))
    yield from retention_checks(store)
    yield from wiring_checks(store)
    yield from plugin_checks(store)
    yield from team_checks()
    yield extras_check()
    yield from provider_checks(provider)


def _guardable(store: StorePlace | None) -> Iterator[tuple[str, Callable[[], Check]]]:
    yield "store", lambda: store_check(store)
    yield "vocabulary", _vocabularies
    yield "counting", _counting
    yield "catalog", _catalog
    yield "server", _server


def _guarded(what: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except (UllageError, OSError, ValueError, EOFError, msgspec.MsgspecError) as error:
        return Check(what=what, found=str(error), remedy=_REINSTALL if what != "store" else "see above, or use --store")


def _python() -> Check:
    version = ".".join(map(str, sys.version_info[:3]))
    found = f"Ullage {__version__} on Python {version} ({sys.executable})"
    too_old = sys.version_info[:2] < _OLDEST_PYTHON
    return Check(what="python", found=found, remedy="use Python 3.11 or newer" if too_old else "")


def _vocabularies() -> Check:
    damaged = [name for name, spec in SPECS.items() if _published_hash(name) != spec.sha256]
    if damaged:
        return Check(what="vocabulary", found=f"{', '.join(damaged)}: not the published tokens", remedy=_REINSTALL)
    return Check(what="vocabulary", found=f"{', '.join(SPECS)}: as published")


def _published_hash(name: str) -> str:
    """Returns the SHA-256 hash of a vocabulary's file as OpenAI published it, computed from the packed tokens."""
    published = hashlib.sha256()
    for rank, token in enumerate(read_tokens(name)):
        published.update(b"%b %d\n" % (base64.b64encode(token), rank))
    return published.hexdigest()


def _counting() -> Check:
    counted = get_counter(_KNOWN_MODEL).count(_KNOWN_TEXT)
    wrong = "" if counted == _KNOWN_TOKENS else _REINSTALL
    return Check(what="counting", found=f"{_KNOWN_TEXT!r} is {counted} tokens for {_KNOWN_MODEL}", remedy=wrong)


def _catalog() -> Check:
    models = msgspec.json.decode(MODELS.read_bytes(), type=dict[str, object])
    return Check(what="catalog", found=f"limits of {len(models):,} models", remedy="" if models else _REINSTALL)


def _server() -> Check:
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="ullage-") as folder:
        asyncio.run(_start_and_stop(Path(folder) / "sessions.db"))
    return Check(what="server", found=f"started, answered and ended within {time.perf_counter() - start:.1f} s")


async def _start_and_stop(store: Path) -> None:
    async with start_server(store, None, lambda _method, _params: None):
        pass
