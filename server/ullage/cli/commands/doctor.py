"""`ullage doctor`: checks that everything Ullage needs is there and works, and that its providers answer."""

import sys
from argparse import Namespace
from pathlib import Path

import msgspec
from msgspec import Struct
from rich.text import Text

from ullage.cli.health import checks
from ullage.cli.options import read_options
from ullage.cli.output import print_lines
from ullage.cli.provider_health import Check, GivenProvider
from ullage.model.errors import InvalidRequest
from ullage.model.settings import ProviderSettings
from ullage.providers.registry import KNOWN

# The kind of a provider that isn't known by name: most local servers offer OpenAI's chat API.
_DEFAULT_KIND = "openai_chat"


class DoctorOptions(Struct, frozen=True, kw_only=True):
    """The arguments of `ullage doctor`. `kind`, `base_url`, `key_env`, `file` and `model` describe a provider."""

    store: Path | None
    provider: str | None
    kind: str | None
    base_url: str | None
    key_env: str | None
    file: str | None
    model: str | None
    json: bool

    @property
    def given(self) -> GivenProvider | None:
        """The provider that the arguments describe, or None.

        Raises `InvalidRequest` if a provider of unknown name has no address.
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
    options = read_options(args, DoctorOptions)
    found: list[Check] = []
    for check in checks(options.store, options.given):
        found.append(check)
        if not options.json:
            print_lines([_line(check)])
    failed = any(check.remedy for check in found)
    if options.json:
        result = {"ok": not failed, "checks": found}
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(result), indent=2).decode() + "\n")
    return 1 if failed else 0


def _line(check: Check) -> Text:
    verdict = ("FIX ", "bold red") if check.remedy else ("ok  ", "green")
    remedy = f"\n      {check.remedy}" if check.remedy else ""
    return Text.assemble(verdict, f"{check.what:<11}", check.found, (remedy, "bold"))
