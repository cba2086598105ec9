"""Runs one bench and prints a table, or one JSON object: `./scripts/bench NAME [--json] [FILE|FOLDER…]`."""

import argparse
import sys
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console
from rich.table import Table

from benches.report import Report

# Each bench, its module and, if that is not `run`, its function. Most modules have the name of their bench.
_NAMED = (
    *("accuracy", "clock", "editors", "follow", "proxy"),
    *("secrets", "soak", "speed", "state", "store", "trigger"),
)
BENCHES = {name: name for name in _NAMED} | {
    "search-large": "search:large",
    "search-published": "search",
    "mcp": "mcp_start",
}


# The bench that an option is of, and the option's help.
_OPTIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "embeddings": (
        "search-published",
        {"nargs": 2, "metavar": ("URL", "MODEL"), "help": "order what the words find by the embeddings of this server"},
    ),
    "detail": ("state", {"action": "store_true", "help": "print each verdict with the line it is judged by"}),
    "minutes": ("soak", {"type": float, "help": "how long to work, 20 unless given"}),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("name", choices=BENCHES)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    for option, (bench, given) in _OPTIONS.items():
        given["help"] = f"{bench}: {given['help']}"
        parser.add_argument(f"--{option}", **given)
    parser.add_argument("paths", nargs="*", type=Path, help="transcripts or folders of them")
    words = vars(parser.parse_intermixed_args())
    name, paths = words["name"], words["paths"]
    options: dict[str, Any] = {}
    for option, (bench, _) in _OPTIONS.items():
        if words[option]:
            if bench != name:
                parser.error(f"--{option} goes with {bench}")
            options[option] = words[option]
    module, _, function = BENCHES[name].partition(":")
    report: Report = getattr(import_module(f"benches.{module}"), function or "run")(paths, **options)
    if words["json"]:
        print(msgspec.json.encode(report).decode())
    else:
        show(report)
    # Where a page that says nothing scores, the other figures of the ruler mean nothing.
    return 1 if name == "state" and not all(aim.met for aim in report.aims) else 0


def show(report: Report) -> None:
    console = Console()
    if not report.rows:
        console.print(f"bench {report.bench}: nothing to measure; name files or folders of recorded conversations")
    for columns, rows in groupby(report.rows, key=tuple):
        table = Table(*columns, title=f"bench {report.bench}")
        for row in rows:
            table.add_row(*(_cell(value) for value in row.values()))
        console.print(table)
    for aim in report.aims:
        console.print(
            f"{'met   ' if aim.met else 'MISSED'}  {aim.what}: {aim.value:g} (aim {aim.aim})", highlight=False
        )


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
