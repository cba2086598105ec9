"""Programs that keep conversations in PostgreSQL, each used as its own documents say. They belong to the `bench`
dependency group and are imported where they are used."""

import asyncio
from collections.abc import Generator
from importlib import import_module
from typing import Any

# Yields once when a session of so many messages is there, and then before each append that is to be timed.
Work = Generator[None]


def langgraph_checkpointer(address: str, size: int, text: str) -> Work:
    """Runs `PostgresSaver.put` of langgraph-checkpoint-postgres as a graph with the state `messages` does after each
    step: a checkpoint whose version of `messages` is new."""
    postgres = import_module("langgraph.checkpoint.postgres")
    base = import_module("langgraph.checkpoint.base")
    messages = [{"role": "user", "content": text, "id": f"m{number}"} for number in range(size)]
    config: dict[str, Any] = {"configurable": {"thread_id": f"t{size}", "checkpoint_ns": ""}}
    with postgres.PostgresSaver.from_conn_string(address) as saver:
        saver.setup()
        for step in range(1_000_000):
            messages.append({"role": "user", "content": text, "id": f"n{step}"})
            versions = {"messages": f"{step:032}.0"}
            checkpoint = base.empty_checkpoint() | {
                "channel_values": {"messages": messages},
                "channel_versions": versions,
            }
            yield
            config = saver.put(config, checkpoint, {"source": "loop", "step": step, "parents": {}}, versions)


def openai_agents_session(address: str, size: int, text: str) -> Work:
    """Runs `SQLAlchemySession.add_items` of the OpenAI Agents SDK with one message."""
    memory = import_module("agents.extensions.memory")
    engines = import_module("sqlalchemy.ext.asyncio")
    engine = engines.create_async_engine(address.replace("postgresql:", "postgresql+psycopg:", 1))
    session = memory.SQLAlchemySession(f"t{size}", engine=engine, create_tables=True)
    with asyncio.Runner() as runner:
        try:
            for start in range(0, size, 500):
                batch = [{"role": "user", "content": text} for _ in range(start, min(size, start + 500))]
                runner.run(session.add_items(batch))
            while True:
                yield
                runner.run(session.add_items([{"role": "user", "content": text}]))
        finally:
            runner.run(engine.dispose())


RIVALS = {
    "langgraph-checkpoint-postgres": langgraph_checkpointer,
    "OpenAI Agents SDK, SQLAlchemySession": openai_agents_session,
}
