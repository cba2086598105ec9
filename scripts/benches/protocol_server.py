"""The two servers that `protocol.py` compares: `stock` is pygls as in its manual, `ours` is Ullage's JSON-RPC code."""

import sys
from typing import Any


def serve_stock() -> None:
    """Serves one method with untyped params, with pygls' own reader and writer."""
    from pygls.lsp.server import LanguageServer  # noqa: PLC0415 - each server pays for its own imports alone

    server = LanguageServer("stock", "0")

    def usage(params: Any) -> dict[str, Any]:
        return {"sessionId": params.sessionId, "used": 84_000, "size": 200_000}

    server.feature("ullage/usage")(usage)
    server.start_io()


def serve_ours() -> None:
    """Serves the same method with typed params and a typed result."""
    from contextlib import AsyncExitStack  # noqa: PLC0415

    from msgspec import Struct  # noqa: PLC0415

    from ullage.api.wire import Method  # noqa: PLC0415
    from ullage.lsp.server import LspServer, WorkspaceHooks  # noqa: PLC0415
    from ullage.service.conversation.workspace import Workspace  # noqa: PLC0415
    from ullage.system.stdio import serve_stdio  # noqa: PLC0415

    class UsageParams(Struct, frozen=True, rename="camel"):
        session_id: str

    class UsageResult(Struct, frozen=True, rename="camel"):
        session_id: str
        used: int
        size: int

    async def usage(_: Workspace, params: UsageParams) -> UsageResult:
        return UsageResult(session_id=params.session_id, used=84_000, size=200_000)

    hooks = WorkspaceHooks(
        open=lambda _, __: Workspace.__new__(Workspace),
        warm_up=lambda: None,
        configure=lambda _, __: None,
        cancel_compaction=lambda _, __: None,
    )
    method = Method(name="usage", params=UsageParams, result=UsageResult, handler=usage, doc="Usage.")
    serve_stdio(LspServer(hooks, (method,), (), "0").connection, AsyncExitStack())


if __name__ == "__main__":
    {"stock": serve_stock, "ours": serve_ours}[sys.argv[1]]()
