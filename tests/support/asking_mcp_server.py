"""An MCP server, made with the official SDK, that asks its user, adds tools and can be ended: over stdio."""

import os
from typing import Any

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("asking")


@server.tool()
async def choose(context: Context) -> str:
    """Asks with every kind of field that MCP has, the former way to name choices included."""
    fields: Any = {
        "name": {"type": "string", "title": "Name", "minLength": 1, "format": "email"},
        "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["small", "large"]},
        "share": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
        "count": {"type": "integer", "description": "How many."},
        "sure": {"type": "boolean", "default": False},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 2},
    }
    schema: Any = {"type": "object", "properties": fields, "required": ["name"]}
    answer = await context.session.elicit_form("Fill it in", schema)
    return answer.model_dump_json(exclude_none=True)


@server.tool()
async def choose_nested(context: Context) -> str:
    """Asks with a field that no form has."""
    schema: Any = {"type": "object", "properties": {"inner": {"type": "object"}}}
    return (await context.session.elicit_form("Fill it in", schema)).action


@server.tool()
async def visit(context: Context) -> str:
    """Asks the user to open an address."""
    return (await context.elicit_url("Log in there", "https://example.com/login", "visit-1")).action


@server.tool()
async def grow(context: Context) -> str:
    """Adds a tool, and says so."""
    server.add_tool(grown, name="grown")
    await context.session.send_tool_list_changed()
    return "Grown."


@server.tool()
def process() -> str:
    """Returns the number of the server's process."""
    return str(os.getpid())


def grown() -> str:
    """Is there once `grow` was called."""
    return "Here."


if __name__ == "__main__":
    server.run("stdio")
