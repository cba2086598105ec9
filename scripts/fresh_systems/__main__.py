"""`./scripts/fresh OUT`: installs what `./scripts/release OUT` built on systems that have nothing else, and prints how
long that took, as a table."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from fresh_systems.installations import SYSTEMS, WAYS, Tried, Way, files_of, install
from fresh_systems.machine import Broken, make_base, missing
from releasing.project import ROOT
from support.neovim import RIGS

_SAMPLE = ROOT / "server" / "ullage" / "cli" / "data" / "sample.jsonl"
_NEWCOMER = ROOT / "editors" / "nvim" / "tests" / "newcomer.lua"


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 1 if an installation showed no figure, and 2 if this machine can make no systems."""
    parser = argparse.ArgumentParser(prog="scripts/fresh", description=__doc__)
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder of a release")
    parser.add_argument("--system", choices=SYSTEMS, action="append", help="one of the systems; may be repeated")
    parser.add_argument("--transcript", type=Path, default=_SAMPLE, help="the conversation of the first figure")
    given = parser.parse_args(arguments)
    if reason := missing():
        print(reason, file=sys.stderr)
        return 2
    print("| system | what, and how | installed in | first figure, without a network | figure |\n|---|---|---|---|---|")
    ended = [_try(way, suite, given) for suite in given.system or SYSTEMS for way in WAYS if suite in way.suites]
    return int(any(tried.fault for tried in ended))


def _try(way: Way, suite: str, given: argparse.Namespace) -> Tried:
    files = files_of(way, given.out)
    if not files:
        tried = Tried(suite, way.name, fault=f"{given.out} has no {way.file}")
    else:
        try:
            base = make_base(suite, RIGS / "fresh")
            tried = install(way, suite, base, [*files, _NEWCOMER], given.transcript)
        except Broken as fault:
            tried = Tried(suite, way.name, fault=str(fault))
    print(line(tried), flush=True)
    return tried


def line(tried: Tried) -> str:
    """Returns an installation as a row of the table, a failed one with its fault below it."""
    if tried.fault:
        return f"| {tried.system} | {tried.way} | FAILED | | |\n{tried.fault}"
    return f"| {tried.system} | {tried.way} | {tried.install:.1f} s | {tried.first:.1f} s | {tried.figure} |"


if __name__ == "__main__":
    sys.exit(main())
