"""The official MCP SDK's client as a judge of `ullage mcp`.

Run by a Python that has the SDK. The arguments are the Python of Ullage, a home folder and a working folder. Prints the
names of the tools and `ok`.
"""

# pyright: basic

import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters  # pyright: ignore[reportMissingImports]
from mcp.client.stdio import stdio_client  # pyright: ignore[reportMissingImports]


async def judge(python: str, home: str, folder: str) -> None:
    environment = {
        **os.environ,
        "HOME": home,
        "CLAUDE_CONFIG_DIR": f"{home}/.claude",
    }
    arguments = ["-m", "ullage", "mcp", "--store", f"{home}/sessions.db"]
    server = StdioServerParameters(command=python, args=arguments, env=environment, cwd=folder)
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        greeting = await session.initialize()
        assert greeting.instructions is not None
        sys.stdout.write(" ".join(tool.name for tool in (await session.list_tools()).tools) + "\n")
        found = await session.call_tool("search", {"query": "retry limit"})
        assert "#2 assistant" in found.content[0].text, found
        opened = await session.call_tool("open", {"ref": "#2"})
        assert "retry limit is 17" in opened.content[0].text, opened
        wrong = await session.call_tool("open", {"ref": "nothing"})
        assert "no reference" in wrong.content[0].text, wrong
        for resource in (await session.list_resources()).resources:
            assert (await session.read_resource(resource.uri)).contents
        assert len((await session.list_resource_templates()).model_dump()) > 0
        await session.send_ping()
        sys.stdout.write("ok\n")


asyncio.run(judge(*sys.argv[1:]))
