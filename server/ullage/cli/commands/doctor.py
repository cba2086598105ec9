"""`ullage doctor`: checks that everything Ullage needs is installed and works, and that its providers answer."""

import asyncio
import base64
import hashlib
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text

from ullage import __version__
from ullage.cli.arguments import add_json, read_options
from ullage.cli.drawing import fit, plural, wrap
from ullage.cli.health_checks import (
    Check,
    GivenProvider,
    desktop_checks,
    extras_check,
    plugin_checks,
    provider_checks,
    retention_checks,
    store_check,
    team_checks,
    wiring_checks,
)
from ullage.cli.lsp_client import start_server
from ullage.cli.output import Screen, print_json
from ullage.cli.reports import Report, filled
from ullage.known_models import MODELS
from ullage.model.errors import InvalidRequest, UllageError
from ullage.model.settings import ProviderSettings
from ullage.providers.registry import KNOWN
from ullage.store.store_place import StorePlace
from ullage.tokens.counter import get_counter
from ullage.tokens.vocabulary import SPECS, read_tokens


class CheckRow(Struct, frozen=True, kw_only=True):
    """A check of `ullage doctor`. `status` is `ok`, `fix` (then `remedy` is what to do), or `absent` if the thing
    checked is not set up, which is no failure."""

    what: str
    status: Literal["ok", "fix", "absent"]
    found: str
    remedy: str


class DoctorReport(Report, frozen=True, kw_only=True):
    """What `ullage doctor --json` prints. `ok` is true if no check has the status `fix`."""

    ok: bool
    checks: tuple[CheckRow, ...]


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--provider", metavar="NAME", help="check this provider: anthropic, openai, or one of your own")
    parser.add_argument(
        "--kind",
        choices=["anthropic", "openai", "openai_chat", "scripted", "replay"],
        help="what it speaks; openai_chat unless it is known by name",
    )
    parser.add_argument("--base-url", metavar="URL", help="its address, for example http://localhost:11434/v1")
    parser.add_argument("--key-env", metavar="VARIABLE", help="the environment variable that holds its key")
    parser.add_argument("--file", metavar="PATH", help="the script or transcript that it plays")
    parser.add_argument("--model", metavar="NAME", help="a model that it should have")
    add_json(parser)


# The kind of a provider that isn't known by name: most local servers offer OpenAI's chat API.
_DEFAULT_KIND = "openai_chat"
_SIGNS = {"ok": ("ok", "green"), "fix": ("FIX", "bold red"), "absent": ("-", "dim")}
# Cells of a sign and of a check's name, and the fewest that are left for what it found.
_SIGN, _NAME, _LEAST = 5, 11, 20
_OLDEST_PYTHON = (3, 11)
# A text and its number of tokens in o200k_base, GPT-4o's encoding, as OpenAI's own tokenizer counts them.
_KNOWN_MODEL, _KNOWN_TEXT, _KNOWN_TOKENS = "gpt-4o", "tiktoken is great!", 6
_REINSTALL = "install Ullage again: a file of the package is damaged"


class DoctorOptions(Struct, frozen=True, kw_only=True):
    """The arguments of `ullage doctor`. All except `store` and `json` describe one provider to check."""

    store: str | None
    provider: str | None
    kind: str | None
    base_url: str | None
    key_env: str | None
    file: str | None
    model: str | None
    json: bool

    @property
    def given(self) -> GivenProvider | None:
        """The provider that the arguments describe, or None if they describe none.

        Raises `InvalidRequest` for a provider name that Ullage doesn't know, if no other argument describes that
        provider.
        """
        described = {"kind": self.kind, "baseUrl": self.base_url, "keyEnv": self.key_env, "file": self.file}
        given = {name: value for name, value in described.items() if value is not None}
        if not given and self.provider is None:
            return None
        known = msgspec.to_builtins(KNOWN[self.provider]) if self.provider in KNOWN else {"kind": _DEFAULT_KIND}
        if self.provider not in KNOWN and not given:
            raise InvalidRequest(
                f"--provider {self.provider}: only {' and '.join(KNOWN)} are known by name; give --base-url, or --kind"
            )
        settings = msgspec.convert({**known, **given}, ProviderSettings)
        return GivenProvider(name=self.provider or settings.kind, settings=settings, model=self.model or "")


def run(args: Namespace) -> int:
    """Prints one line per check, with what to do if it failed. Returns 1 if any failed, otherwise 0."""
    options, screen = read_options(args, DoctorOptions), Screen.of(args)
    found: list[Check] = []
    for check in checks(options.store, options.given):
        found.append(check)
        if not options.json:
            screen.print(_lines(check, screen))
    failed = sum(bool(check.remedy) for check in found)
    if options.json:
        rows = tuple(filled(CheckRow, (check,), status=_status(check)) for check in found)
        print_json(DoctorReport(ok=not failed, checks=rows))
    else:
        screen.print([f"{plural(failed, 'thing')} to mend: see FIX above." if failed else "All is well."])
    return 1 if failed else 0


def _status(check: Check) -> Literal["ok", "fix", "absent"]:
    if check.remedy:
        return "fix"
    return "absent" if check.absent else "ok"


def _lines(check: Check, screen: Screen) -> Iterator[Text]:
    """Yields the lines for one check: its sign and name in columns of their own, then what was found and what to do."""
    sign, style = _SIGNS[_status(check)]
    name = fit(check.what, max(_NAME, cell_len(check.what)), screen.glyphs)
    head = Text.assemble((f"{sign:<{_SIGN}}", style), name, "  ")
    room = max(_LEAST, screen.room - head.cell_len)
    texts = [*((text, "") for text in check.found.splitlines()), *([(check.remedy, "bold")] if check.remedy else [])]
    lines = ((line, style) for text, style in texts for line in wrap(text, room, screen.glyphs, whole_paths=True))
    for place, text in enumerate(lines):
        yield Text.assemble(head if place == 0 else " " * head.cell_len, text)


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
    yield from desktop_checks()
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
