"""The JSON Schema of what `--json` prints."""

from typing import Any

from msgspec import Struct

from ullage.api.schema import document_of
from ullage.cli.continue_report import ContinueReport
from ullage.cli.lost_reports import BriefReport, LostReport
from ullage.cli.reports import (
    ArchiveReport,
    CompactReport,
    ContextReport,
    DoctorReport,
    ForgetReport,
    HereReport,
    HistoryReport,
    ImportReport,
    ImportsReport,
    MessageReport,
    MessagesReport,
    SearchReport,
    SessionsReport,
    StoreCopyReport,
    UndoReport,
    WatchReport,
)
from ullage.cli.team_reports import TeamMessageReport, TeamReport, TeamSearchReport

REPORTS: dict[str, tuple[type[Struct], ...]] = {
    "here": (HereReport,),
    "watch": (WatchReport,),
    "context": (ContextReport,),
    "messages": (MessagesReport,),
    "compact": (CompactReport,),
    "continue": (ContinueReport,),
    "undo": (UndoReport,),
    "history": (HistoryReport,),
    "import": (ImportReport, ImportsReport),
    "sessions": (SessionsReport,),
    "search": (SearchReport, MessageReport, TeamSearchReport, TeamMessageReport),
    "forget": (ForgetReport,),
    "delete": (ForgetReport,),
    "lost": (LostReport,),
    "brief": (BriefReport,),
    "archive": (ArchiveReport,),
    "store": (StoreCopyReport,),
    "team": (TeamReport,),
    "doctor": (DoctorReport,),
}


def output_schema() -> dict[str, Any]:
    """Returns the JSON Schema of the objects that the commands print. Its member `commands` lists, for each command,
    references to the definitions of the objects that it can print."""
    kinds = [kind for found in REPORTS.values() for kind in found]
    document = document_of(kinds, "Ullage's output for programs (--json)")
    commands = {command: [{"$ref": f"#/$defs/{kind.__name__}"} for kind in found] for command, found in REPORTS.items()}
    return {**document, "commands": commands}
