"""`ullage acp`: the agent on standard input and output."""

import gc
from argparse import Namespace

from ullage.model.errors import InputError


def run(args: Namespace) -> int:
    """Serves the agent until its client is done."""
    if args.agent:
        raise InputError("the proxy in front of another agent is not there yet; leave the command out")
    # As for the Language Server: looking for garbage among what lives as long as the process takes time at the start.
    gc.disable()
    from ullage.app.acp_agent import serve_acp_agent  # noqa: PLC0415
    from ullage.cli.settings import read_settings_argument  # noqa: PLC0415

    settings = read_settings_argument(args.settings, args.model)
    gc.freeze()
    gc.enable()
    return serve_acp_agent(args.store, settings)
