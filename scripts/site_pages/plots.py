"""The site's page of plots: drawn from what benches printed, which is kept in `docs/figures`."""

import re
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
_RANGE = re.compile(r"(\d+)-(\d+)")

_INTRODUCTION = """\
# Plots

Drawn from what `./scripts/bench NAME --json` printed on 23 November 2026 ([the figures](FIGURES)). The conversations
were recorded by others with real models; they are not part of the repository. To measure your own, name files or
folders after the bench's name.
"""
_BRIEF = """\
## What an agent can do after its own compaction

`./scripts/bench brief`: of the recorded actions after a compaction, the share whose names and facts were carried, with
the 95 % interval over CASES compactions. *Other's brief* is the control: the brief of another project. What it gains is
chance.
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
    brief, accuracy = (_report(root, name) for name in ("brief", "accuracy"))
    rows = [row for row in brief["rows"] if row.get("probe") == "names"]
    sessions = [row for row in accuracy["rows"] if row.get("predicted")]
    (staged / "images").mkdir(exist_ok=True)
    _draw_brief(rows, staged / "images" / "plot-brief.svg")
    _draw_accuracy(sessions, staged / "images" / "plot-accuracy.svg")
    parts = (
        _INTRODUCTION.replace("FIGURES", f"{repository}/tree/main/{FIGURES.as_posix()}"),
        _BRIEF.replace("CASES", str(rows[0]["cases"])),
        "![Bars: the share of actions that could go ahead, by what was carried](images/plot-brief.svg)\n",
        _aims(brief),
        _ACCURACY.replace("SESSIONS", str(len(sessions))),
        "![Dots: the error of the figure for each conversation, from the smallest](images/plot-accuracy.svg)\n",
        _aims(accuracy),
    )
    (staged / PAGE).write_text("\n".join(parts), encoding="utf-8")


def bars(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, float, float, float]]:
    """Returns for each row what was carried, the share of actions in per cent, and the ends of its interval. Raises
    `ValueError` for an interval in another form."""
    found: list[tuple[str, float, float, float]] = []
    for row in rows:
        ends = _RANGE.fullmatch(row["all 95 %"])
        if ends is None:
            raise ValueError(f"an interval must be like 19-56; it is {row['all 95 %']!r}")
        found.append((row["carried"], row["all"], float(ends[1]), float(ends[2])))
    return found


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


def _draw_brief(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    figure, axes = _axes(height=2.8)
    for place, (carried, share, low, high) in enumerate(reversed(bars(rows))):
        is_own = carried.endswith("brief") and "other" not in carried
        axes.barh(place, share, color=_OWN if is_own else _OTHER, height=0.6)
        axes.errorbar(share, place, xerr=[[share - low], [high - share]], color="#444444", capsize=3)
        axes.text(1.5, place, f"{share:.0f} %", va="center", color="white", fontweight="bold")
    axes.set_yticks(range(len(rows)), [row["carried"] for row in reversed(rows)])
    axes.set_xlim(0, 100)
    axes.set_xlabel("actions that could go ahead, per cent")
    _save(figure, path)


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
