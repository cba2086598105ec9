"""`ullage survive`: replays what agents did after a compaction against what was carried over it."""

import asyncio
from argparse import Namespace
from collections.abc import Iterator, Sequence

from rich.text import Text

from ullage.app.compose import open_workspace
from ullage.cli.draw.tables import Column, table
from ullage.cli.draw.text import plural
from ullage.cli.output import Screen, print_json, working
from ullage.cli.surviving.carrying import trials_of
from ullage.cli.surviving.replayed_files import File, files_found, files_in, read_all
from ullage.cli.surviving.report import SurviveReport
from ullage.cli.typed_arguments import SurviveOptions, read_options
from ullage.survive.bootstrap import Interval
from ullage.survive.study import Arm, ArmRow, Calibration, Study, Trial, study

_ARMS = (
    Column(name="Carried", style="bold"),
    Column(name="Tokens", right=True),
    Column(name="Go ahead", right=True),
    Column(name="95 %", right=True, style="dim"),
    Column(name="Times agent", right=True),
    Column(name="Facts", rank=2, right=True),
    Column(name="Look up again", rank=1, right=True),
    Column(name="for tokens", rank=1, right=True),
    Column(name="Look-ups, times agent", rank=2, right=True),
    Column(name="Nowhere", rank=3, right=True, style="dim"),
)
# Everything and nothing carry all and none by definition.
_SHOWN = (Arm.AGENT, Arm.TAIL, Arm.MASKING, Arm.OURS, Arm.BESIDE, Arm.BRIEF, Arm.SHUFFLED, Arm.OTHER_BRIEF)


def run(args: Namespace) -> int:
    """Prints how much each way to compact lets an agent do, or with `--json` a `SurviveReport`. Returns 1 if no
    conversation could be cut, otherwise 0. Raises `InputError` if a named file can't be read."""
    options, screen = read_options(args, SurviveOptions), Screen.of(args)
    report = _report(options)
    if options.json:
        print_json(report)
    else:
        screen.print(_lines(report, screen))
    return 0 if report.recorded or report.chosen else 1


def _report(options: SurviveOptions) -> SurviveReport:
    with working("Looking for conversations") as show:
        files = _files(options)
        trials: list[Trial] = []
        unread = 0
        for number, (file, transcript) in enumerate(read_all(files, options.format), 1):
            show(f"Replaying {number:,} of {len(files):,}: {file.name}")
            unread += transcript is None
            if transcript is not None:
                replayed = trials_of(file.name, transcript, options.size, only_recorded=options.recorded)
                trials += asyncio.run(replayed)
        show("Comparing")
        recorded = [trial for trial in trials if Arm.AGENT in trial.outcomes]
        chosen = [trial for trial in trials if Arm.AGENT not in trial.outcomes]
        return SurviveReport(
            recorded=study(recorded) if recorded else None, chosen=study(chosen) if chosen else None, unread=unread
        )


def _files(options: SurviveOptions) -> list[File]:
    if options.files:
        return files_in(options.files, options.run)
    with open_workspace(options.store, to_read=True) as workspace:
        return files_found(workspace, options.limit)


def _lines(report: SurviveReport, screen: Screen) -> Iterator[Text | str]:
    parts = [("where agents compacted", report.recorded), ("at chosen places", report.chosen)]
    for where, part in parts:
        if part is not None:
            yield from (*_study(part, where, screen), "")
    if report.recorded is None and report.chosen is None:
        yield "No conversation is long enough to be cut, or has actions after a compaction."
    if report.unread:
        yield f"{plural(report.unread, 'file')} without a conversation of its own left out."


def _study(found: Study, where: str, screen: Screen) -> Iterator[Text | str]:
    yield Text(f"{plural(found.cuts, 'cut')} of {plural(found.conversations, 'conversation')}, {where}", "bold")
    yield from screen.prose(
        f"{found.needing:,} of the next {plural(found.actions, 'action')} need something from before the cut."
    )
    yield ""
    yield from table(_ARMS, [_arm(row) for row in found.arms], screen.room, screen.glyphs)
    yield from ("", Text("What survives, in percent", "bold"))
    yield from table(*_kinds(found), screen.room, screen.glyphs)
    if found.calibration is not None:
        yield from ("", Text("Replay and record", "bold"))
        yield from (line for text in _calibration(found.calibration) for line in screen.prose(text))


def _arm(row: ArmRow) -> Sequence[str]:
    return (
        row.arm.value,
        f"{row.size:,.0f}",
        _percent(row.unblocked),
        _ends(row.unblocked, 0),
        _times(row.against_agent) if row.arm is not Arm.AGENT else "",
        _percent(row.facts),
        f"{row.lookups:.1f}",
        f"{row.lookup_tokens:,.0f}",
        _times(row.lookups_against_agent) if row.arm is not Arm.AGENT else "",
        f"{row.unknown:.1f}",
    )


def _kinds(found: Study) -> tuple[Sequence[Column], Sequence[Sequence[str]]]:
    arms = [arm.value for arm in _SHOWN if any(arm.value in row.carried for row in found.kinds)]
    columns = [Column(name="Kind", style="bold"), Column(name="Known", right=True)]
    columns += [Column(name=arm, right=True) for arm in arms]
    rows = [(row.kind, f"{row.known:,}", *(f"{row.carried[arm]:.0f}" for arm in arms)) for row in found.kinds]
    return columns, rows


def _calibration(found: Calibration) -> Iterator[str]:
    yield (
        f"After its own summary an agent should have had to look up {found.predicted:.1f} things again "
        f"({found.predicted_tokens:,.0f} tokens); it looked again {found.recorded:.1f} times "
        f"({found.recorded_tokens:,.0f} tokens)."
    )
    yield (
        f"Of the facts that its summary lacked it looked at {_percent(found.missing_looked)} again before it used "
        f"them, of those that it had {_percent(found.carried_looked)}."
    )


def _times(interval: Interval | None) -> str:
    if interval is None:
        return ""
    ends = _ends(interval, 1)
    return f"{interval.value:.2f} ({ends})" if ends else f"{interval.value:.2f}"


def _ends(interval: Interval | None, digits: int) -> str:
    if interval is None or interval.low is None or interval.high is None:
        return ""
    return f"{interval.low:.{digits}f} to {interval.high:.{digits}f}"


def _percent(interval: Interval | None) -> str:
    return f"{interval.value:.0f} %" if interval else "-"
