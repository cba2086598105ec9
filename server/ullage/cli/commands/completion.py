"""`ullage completion`: prints the completion script for a shell."""

from argparse import Namespace
from importlib.resources import files

from ullage.cli.output import print_bytes


def run(args: Namespace) -> int:
    """Prints the completion script for a shell. `scripts/gen_cli.py` generates it. Returns 0."""
    print_bytes(files("ullage.cli").joinpath(f"data/ullage.{args.shell}").read_bytes())
    return 0
