"""`ullage acp`: with an agent's command line, the proxy in front of it."""

from argparse import Namespace

from ullage.model.errors import InputError


def run(args: Namespace) -> int:
    """Serves until the client is done."""
    if not args.agent:
        raise InputError("the ACP agent is not there yet; editors can use the Language Server: ullage lsp")
    from ullage.acp.proxy.connection import ProxyOptions  # noqa: PLC0415
    from ullage.app.acp_proxy import run_proxy  # noqa: PLC0415

    options = ProxyOptions(window=args.window, hand_over=args.hand_over, automatic=not args.manual)
    return run_proxy(args.agent, args.store, options)
