"""`ullage completion` and `ullage man`: the completion script for a shell, and the manual page."""

import shutil
import subprocess
import sys
from argparse import ArgumentParser, Namespace
from importlib.resources import as_file, files

from ullage.cli.drawing import print_bytes


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "shell", choices=["bash", "zsh", "fish"], help='the shell; for bash: eval "$(ullage completion bash)"'
    )


def run(args: Namespace) -> int:
    """Prints the completion script for a shell. `scripts/gen_cli.py` generates it. Returns 0."""
    print_bytes(files("ullage.cli").joinpath(f"data/ullage.{args.shell}").read_bytes())
    return 0


def run_man(args: Namespace) -> int:
    """Shows the manual page by `man` if the output is a terminal. Otherwise, or if `man` is not installed, prints the
    page as roff. `scripts/gen_cli.py` generates the page. Returns the exit status of `man`, or 0."""
    del args
    page = files("ullage.cli").joinpath("data/ullage.1")
    if sys.stdout.isatty() and shutil.which("man"):
        with as_file(page) as path:
            return subprocess.run(["man", "-l", str(path)], check=False).returncode
    print_bytes(page.read_bytes())
    return 0
