"""`ullage schema`: prints the JSON Schema of the protocol or the settings."""

from argparse import Namespace

from ullage.api.schema import schema_document, settings_schema
from ullage.cli.output import print_json


def run(args: Namespace) -> int:
    """Prints the document."""
    print_json(settings_schema() if args.what == "settings" else schema_document())
    return 0
