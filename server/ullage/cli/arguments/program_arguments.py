"""Commands about Ullage itself, with their arguments: a demonstration, checks, schemas."""

from argparse import ArgumentParser
from pathlib import Path

from ullage.cli.arguments.argument_values import number
from ullage.cli.arguments.command import Command
from ullage.cli.arguments.shared_arguments import add_file, add_json


def _demo(parser: ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="play this transcript, not the sample")
    add_file(parser)
    parser.add_argument("--window", type=number, metavar="TOKENS", help="the window to play it in")
    parser.add_argument("--fast", action="store_true", help="as fast as the server answers")
    parser.add_argument("--svg", type=Path, metavar="PATH", help="write the final screen as a picture")
    parser.add_argument("--ascii", action="store_true", help="draw with plain ASCII")


def _doctor(parser: ArgumentParser) -> None:
    parser.add_argument("--provider", metavar="NAME", help="check this provider: anthropic, openai, or one of your own")
    parser.add_argument(
        "--kind",
        choices=["anthropic", "openai", "openai_chat", "scripted", "replay"],
        help="what it speaks; openai_chat unless it is known by name",
    )
    parser.add_argument("--base-url", metavar="URL", help="its address, for example http://localhost:11434/v1")
    parser.add_argument("--key-env", metavar="VARIABLE", help="the environment variable that holds its key")
    parser.add_argument("--file", metavar="PATH", help="the script or transcript that it plays")
    parser.add_argument("--model", metavar="NAME", help="a model that it should have")
    add_json(parser)


def _schema(parser: ArgumentParser) -> None:
    parser.add_argument(
        "what",
        nargs="?",
        choices=["methods", "settings", "output"],
        default="methods",
        help="the protocol, the settings, or what --json prints",
    )


def _completion(parser: ArgumentParser) -> None:
    parser.add_argument(
        "shell", choices=["bash", "zsh", "fish"], help='the shell; for bash: eval "$(ullage completion bash)"'
    )


PROGRAM_COMMANDS = (
    Command("demo", "watch a conversation fill a context and be compacted", _demo),
    Command("doctor", "check the installation and the providers", _doctor),
    Command("schema", "print the JSON Schema of the protocol, the settings or the output", _schema),
    Command("completion", "print the completion script for a shell", _completion),
)
