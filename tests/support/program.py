"""The real program, started as an editor starts it."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.lsp_client import Json, LspClient, start_server

# What a client announces that understands `ullage/session/update`.
OUR_CLIENT: Json = {"experimental": {"ullage": {"version": 1}}}


def serve_command(store: Path) -> list[str]:
    """`ullage lsp --store STORE` by this interpreter."""
    return [sys.executable, "-m", "ullage", "lsp", "--store", str(store)]


@asynccontextmanager
async def language_server(
    store: Path, settings: Any = None, capabilities: Json | None = None
) -> AsyncGenerator[LspClient]:
    """A running server, initialised with these settings, by our client unless told otherwise."""
    async with start_server(serve_command(store)) as client:
        await client.initialize(OUR_CLIENT if capabilities is None else capabilities, options=settings)
        yield client
