"""What the proxy learns from what an agent says: how full it is, what it offers, and what is to be recorded."""

from collections.abc import Sequence
from typing import Any

from ullage.agents.acp import occupancy_of_update, window_of_model
from ullage.agents.agent import Occupancy
from ullage.model.json_values import as_list, as_object, as_objects, as_text
from ullage.model.message import Message, Role
from ullage.proxy import native
from ullage.proxy.commands import tell_commands
from ullage.proxy.connection import Connection
from ullage.proxy.record.recorder import add_messages, attach, change_model, report, report_sum
from ullage.proxy.session import NativeCompaction, ProxiedSession
from ullage.service.conversation.workspace import Workspace


async def learn_update(connection: Connection, session: ProxiedSession, update: dict[str, Any]) -> None:
    """Takes in a session update that the client has been passed."""
    native.watch(session, update)
    if (unasked := native.take_unasked(session)) is not None:
        await _record_compaction(connection, session, unasked)
    _learn_offers(connection, session, update)
    told = occupancy_of_update(update)
    if told is not None:
        session.tells_usage = session.tells_usage or update.get("sessionUpdate") == "usage_update"
        known = session.model
        learn_occupancy(session, told)
        if session.model != known:
            await record_model(connection, session)
        if not session.busy and not session.loading:
            await record_occupancy(connection, session)
    messages = tuple(session.turn.take(update))
    if session.loading:
        session.replayed += messages
    else:
        await record_messages(connection, session, messages)


def learn_opened(session: ProxiedSession, result: dict[str, Any]) -> None:
    """Takes in what an agent says of a session that it has opened."""
    session.mode = as_text(as_object(result.get("modes")).get("currentModeId")) or session.mode
    learn_config(session, result)
    models = as_object(result.get("models"))
    current = as_text(models.get("currentModelId"))
    if current and not session.model:
        session.model = current
    for model in as_objects(models.get("availableModels")):
        if model.get("modelId") == current and session.window is None:
            session.window = window_of_model(model)


def learn_config(session: ProxiedSession, result: dict[str, Any]) -> None:
    """Takes in the config options as they are now."""
    for option in as_objects(result.get("configOptions")):
        session.config[as_text(option.get("id"))] = option.get("currentValue")
        if option.get("category") == "model" and not session.tells_model:
            session.model = as_text(option.get("currentValue"))


def learn_occupancy(session: ProxiedSession, told: Occupancy) -> None:
    """Takes in how full the agent says it is."""
    session.occupancy = told
    session.window = told.size or session.window
    if told.model:
        # An option may be an alias, or "default".
        session.model, session.tells_model = told.model, True


async def record_messages(connection: Connection, session: ProxiedSession, messages: Sequence[Message]) -> None:
    """Records what was said."""
    session.rounds += sum(message.role is Role.ASSISTANT for message in messages)

    async def job(workspace: Workspace) -> None:
        await add_messages(workspace, session.id, messages)

    if messages:
        await connection.recorder.put(job)


async def record_occupancy(connection: Connection, session: ProxiedSession) -> None:
    """Records how full the agent has last said it is."""
    told, attached, rounds = session.occupancy, connection.attachment(session, session.agent_id), session.rounds

    async def job(workspace: Workspace) -> None:
        attach(workspace, session.id, attached)
        if told is not None and told.summed and rounds > 1:
            report_sum(workspace, session.id, told.used, rounds)
        elif told is not None:
            report(workspace, session.id, told.used)

    await connection.recorder.put(job)


async def record_model(connection: Connection, session: ProxiedSession) -> None:
    """Records the model: before its answer, since what was counted for another model has no report."""
    model = session.model

    async def job(workspace: Workspace) -> None:
        change_model(workspace, session.id, model)

    await connection.recorder.put(job)


async def _record_compaction(connection: Connection, session: ProxiedSession, made: NativeCompaction) -> None:
    async def job(workspace: Workspace) -> None:
        native.record(connection, session, workspace, made)

    await record_messages(connection, session, tuple(session.turn.end()))
    await connection.recorder.put(job)


def _learn_offers(connection: Connection, session: ProxiedSession, update: dict[str, Any]) -> None:
    match update.get("sessionUpdate"):
        case "available_commands_update":
            session.commands = as_list(update.get("availableCommands"))
            session.commands_told = True
            tell_commands(connection, session)
        case "config_option_update":
            learn_config(session, update)
        case "current_mode_update":
            session.mode = as_text(update.get("currentModeId"))
        case _:
            pass
