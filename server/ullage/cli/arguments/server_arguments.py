"""Commands that serve the Language Server, the Agent Client Protocol and MCP, with their arguments."""

from argparse import ArgumentParser
from pathlib import Path

from ullage.cli.arguments.argument_values import number, port
from ullage.cli.arguments.command import Command
from ullage.cli.arguments.shared_arguments import add_embeddings

# The default port of debugpy and its clients.
_DEBUGGER_PORT = 5678


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


SERVER_COMMANDS = (
    Command("lsp", "serve the Language Server on standard input and output", _lsp),
    Command("acp", "serve the Agent Client Protocol on standard input and output", _acp),
    Command("mcp", "serve the Model Context Protocol: an agent looks up its own conversation", _mcp),
)
