"""Arguments that several commands have, or all."""

from argparse import SUPPRESS, ArgumentParser

from ullage.cli.arguments.argument_values import number

_TARGET_HELP = (
    "a transcript's path, `-` for standard input, or the beginning of the id of a stored session or of an agent's own"
)
_NEWEST = "; without it, this folder's newest conversation"


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
