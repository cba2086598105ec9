"""`ullage schema`: prints the JSON Schema of the protocol, the settings or what `--json` prints."""

from argparse import Namespace
from typing import Any

from msgspec import Struct

from ullage.api.schema import document_of, schema_document, settings_schema
from ullage.cli.commands.brief import BriefReport
from ullage.cli.commands.continue_session import ContinueReport
from ullage.cli.commands.lost import LostReport
from ullage.cli.commands.search import TeamMessageReport, TeamSearchReport
from ullage.cli.commands.team import TeamReport
from ullage.cli.output import print_json
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


def run(args: Namespace) -> int:
    """Prints the JSON Schema of the protocol's methods, of the settings or of the output for programs. Returns 0."""
    documents = {"methods": schema_document, "settings": settings_schema, "output": output_schema}
    print_json(documents[args.what]())
    return 0


def output_schema() -> dict[str, Any]:
    """Returns the JSON Schema of the objects that the commands print. Its member `commands` lists, for each command,
    references to the definitions of the objects that it can print."""
    kinds = [kind for found in REPORTS.values() for kind in found]
    document = document_of(kinds, "Ullage's output for programs (--json)")
    commands = {command: [{"$ref": f"#/$defs/{kind.__name__}"} for kind in found] for command, found in REPORTS.items()}
    return {**document, "commands": commands}
