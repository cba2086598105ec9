"""`ullage schema`: prints the JSON Schema of the protocol, the settings or what `--json` prints."""

from argparse import ArgumentParser, Namespace
from typing import Any

from msgspec import Struct

from ullage.api.methods import document_of, schema_document, settings_schema
from ullage.cli.commands.compact import CompactReport
from ullage.cli.commands.context import HistoryReport
from ullage.cli.commands.continue_session import ContinueReport
from ullage.cli.commands.cost import CostReport
from ullage.cli.commands.doctor import DoctorReport
from ullage.cli.commands.forget import ForgetReport
from ullage.cli.commands.here import HereReport, SessionsReport
from ullage.cli.commands.import_file import ImportReport, ImportsReport
from ullage.cli.commands.keep import ArchiveReport
from ullage.cli.commands.lost import BriefReport, LostReport
from ullage.cli.commands.messages import MessagesReport
from ullage.cli.commands.search import MessageReport, SearchReport, TeamMessageReport, TeamSearchReport
from ullage.cli.commands.store_copy import StoreCopyReport
from ullage.cli.commands.team import TeamReport
from ullage.cli.commands.undo import UndoReport
from ullage.cli.commands.watch import WatchReport
from ullage.cli.output import print_json
from ullage.cli.reports import ContextReport


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="?",
        choices=["methods", "settings", "output"],
        default="methods",
        help="the protocol, the settings, or what --json prints",
    )


REPORTS: dict[str, tuple[type[Struct], ...]] = {
    "here": (HereReport, SessionsReport),
    "context": (ContextReport, HistoryReport),
    "watch": (WatchReport,),
    "search": (SearchReport, MessageReport, TeamSearchReport, TeamMessageReport),
    "lost": (LostReport, BriefReport),
    "continue": (ContinueReport,),
    "doctor": (DoctorReport,),
    "cost": (CostReport,),
    "messages": (MessagesReport,),
    "compact": (CompactReport,),
    "undo": (UndoReport,),
    "import": (ImportReport, ImportsReport),
    "keep": (ArchiveReport,),
    "forget": (ForgetReport,),
    "team": (TeamReport,),
    "store": (StoreCopyReport,),
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
