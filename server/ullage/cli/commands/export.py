"""`ullage export`: writes a stored session as text, or the agent's own file byte for byte."""

import asyncio
from argparse import Namespace

from ullage.app.compose import open_workspace
from ullage.cli.original_files import export_original
from ullage.cli.output import STDOUT, write_output
from ullage.cli.typed_arguments import ExportOptions, read_options
from ullage.service.archive.export import export_session
from ullage.service.archive.naming import find_session


def run(args: Namespace) -> int:
    """Prints a stored session's log, or its context as a provider's request, in UTF-8, or writes it to the file of
    `--output`. With `--original`, does so with the agent's own file. Returns 0."""
    options = read_options(args, ExportOptions)
    with open_workspace(options.store, to_read=True) as workspace:
        if options.original:
            export_original(workspace, options)
            return 0
        session_id = find_session(workspace.ports.store, options.session)
        text = asyncio.run(export_session(workspace.open(session_id), options.shape))
    data = (text if text.endswith("\n") else text + "\n").encode()
    write_output(options.output or STDOUT, data)
    return 0
