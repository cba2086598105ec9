"""`ullage schema`: prints the JSON Schema of the protocol, the settings or what `--json` prints."""

from argparse import Namespace

from ullage.api.schema import schema_document, settings_schema
from ullage.cli.output import print_json
from ullage.cli.output_schema import output_schema


def run(args: Namespace) -> int:
    """Prints the JSON Schema of the protocol's methods, of the settings or of the output for programs. Returns 0."""
    documents = {"methods": schema_document, "settings": settings_schema, "output": output_schema}
    print_json(documents[args.what]())
    return 0
