"""Runs one bench and prints a table, or one JSON object: `./scripts/bench NAME [--json] [FILE|FOLDER…]`."""

import argparse
import sys
from importlib import import_module
from itertools import groupby
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from benches.report import Report

# Each bench, its module and, if that is not `run`, its function. Most modules have the name of their bench.
_NAMED = (
    "accuracy",
    "archive",
    "clock",
    "editors",
    "follow",
    "items",
    "proxy",
    "quality",
    "rivals",
    "secrets",
    "soak",
    "speed",
    "state",
    "store",
    "trigger",
)
BENCHES = {name: name for name in _NAMED} | {
    "search-large": "search:large",
    "search-published": "search",
    "fitting": "speed:fitting",
    "mcp": "mcp_start",
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("name", choices=BENCHES)
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--sessions", type=int, help="quality: measure at most so many conversations")
    served = "search-published: order what the words find by the embeddings of this server"
    parser.add_argument("--embeddings", nargs=2, metavar=("URL", "MODEL"), help=served)
    parser.add_argument("--long", action="store_true", help="store: search among a million messages, too")
    parser.add_argument("--files", type=Path, help="state: measure the recordings in this folder")
    parser.add_argument("--sample", type=int, help="state: measure so many compactions, spread over all")
    parser.add_argument("--detail", action="store_true", help="state: print each verdict with the line it is judged by")
    parser.add_argument("--minutes", type=float, help="soak: how long to work, 20 unless given")
    parser.add_argument("--picture", type=Path, help="soak: draw the curves into this file (SVG)")
    parser.add_argument("paths", nargs="*", type=Path, help="transcripts or folders of them")
    given = parser.parse_intermixed_args()
    if given.sessions and given.name != "quality":
        parser.error("--sessions goes with quality")
    if given.embeddings and given.name != "search-published":
        parser.error("--embeddings goes with search-published")
    if given.long and given.name != "store":
        parser.error("--long goes with store")
    if (given.files or given.sample or given.detail) and given.name != "state":
        parser.error("--files, --sample and --detail go with state")
    if (given.minutes or given.picture) and given.name != "soak":
        parser.error("--minutes and --picture go with soak")
    options = {
        "sessions": given.sessions,
        "embeddings": given.embeddings,
        "is_long": given.long,
        "sample": given.sample,
        "detail": given.detail,
        "minutes": given.minutes,
        "picture": given.picture,
    }
    more = {name: value for name, value in options.items() if value}
    paths = [*given.paths, *([given.files] if given.files else [])]
    module, _, function = BENCHES[given.name].partition(":")
    report: Report = getattr(import_module(f"benches.{module}"), function or "run")(paths, **more)
    if given.json:
        print(msgspec.json.encode(report).decode())
    else:
        show(report)
    # Where a page that says nothing scores, the other figures of the ruler mean nothing.
    return 1 if given.name == "state" and not all(aim.met for aim in report.aims) else 0


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
