"""What `ullage survive --json` prints."""

from ullage.cli.reported_figures import Report
from ullage.survive.study import Study


class SurviveReport(Report, frozen=True, kw_only=True):
    """What `ullage survive --json` prints: the result at the places where agents compacted, and the one at places that
    were chosen; null where there are none. `unread` is the number of files that hold no conversation."""

    recorded: Study | None
    chosen: Study | None
    unread: int
