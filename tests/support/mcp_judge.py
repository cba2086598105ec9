"""The official MCP SDK's client as a judge of `ullage mcp`: it validates each answer by the protocol's own types.

Run by a Python that has the SDK. The arguments are the Python of Ullage, a home folder and a working folder. Prints a
JSON object: what the client was given.
"""

# pyright: basic

import asyncio
import json
import os
import sys
from collections.abc import Coroutine
from typing import Any

import mcp_types as types
from mcp import Client, ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

Json = dict[str, Any]
_MESSAGE = "ullage://session/messages/2"
# Each tool with arguments that give a result, and with wrong ones.
_RIGHT: list[tuple[str, Json]] = [
    ("search", {"query": "retry limit"}),
    ("search", {"query": "retry limit", "scope": "project", "limit": 1}),
    ("open", {"ref": "#2"}),
    ("open", {"ref": "#1-2", "page": 1}),
    ("context", {}),
    ("lost", {}),
    ("lost", {"kind": "task"}),
]
_WRONG: list[tuple[str, Json]] = [
    ("search", {}),
    ("search", {"query": "retry", "limit": 1000}),
    ("open", {"ref": "nothing"}),
    ("open", {"ref": "#2", "page": 99}),
    ("context", {"of": "all"}),
    ("lost", {"kind": "dreams"}),
]


async def code_of(request: Coroutine[Any, Any, Any]) -> int | None:
    """Returns the code of the error that a request gets, None if it gets a result."""
    try:
        await request
    except MCPError as error:
        return error.error.code
    return None


async def judge(server: StdioServerParameters) -> Json:
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        greeting = await session.initialize()
        tools = (await session.list_tools()).tools
        # The client compares results with the tools' schemas, which it has read.
        resources = (await session.list_resources()).resources
        templates = (await session.list_resource_templates()).resource_templates
        uris = [*(str(resource.uri) for resource in resources), _MESSAGE]
        return {
            "name": greeting.server_info.name,
            "instructions": greeting.instructions,
            "tools": [tool.name for tool in tools],
            "read_only": [tool.name for tool in tools if tool.annotations and tool.annotations.read_only_hint],
            "right": [await called(session, *call) for call in _RIGHT],
            "wrong": [await called(session, *call) for call in _WRONG],
            "templates": [template.uri_template for template in templates],
            "contents": {uri: [*map(text_of, (await session.read_resource(uri)).contents)] for uri in uris},
            "codes": {
                "unknown tool": await code_of(session.call_tool("delete", {})),
                "unknown resource": await code_of(session.read_resource("file:///etc/passwd")),
                "unknown cursor": await code_of(session.list_tools(params=types.PaginatedRequestParams(cursor="2"))),
                "no prompts": await code_of(session.list_prompts()),
                "ping": await code_of(session.send_ping()),
            },
            "cancelled": await cancelled(session),
        }


async def called(session: ClientSession | Client, tool: str, arguments: Json) -> Json:
    """Calls a tool and returns the text of its result, and whether it is an error."""
    result = await session.call_tool(tool, arguments)
    (content,) = result.content
    return {"text": text_of(content), "error": result.is_error}


def text_of(content: object) -> str:
    assert isinstance(content, types.TextContent | types.TextResourceContents)
    return content.text


async def cancelled(session: ClientSession) -> int:
    """Cancels calls at once, by which the client notifies the server. Returns how many calls have a result after
    that."""
    for _ in range(3):
        call = asyncio.ensure_future(session.call_tool("search", {"query": "retry limit"}))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
    results = [await session.call_tool("open", {"ref": "#2"}) for _ in range(3)]
    return len([result for result in results if not result.is_error])


async def agreed(server: StdioServerParameters, version: str) -> str:
    """Returns the version that the server answers to a client that asks for `version`."""
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        params = types.InitializeRequestParams(
            protocol_version=version,
            capabilities=types.ClientCapabilities(),
            client_info=types.Implementation(name="judge", version="1"),
        )
        asked = types.InitializeRequest(params=params)
        return (await session.send_request(asked, types.InitializeResult)).protocol_version


async def negotiated(server: StdioServerParameters, mode: str) -> Json:
    """Returns what a client is given that connects in this way: the version, and each answer."""
    async with Client(stdio_client(server), mode=mode) as client:
        uris = [*(str(resource.uri) for resource in (await client.list_resources()).resources), _MESSAGE]
        return {
            "version": client.protocol_version,
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "templates": len((await client.list_resource_templates()).resource_templates),
            "right": [await called(client, *call) for call in _RIGHT],
            "wrong": [await called(client, *call) for call in _WRONG],
            "contents": {uri: [*map(text_of, (await client.read_resource(uri)).contents)] for uri in uris},
            "codes": {
                "unknown tool": await code_of(client.call_tool("delete", {})),
                "unknown resource": await code_of(client.read_resource("file:///etc/passwd")),
            },
        }


async def everything(python: str, home: str, folder: str) -> Json:
    environment = {**os.environ, "HOME": home, "CLAUDE_CONFIG_DIR": f"{home}/.claude"}
    arguments = ["-m", "ullage", "mcp", "--store", f"{home}/sessions.db"]
    server = StdioServerParameters(command=python, args=arguments, env=environment, cwd=folder)
    report = await judge(server)
    report["agreed"] = {version: await agreed(server, version) for version in HANDSHAKE_PROTOCOL_VERSIONS}
    report["negotiated"] = {
        mode: await negotiated(server, mode) for mode in ("legacy", "auto", *MODERN_PROTOCOL_VERSIONS)
    }
    return report


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(everything(*sys.argv[1:]))) + "\n")
