"""`ullage export`: writes a stored session as text."""

import asyncio
import sys
from argparse import Namespace

from ullage.app.compose import open_workspace
from ullage.cli.output import write_text
from ullage.service.archive.export import export_session


def run(args: Namespace) -> int:
    """Prints the session's log, or its context as a provider's request."""
    with open_workspace(args.store) as workspace:
        text = asyncio.run(export_session(workspace.open(args.session), args.shape))
    if args.output is not None:
        write_text(args.output, text)
    else:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
    return 0
