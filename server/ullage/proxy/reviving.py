"""Starts the agent of a connection, and finds the connection of an agent by its name."""

import asyncio

from ullage.model.errors import AgentError, UllageError
from ullage.proxy.connection import Connection


async def revive(connection: Connection) -> None:
    """Starts the agent if it doesn't run, and sends it the client's `initialize` again, and `authenticate` if the
    client has sent that to this agent.

    Raises `InvalidRequest` if the program can't be started, and `AgentError` if the agent refuses a request, does not
    answer it in time or ends, or if it is not the client's first and answers with another version of the protocol.
    If this coroutine is cancelled, the start is still completed: an agent that was not greeted can do nothing.
    """
    starting = connection.spawn(_start(connection))
    # Reads the exception of a start after a cancellation, which asyncio would log otherwise.
    starting.add_done_callback(lambda task: task.cancelled() or task.exception())
    await asyncio.shield(starting)
    if connection.number and connection.version != connection.agents[0].version:
        raise AgentError(f"{connection.agent_name} answers with another version of the protocol")


async def _start(connection: Connection) -> None:
    async with connection.reviving:
        if connection.agent.alive:
            return
        await connection.agent.start()
        connection.learn_agent(await connection.agent.request("initialize", connection.to_agent))
        if connection.credentials:
            await connection.request("authenticate", connection.credentials)


async def of_agent(connection: Connection, name: str) -> Connection:
    """Returns the connection whose agent calls itself `name`. Agents that have not run yet are started for that.
    Returns the first connection if there is none."""
    ran = [one for one in connection.agents if one.is_known]
    for one in [*ran, *(other for other in connection.agents if not other.is_known)]:
        try:
            if not one.is_known:
                await revive(one)
        except UllageError:
            continue
        if one.agent_name == name:
            return one
    return connection.agents[0]
