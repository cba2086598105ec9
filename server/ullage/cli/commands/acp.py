"""`ullage acp`: serves the ACP agent on standard input and output, or the proxy if an agent's command line is given.
With `--login` it serves nothing and stores a key."""

import gc
import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from ullage.bounds import SETTINGS, read_text
from ullage.cli.arguments import number
from ullage.model.errors import InputError, InvalidRequest
from ullage.model.settings import Settings

# Separates the command lines of several agents.
_THEN = "--then"


def add_arguments(parser: ArgumentParser) -> None:
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
        help="after `--`: an agent's command line, to be its proxy; and after `--then` each, further agents",
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


def run(args: Namespace) -> int:
    """Serves one client until it is done. Returns the exit status. Raises `InputError` or `InvalidRequest`."""
    # As for the Language Server: collecting garbage during the start takes time and finds none, because the imported
    # objects live as long as the process.
    gc.disable()
    if args.login:
        from ullage.cli.login import log_in  # noqa: PLC0415

        if args.agent or args.in_chain:
            raise InputError("--login takes no agent: it stores a key for Ullage's own")
        return log_in(_read_settings(args.settings, args.model))
    if args.agent and args.in_chain:
        raise InputError("--in-chain takes no agent: the conductor starts the one that follows in the chain")
    serve = _serve_proxy if args.agent or args.in_chain else _serve_agent
    return serve(args, _read_settings(args.settings, args.model))


def _serve_agent(args: Namespace, settings: Settings) -> int:
    from ullage.app.acp_agent import serve_acp_agent  # noqa: PLC0415

    _go()
    return serve_acp_agent(args.store, settings)


def _serve_proxy(args: Namespace, settings: Settings) -> int:
    from ullage.app.acp_proxy import ProxyOptions, own_server, serve_acp_proxy  # noqa: PLC0415

    _go()
    options = ProxyOptions(
        window=args.window,
        hand_over=args.hand_over,
        server=None if args.no_mcp else own_server(args.store),
        asks_for_compactions=not args.no_mcp,
        own_methods=not args.no_mcp,
    )
    return serve_acp_proxy([] if args.in_chain else _commands(args.agent), args.store, settings, options)


def _commands(line: Sequence[str]) -> list[list[str]]:
    """Returns the agents' command lines, which `--then` separates. Raises `InputError` if one of them is empty."""
    commands: list[list[str]] = [[]]
    for word in line:
        if word == _THEN:
            commands.append([])
        else:
            commands[-1].append(word)
    if not all(commands):
        raise InputError(f"an agent's command line is missing before or after {_THEN}")
    return commands


def _go() -> None:
    gc.freeze()
    gc.enable()


def _read_settings(argument: str | None, model: str | None) -> Settings:
    """Returns the settings of `--settings`, with the model of `--model`. Raises `InputError` or `InvalidRequest`."""
    from ullage.api.session_methods import read_settings  # noqa: PLC0415

    try:
        settings = read_settings(_parse(argument)) if argument else Settings()
    except InvalidRequest as error:
        raise InvalidRequest(f"--settings: {error}") from None
    return replace(settings, model=model) if model else settings


def _parse(argument: str) -> object:
    try:
        text = argument if argument.lstrip().startswith("{") else read_text(Path(argument).expanduser(), SETTINGS)
        return json.loads(text)
    except OSError as error:
        raise InputError(f"--settings: cannot read {argument}: {error.strerror or error}") from None
    except ValueError as error:
        raise InputError(f"--settings: {argument} is not JSON: {error}") from None
