"""What the arguments of commands are made of: values (numbers, ages, sizes and ports), the arguments that several
commands have, or all, and parsed arguments as typed values."""

import re
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

# 8000, 8,000, 8_000, 8k, 1.5m. The factors are decimal, as in the names of models and windows ("200K", "1M").
_DIGITS = re.compile(r"(?P<digits>\d[\d_,]*(?:\.\d+)?)(?P<factor>[km]?)", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1_000, "m": 1_000_000}
_LARGEST_PORT = (1 << 16) - 1
_TARGET_HELP = "a conversation: the beginning of its id, its file, or `-` for standard input"
_NEWEST = "; without it, this folder's newest one"
# The title of the options that many commands take, and where a parser keeps the group of them.
COMMON = "options of many commands"
_GROUP = "common_options"


def number(text: str) -> int:
    """Returns a positive whole number written as `8000`, `8,000`, `8k` or `1.5m`. Raises `ArgumentTypeError`."""
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
    group = parser if set_defaults else _common(parser)
    group.add_argument(
        "--store",
        metavar="STORE",
        default=store,
        help="what Ullage keeps: a file, or postgresql://HOST/DATABASE; `doctor` names the usual one",
    )
    group.add_argument(
        "--color", choices=["auto", "always", "never"], default=color, help="colours; auto: on a terminal"
    )
    group.add_argument(
        "--no-pager", action="store_true", default=False if set_defaults else SUPPRESS, help="print long output at once"
    )


def add_common(parser: ArgumentParser) -> None:
    """Adds all options that many commands take, to show them."""
    add_reading(parser)
    add_drawing(parser)
    add_shared(parser, set_defaults=False)


def _common(parser: ArgumentParser) -> Any:
    """Returns the group of the options that many commands take, which is described once and not by each command."""
    known = getattr(parser, _GROUP, None)
    if known is None:
        known = parser.add_argument_group(COMMON)
        setattr(parser, _GROUP, known)
    return known


def add_json(parser: ArgumentParser) -> None:
    """Adds the option `--json`."""
    _common(parser).add_argument(
        "--json", action="store_true", help="print one JSON object for programs (see `ullage schema output`)"
    )


def add_drawing(parser: ArgumentParser) -> None:
    """Adds the options of a command that draws."""
    add_json(parser)
    _common(parser).add_argument("--ascii", action="store_true", help="draw with plain ASCII")


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
    group = _common(parser)
    group.add_argument("--format", metavar="NAME", help="a file's format, if it is not detected; `list` lists them")
    group.add_argument("--run", type=number, metavar="N", help="which conversation, if a file holds several")


def add_reading(parser: ArgumentParser) -> None:
    """Adds the options that say how a conversation is read."""
    add_file(parser)
    group = _common(parser)
    group.add_argument("--model", metavar="NAME", help="the model, in place of the conversation's")
    group.add_argument("--window", type=number, metavar="TOKENS", help="the model's window, in place of the known one")
    group.add_argument("--at", type=number, metavar="N", help="only the first N messages")


def add_target(parser: ArgumentParser, *, optional: bool = True) -> None:
    """Adds the argument that names a conversation, and how it is read."""
    parser.add_argument(
        "target", nargs="?" if optional else None, metavar="WHICH", help=_TARGET_HELP + _NEWEST * optional
    )
    add_reading(parser)


def add_conversation(parser: ArgumentParser) -> None:
    """Adds the argument that names a conversation which Ullage keeps."""
    parser.add_argument("session", metavar="WHICH", help="a conversation that Ullage keeps: the beginning of its id")


def add_provider(parser: ArgumentParser) -> None:
    """Adds the option that names the shape of messages."""
    parser.add_argument(
        "--provider", choices=["anthropic", "openai"], default="anthropic", help="the shape of the messages in --json"
    )


T = TypeVar("T")


class StoreOptions(Struct, frozen=True, kw_only=True):
    """The arguments of every command on stored sessions. `store` is the store's file or address, or None for the one in
    the user's data folder; `json` prints for programs."""

    store: str | None = None
    json: bool = False


class ReadingOptions(StoreOptions, frozen=True, kw_only=True):
    """Which transcript a command reads, and how.

    `target` is a file, `-` for standard input, or a stored session; None means the newest session of this folder.
    `format` is the file's format and `run` the number of the conversation in it. `model` and `window` (tokens) replace
    those of the transcript. `at` is the number of messages to read, from the first on.
    """

    target: str | None = None
    format: str | None = None
    run: int | None = None
    model: str | None = None
    window: int | None = None
    at: int | None = None

    @property
    def as_stored(self) -> bool:
        """Whether a stored session is read as it is: with its own model and window, and with all of its messages."""
        return self.model is None and self.window is None and self.at is None


def read_options(args: Namespace, kind: type[T]) -> T:
    """Returns the parsed arguments as a struct of the type `kind`."""
    return msgspec.convert(vars(args), kind)
