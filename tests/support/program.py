"""The real program, started as an editor starts it."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.lsp_client import Json, LspClient, start_server

# What a client announces that understands `ullage/session/update`.
OUR_CLIENT: Json = {"experimental": {"ullage": {"version": 1}}}
_SERVE = "import sys; from ullage.cli.main import main; sys.exit(main())"


@asynccontextmanager
async def language_server(
    store: Path, settings: Any = None, capabilities: Json | None = None
) -> AsyncGenerator[LspClient]:
    """`ullage lsp --store STORE`, initialised with these settings by our client unless told otherwise."""
    command = (sys.executable, "-c", _SERVE, "lsp", "--store", str(store))
    async with start_server(command) as client:
        await client.initialize(OUR_CLIENT if capabilities is None else capabilities, options=settings)
        yield client
