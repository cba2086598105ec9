"""The table of commands, as they are listed; with the arguments of those that serve a protocol or are about Ullage
itself: a demonstration, checks, schemas."""

from argparse import ArgumentParser
from pathlib import Path

from ullage.cli.arguments.agent_arguments import AGENT_COMMANDS
from ullage.cli.arguments.session_arguments import SESSION_COMMANDS
from ullage.cli.arguments.shared_arguments import Command, add_embeddings, add_file, add_json, number, port

# The default port of debugpy and its clients.
_DEBUGGER_PORT = 5678


def _help(parser: ArgumentParser) -> None:
    names = [command.name for command in COMMANDS]
    parser.add_argument("command", nargs="?", choices=names, metavar="COMMAND", help="the command; without it, all")


def _nothing(parser: ArgumentParser) -> None:
    del parser


def _lsp(parser: ArgumentParser) -> None:
    parser.add_argument("--debug", action="store_true", help="log everything")
    parser.add_argument("--log-file", type=Path, metavar="FILE", help="log to this file, not to standard error")
    parser.add_argument("--trace", type=Path, metavar="FILE", help="append every message to this file, as JSON lines")
    parser.add_argument(
        "--wait-for-debugger",
        type=port,
        nargs="?",
        const=_DEBUGGER_PORT,
        metavar="PORT",
        help=f"wait for a debugger at this port of localhost ({_DEBUGGER_PORT}); needs debugpy",
    )


def _acp(parser: ArgumentParser) -> None:
    parser.add_argument("--settings", metavar="JSON|FILE", help="settings, as editors send them: JSON, or its file")
    parser.add_argument("--model", metavar="NAME", help="the model of sessions that name none")
    parser.add_argument(
        "--login",
        action="store_true",
        help="serve nothing: ask in the terminal for a provider's key, and keep it in the system's keyring",
    )
    parser.add_argument(
        "agent",
        nargs="*",
        metavar="AGENT",
        help="behind `--`: an agent's command line, to be its proxy; and behind `--then` each, further agents",
    )
    parser.add_argument(
        "--window", type=number, metavar="TOKENS", help="the window of an agent that does not tell its own"
    )
    parser.add_argument(
        "--hand-over",
        action="store_true",
        help="compact by a summary in a fresh session, though the agent has a command of its own",
    )
    parser.add_argument(
        "--in-chain",
        action="store_true",
        help="be a proxy in a chain: a conductor starts this program, and the agent that follows",
    )
    parser.add_argument(
        "--no-mcp",
        action="store_true",
        help="forward every message byte for byte: do not offer the agent Ullage's tools for looking up its history",
    )


def _mcp(parser: ArgumentParser) -> None:
    parser.add_argument("--session", metavar="SESSION", help="the conversation, if not the starting agent's")
    add_embeddings(parser)


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


# `help` is answered by `command_line.py`. It is in the table so that it is listed, and completed.
COMMANDS = (
    *AGENT_COMMANDS,
    *SESSION_COMMANDS,
    Command("lsp", "serve the Language Server on standard input and output", _lsp),
    Command("acp", "serve the Agent Client Protocol on standard input and output", _acp),
    Command("mcp", "serve the Model Context Protocol: an agent looks up its own conversation", _mcp),
    Command("demo", "watch a conversation fill a context and be compacted", _demo),
    Command("doctor", "check the installation and the providers", _doctor),
    Command("schema", "print the JSON Schema of the protocol, the settings or the output", _schema),
    Command("completion", "print the completion script for a shell", _completion),
    Command("man", "show the manual page", _nothing),
    Command("help", "show the help of a command", _help),
)
