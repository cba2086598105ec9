"""`ullage schema`: prints the JSON Schema of the protocol, the settings or what `--json` prints."""

from argparse import ArgumentParser, Namespace
from importlib import import_module
from typing import Any

from msgspec import Struct

from ullage.api.methods import document_of, schema_document, settings_schema
from ullage.cli.command_line import COMMANDS, Command
from ullage.cli.drawing import print_json


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="?",
        choices=["methods", "settings", "output"],
        default="methods",
        help="the protocol, the settings, or what --json prints",
    )


def run(args: Namespace) -> int:
    """Prints the JSON Schema of the protocol's methods, of the settings or of the output for programs. Returns 0."""
    documents = {"methods": schema_document, "settings": settings_schema, "output": output_schema}
    print_json(documents[args.what]())
    return 0


def output_schema() -> dict[str, Any]:
    """Returns the JSON Schema of the objects that the commands print. Its member `commands` lists, for each command,
    references to the definitions of the objects that it can print."""
    reports = {command.name: _reports_of(command) for command in COMMANDS if command.arguments}
    document = document_of(
        [one for found in reports.values() for one in found], "Ullage's output for programs (--json)"
    )
    commands = {
        name: [{"$ref": f"#/$defs/{one.__name__}"} for one in found] for name, found in reports.items() if found
    }
    return {**document, "commands": commands}


def _reports_of(command: Command) -> list[type[Struct]]:
    """Returns the objects that a command prints: the structs of its module whose names say that they are reports."""
    module = import_module(f"ullage.cli.commands.{command.module or command.name}")
    own = [value for value in vars(module).values() if getattr(value, "__module__", "") == module.__name__]
    return [one for one in own if isinstance(one, type) and issubclass(one, Struct) and one.__name__.endswith("Report")]
