"""`ullage doctor`: whether everything Ullage needs is there and works."""

from argparse import Namespace
from pathlib import Path

from msgspec import Struct
from rich.text import Text

from ullage.cli.health import Check, checks
from ullage.cli.options import read_options
from ullage.cli.terminal import print_lines


class DoctorOptions(Struct, frozen=True, kw_only=True):
    """The arguments of `ullage doctor`."""

    store: Path | None


def run(args: Namespace) -> int:
    """Prints one line a check, and what to do where one failed; 1 if any did."""
    failed = False
    for check in checks(read_options(args, DoctorOptions).store):
        print_lines([_line(check)])
        failed = failed or bool(check.remedy)
    return 1 if failed else 0


def _line(check: Check) -> Text:
    verdict = ("FIX ", "bold red") if check.remedy else ("ok  ", "green")
    remedy = f"\n      {check.remedy}" if check.remedy else ""
    return Text.assemble(verdict, f"{check.what:<11}", check.found, (remedy, "bold"))
