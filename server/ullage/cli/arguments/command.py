"""One command of the command line."""

from argparse import ArgumentParser
from collections.abc import Callable
from typing import NamedTuple


class Command(NamedTuple):
    """A command of `ullage`: its name, one line of help, the function that adds its arguments to a parser, and its
    module in `commands`.

    An empty `module` means that the module has the command's name.
    """

    name: str
    help: str
    add_arguments: Callable[[ArgumentParser], None]
    module: str = ""
