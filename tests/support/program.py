"""Starts the real program as an editor starts it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support import started_program
from support.lsp_client import Json, LspClient, start_server

# The capability of a client that understands `ullage/session/update`.
OUR_CLIENT: Json = {"experimental": {"ullage": {"version": 1}}}


def serve_command(store: Path) -> list[str]:
    """Returns the command that does what `ullage lsp --store STORE` does."""
    return started_program.stand_in("lsp", "--store", str(store))


@asynccontextmanager
async def language_server(
    store: Path, settings: Any = None, capabilities: Json | None = None
) -> AsyncGenerator[LspClient]:
    """Runs a server, initialized with these settings and, unless given, with the capabilities of an editor of
    Ullage."""
    async with start_server(serve_command(store)) as client:
        await client.initialize(OUR_CLIENT if capabilities is None else capabilities, options=settings)
        yield client
