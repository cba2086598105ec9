"""`ullage doctor`: checks that everything Ullage needs is installed and works, and that its providers answer."""

from argparse import Namespace
from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text

from ullage.cli.draw.text import fit, wrap
from ullage.cli.health import checks
from ullage.cli.output import Screen, print_json
from ullage.cli.provider_health import Check, GivenProvider
from ullage.cli.reports import CheckRow, DoctorReport
from ullage.cli.typed_arguments import read_options
from ullage.model.errors import InvalidRequest
from ullage.model.settings import ProviderSettings
from ullage.providers.registry import KNOWN

# The kind of a provider that isn't known by name: most local servers offer OpenAI's chat API.
_DEFAULT_KIND = "openai_chat"
_SIGNS = {"ok": ("ok", "green"), "fix": ("FIX", "bold red"), "absent": ("-", "dim")}
# Cells of a sign and of a check's name, and the fewest that are left for what it found.
_SIGN, _NAME, _LEAST = 5, 11, 20


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
    failed = any(check.remedy for check in found)
    if options.json:
        print_json(DoctorReport(ok=not failed, checks=tuple(map(_row, found))))
    return 1 if failed else 0


def _row(check: Check) -> CheckRow:
    return CheckRow(what=check.what, status=_status(check), found=check.found, remedy=check.remedy)


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
    found = [(line, "") for line in wrap(check.found, room, screen.glyphs)]
    remedy = [(line, "bold") for line in wrap(check.remedy, room, screen.glyphs) if line]
    for place, text in enumerate([*found, *remedy]):
        yield Text.assemble(head if place == 0 else " " * head.cell_len, text)
