"""Fits the weights of `ullage.summary.tuning`: `./scripts/fit_weights [--check] [FILE|FOLDER…]`.

Reads the recorded sessions in the data sets of `DATA_SETS` (or those in the given files and folders) and prints each
session's name and hash. Every session has the same weight. The quality of the fit is measured on sessions, and on
agents, that were not used for the fit. The coefficients of a fit of all sessions, rounded to `STEP`, are written into
`tuning.py`. With `--check` nothing is written, and the exit code is 1 if the file has other coefficients.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from benches.report import TRANSCRIPTS, transcript_files
from fitting.examples import Session, read_sessions
from fitting.logistic import Quality, Row, fit, judge, predict
from ullage.summary import tuning
from ullage.summary.tuning import TUNING

# Folders of recorded sessions, each of one project or agent.
DATA_SETS = (
    "claude_code_entire",
    "claude_code_sessionshare",
    "claude_code_spotter",
    "claude_code_vsla",
    "codex_rollout",
    "codex_tui_log",
    "iso_bench_trae",
    "mini_swe_gemini3",
    "openhands_llm_logs",
    "swe_agent_traj",
    "tau_bench_gpt4o",
)
# The constant and the features, in the order of `features_of`.
NAMES = ("base", "written", "said", "called", "distance")
FOLDS = 5
# A step of this size changes the log loss by less than a thousandth.
STEP = 0.05


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/fit_weights", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if the tree holds other coefficients")
    parser.add_argument("paths", nargs="*", type=Path, help="recorded sessions or folders of them")
    given = parser.parse_args()
    files = transcript_files(given.paths or [TRANSCRIPTS / name for name in DATA_SETS])
    sessions = list(read_sessions(files))
    _show_sessions(sessions)
    by_session = {session.sha256: number % FOLDS for number, session in enumerate(sessions)}
    _show_quality("by session", held_out(sessions, lambda session: by_session[session.sha256]))
    _show_quality("by agent", held_out(sessions, lambda session: session.agent))
    exact = fit(rows_of(sessions))
    rounded = [round(value / STEP) * STEP for value in exact]
    _show_quality("all, rounded, not held out", quality(rounded, sessions))
    _show_quality("all, as in the tree", quality([getattr(TUNING, name) for name in NAMES], sessions))
    found = {name: f"{value:.2f}" for name, value in zip(NAMES, rounded, strict=True)}
    differ = {name: value for name, value in found.items() if f"{getattr(TUNING, name):.2f}" != value}
    for name, value in zip(NAMES, exact, strict=True):
        print(f"{name:10} {value:8.3f}  rounded {found[name]:>6}  in the tree {getattr(TUNING, name):6.2f}")
    if differ and not given.check:
        write(Path(tuning.__file__), differ)
    return 1 if differ and given.check else 0


def rows_of(sessions: Iterable[Session]) -> list[Row]:
    """Returns the examples. Each session has the weight 1."""
    rows: list[Row] = []
    for session in sessions:
        total = sum(session.seen.values())
        rows += [(x, seen / total, session.written[x] / seen) for x, seen in session.seen.items()]
    return rows


def held_out(sessions: Sequence[Session], part: Callable[[Session], object]) -> Quality:
    """Returns the quality of predictions for each part of the sessions by a fit of all others."""
    predicted: list[tuple[float, float, float]] = []
    for held in {part(session) for session in sessions}:
        coefficients = fit(rows_of(session for session in sessions if part(session) != held))
        predicted += _predicted(coefficients, [session for session in sessions if part(session) == held])
    return judge(predicted)


def quality(coefficients: Sequence[float], sessions: Sequence[Session]) -> Quality:
    """Returns the quality of predictions by these coefficients."""
    return judge(_predicted(coefficients, sessions))


def _predicted(coefficients: Sequence[float], sessions: Iterable[Session]) -> list[tuple[float, float, float]]:
    return [(predict(coefficients, x), weight, share) for x, weight, share in rows_of(sessions)]


def write(path: Path, values: Mapping[str, str]) -> None:
    """Writes the coefficients into the fields of `Tuning`."""
    text = path.read_text()
    for name, value in values.items():
        text, found = re.subn(rf"^(    {name}: float = )\S+$", rf"\g<1>{value}", text, flags=re.MULTILINE)
        if found != 1:
            raise SystemExit(f"{path} has no field `{name}: float = ...`")
    path.write_text(text)


def _show_sessions(sessions: Sequence[Session]) -> None:
    for session in sessions:
        examples, positive = sum(session.seen.values()), sum(session.written.values())
        name = f"{session.path.parent.name}/{session.path.name}"
        print(f"{session.sha256[:12]}  {session.agent:14} {examples:7,} examples {positive:6,} positive  {name}")


def _show_quality(what: str, found: Quality) -> None:
    print(
        f"{what:28} log loss {found.loss:.4f} (rate alone {found.constant:.4f})  AUC {found.auc:.3f}  "
        f"calibration error {found.calibration:.0%}"
    )


if __name__ == "__main__":
    sys.exit(main())
