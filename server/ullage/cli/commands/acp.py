"""`ullage acp`: the agent on standard input and output, or, with an agent's command line, the proxy in front of it."""

import gc
from argparse import Namespace

from ullage.model.settings import Settings


def run(args: Namespace) -> int:
    """Serves until the client is done."""
    # As for the Language Server: looking for garbage among what lives as long as the process takes time at the start.
    gc.disable()
    from ullage.cli.settings import read_settings_argument  # noqa: PLC0415

    serve = _serve_proxy if args.agent else _serve_agent
    return serve(args, read_settings_argument(args.settings, args.model))


def _serve_agent(args: Namespace, settings: Settings) -> int:
    from ullage.app.acp_agent import serve_acp_agent  # noqa: PLC0415

    _go()
    return serve_acp_agent(args.store, settings)


def _serve_proxy(args: Namespace, settings: Settings) -> int:
    from ullage.app.acp_proxy import serve_acp_proxy  # noqa: PLC0415
    from ullage.proxy.connection import ProxyOptions  # noqa: PLC0415

    _go()
    options = ProxyOptions(window=args.window, hand_over=args.hand_over)
    return serve_acp_proxy(args.agent, args.store, settings, options)


def _go() -> None:
    gc.freeze()
    gc.enable()
