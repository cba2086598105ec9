"""`ullage acp`, which is announced and not there yet."""

from argparse import Namespace

from ullage.model.errors import InputError


def run(_: Namespace) -> int:
    """Says so."""
    raise InputError("the ACP agent is not there yet; editors can use the Language Server: ullage lsp")
