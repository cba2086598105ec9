"""What the arguments of commands are made of: a command's row in the table, the values that arguments have (numbers,
ages, sizes and ports), and the arguments that several commands have, or all."""

import re
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from typing import NamedTuple

# 8000, 8,000, 8_000, 8k, 1.5m. The factors are decimal, as in the names of models and windows ("200K", "1M").
_DIGITS = re.compile(r"(?P<digits>\d[\d_,]*(?:\.\d+)?)(?P<factor>[km]?)", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}
_LARGEST_PORT = (1 << 16) - 1
_TARGET_HELP = (
    "a transcript's path, `-` for standard input, or the beginning of the id of a stored session or of an agent's own"
)
_NEWEST = "; without it, this folder's newest conversation"


class Command(NamedTuple):
    """A command of `ullage`: its name, one line of help, the function that adds its arguments to a parser, and its
    module in `commands`.

    An empty `module` means that the module has the command's name.
    """

    name: str
    help: str
    add_arguments: Callable[[ArgumentParser], None]
    module: str = ""


def number(text: str) -> int:
    """Returns a positive whole number that is written as `8000`, `8,000`, `8k` or `1.5m`. Raises `ArgumentTypeError`
    for any other text."""
    # Imported on use: most commands are given no number.
    from decimal import Decimal  # noqa: PLC0415

    match = _DIGITS.fullmatch(text.strip())
    value = Decimal(match["digits"].replace(",", "").replace("_", "")) if match else Decimal(0)
    value *= _FACTORS[match["factor"].lower()] if match else 1
    if value <= 0 or value != int(value):
        raise ArgumentTypeError(f"{text!r} is not a positive whole number such as 8000, 8k or 1m")
    return int(value)


def days(text: str) -> int:
    """Returns an age in days, written as `90`, `90d`, `12w` or `1y`. Raises `ArgumentTypeError` for any other text."""
    match = re.fullmatch(r"(\d+)\s*([dwy]?)", text.strip(), re.IGNORECASE)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not an age such as 90d, 12w or 1y")
    return int(match[1]) * {"": 1, "d": 1, "w": 7, "y": 365}[match[2].lower()]


def size(text: str) -> int:
    """Returns a size in bytes, written as `2GB`, `500 MB` or `1.5g`. Raises `ArgumentTypeError` for any other text."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmgt]?)b?", text.strip(), re.IGNORECASE)
    if match is None:
        raise ArgumentTypeError(f"{text!r} is not a size such as 2GB or 500MB")
    return int(float(match[1]) * 1000 ** " kmgt".index(match[2].lower() or " "))


def port(text: str) -> int:
    """Returns a TCP port, 1 to 65535. Raises `ArgumentTypeError` for any other text."""
    if not text.isdecimal() or not 0 < int(text) <= _LARGEST_PORT:
        raise ArgumentTypeError(f"{text!r} is not a port")
    return int(text)


def add_shared(parser: ArgumentParser, *, set_defaults: bool) -> None:
    """Adds the options that every command has (`--store`, `--color`, `--no-pager`) to a parser.

    The options may be given before or after the command's name. `set_defaults` must be false for the parser of a
    command, because its defaults would replace the values given before the name.
    """
    store, color = (None, "auto") if set_defaults else (SUPPRESS, SUPPRESS)
    group = parser if set_defaults else parser.add_argument_group("options of every command")
    group.add_argument(
        "--store",
        metavar="STORE",
        default=store,
        help="the session store: a file, or postgresql://HOST/DATABASE; `doctor` names the usual one",
    )
    group.add_argument(
        "--color", choices=["auto", "always", "never"], default=color, help="colours; auto: on a terminal"
    )
    group.add_argument(
        "--no-pager", action="store_true", default=False if set_defaults else SUPPRESS, help="print long output at once"
    )


def add_json(parser: ArgumentParser) -> None:
    """Adds the option `--json`."""
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object for programs (see `ullage schema output`)"
    )


def add_drawing(parser: ArgumentParser) -> None:
    """Adds the options of a command that draws."""
    add_json(parser)
    parser.add_argument("--ascii", action="store_true", help="draw with plain ASCII")


def add_embeddings(parser: ArgumentParser) -> None:
    """Adds the option that names an embeddings server."""
    parser.add_argument(
        "--embeddings",
        nargs=2,
        metavar=("URL", "MODEL"),
        help="order what is found by its meaning, too, with the embeddings of this server, such as "
        "http://127.0.0.1:11434/v1; without secrets, the query and what it finds are sent to it",
    )


def add_file(parser: ArgumentParser) -> None:
    """Adds the options that say how a file is read."""
    parser.add_argument(
        "--format", metavar="NAME", help="the transcript's format, if it is not detected; `list` lists the known ones"
    )
    parser.add_argument("--run", type=number, metavar="N", help="which conversation, if the file holds several")


def add_target(parser: ArgumentParser, *, optional: bool = True) -> None:
    """Adds the argument that names a conversation, and how it is read."""
    parser.add_argument(
        "target",
        nargs="?" if optional else None,
        metavar="FILE|SESSION",
        help=_TARGET_HELP + (_NEWEST if optional else ""),
    )
    add_file(parser)
    parser.add_argument("--model", metavar="NAME", help="the model, in place of the one the transcript names")
    parser.add_argument("--window", type=number, metavar="TOKENS", help="the model's window, in place of the known one")
    parser.add_argument("--at", type=number, metavar="N", help="only the first N messages")


def add_provider(parser: ArgumentParser) -> None:
    """Adds the option that names the shape of messages."""
    parser.add_argument(
        "--provider", choices=["anthropic", "openai"], default="anthropic", help="the shape of the messages in --json"
    )
