"""A small MCP server made with the official SDK: `python small_mcp_server.py stdio`, or `http PORT`."""

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

server = MCPServer("small")
_ONE_PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> str:
    """Adds two numbers."""
    return f"The sum is {a + b}."


@server.tool()
def note(path: str, text: str) -> str:
    """Writes a file."""
    Path(path).write_text(text, encoding="utf-8")
    return "Written."


@server.tool()
def variable(name: str) -> str:
    """Returns a variable of the server's environment."""
    return os.environ.get(name, "unset")


@server.tool()
def picture() -> Image:
    """Returns a picture."""
    return Image(data=_ONE_PIXEL, format="png")


@server.tool()
def fail() -> str:
    """Fails."""
    raise ToolError("the disk is full")


@server.tool()
async def wait(path: str) -> str:
    """Says in a file that it has begun, and then never ends. If it is cancelled, it says so in the file."""
    Path(path).write_text("begun", encoding="utf-8")
    try:
        await asyncio.Event().wait()
    finally:
        Path(path).write_text("cancelled", encoding="utf-8")
    return ""


@server.tool()
def die() -> str:
    """Ends the server."""
    os._exit(1)


if __name__ == "__main__":
    if sys.argv[1] == "stdio":
        server.run("stdio")
    else:
        server.run("streamable-http", port=int(sys.argv[2]))
