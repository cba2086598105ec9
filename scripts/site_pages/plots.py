"""The site's page of plots: drawn from what benches printed, which is kept in `docs/figures`."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

HEADING = "Measured"
PAGE = "plots.md"
FIGURES = Path("docs/figures")
# Colour-blind safe (Okabe and Ito), and readable on light and dark pages.
_OWN, _OTHER = "#0072B2", "#999999"

_INTRODUCTION = """\
# Plots

Drawn from what `./scripts/bench NAME --json` printed on 23 November 2026 ([the figures](FIGURES)). The conversations
were recorded by others with real models; they are not part of the repository. To measure your own, name files or
folders after the bench's name.
"""
_ACCURACY = """\
## How far the figure is off

`./scripts/bench accuracy`: before each answer the figure is predicted, and compared with the usage that the provider
then reported; SESSIONS conversations, each a dot for half of its predictions and one for 95 % of them. The largest
errors are texts that an agent sent and did not write into its log: Claude Code 2.1.36 told its model 3,600 tokens about
files that a formatter had changed, and 9,600 when it was started again.
"""


def write_plots(root: Path, staged: Path, repository: str) -> None:
    """Draws the plots into the folder of the staged pages, and writes their page."""
    accuracy = _report(root, "accuracy")
    sessions = [row for row in accuracy["rows"] if row.get("predicted")]
    (staged / "images").mkdir(exist_ok=True)
    _draw_accuracy(sessions, staged / "images" / "plot-accuracy.svg")
    parts = (
        _INTRODUCTION.replace("FIGURES", f"{repository}/tree/main/{FIGURES.as_posix()}"),
        _ACCURACY.replace("SESSIONS", str(len(sessions))),
        "![Dots: the error of the figure for each conversation, from the smallest](images/plot-accuracy.svg)\n",
        _aims(accuracy),
    )
    (staged / PAGE).write_text("\n".join(parts), encoding="utf-8")


def _report(root: Path, name: str) -> dict[str, Any]:
    return msgspec.json.decode((root / FIGURES / f"{name}.json").read_bytes(), type=dict[str, Any])


def _aims(report: Mapping[str, Any]) -> str:
    """Returns a report's aims as a table, the missed ones among them."""
    rows = [
        f"| {aim['what']} | {aim['value']:g} | {aim['aim']} | {'met' if aim['met'] else '**missed**'} |"
        for aim in report["aims"]
        # A time says more of the machine and its load than of Ullage.
        if "milliseconds" not in aim["what"]
    ]
    return "\n".join(["| | measured | aim | |", "|---|--:|--:|---|", *rows, ""])


def _draw_accuracy(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    figure, axes = _axes(height=3.2)
    ordered = sorted(rows, key=lambda row: row["median"])
    places = range(1, len(ordered) + 1)
    # A prediction without any error has no place on a logarithmic scale.
    least = 1e-3
    axes.scatter(places, [max(least, 100 * row["median"]) for row in ordered], color=_OWN, s=14, label="median")
    axes.scatter(places, [max(least, 100 * row["p95"]) for row in ordered], color=_OTHER, s=14, label="95th percentile")
    axes.set_yscale("log")
    axes.set_ylabel("error, per cent")
    axes.set_xlabel("conversations, by their median")
    axes.legend(frameon=False)
    _save(figure, path)


def _axes(height: float) -> tuple[Any, Any]:
    # By name, because only `./scripts/docs` installs it: the checks run without it.
    figure: Any = import_module("matplotlib.figure").Figure(figsize=(7, height), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _save(figure: Any, path: Path) -> None:
    # Without a date, so that the same figures make the same file.
    figure.savefig(path, metadata={"Date": None}, facecolor="white")
