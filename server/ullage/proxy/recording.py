"""Records what the updates of a session report: messages, the context's size, the model and compactions, in order."""

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ullage.agents.acp import compaction_call, occupancy_of_update
from ullage.edits.compaction import Summary
from ullage.model.message import ArtifactLedger, Message, Role
from ullage.proxy.compactions import Archiving, NativeCompaction, archive, has_messages
from ullage.proxy.handover import discard
from ullage.proxy.record import SessionRecord
from ullage.proxy.session import ProxiedSession
from ullage.proxy.session_life import State

_NO_SUMMARY = "The agent compacted its context and kept the summary to itself."


async def record_update(session: ProxiedSession, update: dict[str, Any]) -> None:
    """Handles a session update of the agent that the client has been sent: stores its facts in the session, and records
    the messages that it completes."""
    if session.state is not State.OPENING:
        # A compaction in a replay is an old one, which the record has.
        session.watch_compaction(update)
        if (unasked := session.take_unasked_compaction()) is not None:

            async def job(record: SessionRecord) -> None:
                _archive(session, record, unasked)

            await record_messages(session, session.rest())
            await session.put(job)
    session.facts.take_update(update)
    occupancy = occupancy_of_update(update)
    if occupancy is not None:
        model = session.facts.model
        session.facts.take_occupancy(occupancy, update)
        if session.facts.model != model:
            await record_model(session)
        if not session.busy:
            await record_occupancy(session)
    if not compaction_call(update):
        await record_messages(session, session.take(update))


async def record_messages(session: ProxiedSession, messages: Sequence[Message]) -> None:
    """Adds messages to the session's record, and counts the answers among them in `rounds`."""

    async def job(record: SessionRecord) -> None:
        await record.add(messages)

    session.rounds += sum(message.role is Role.ASSISTANT for message in messages)
    if messages:
        await session.put(job)


async def record_occupancy(session: ProxiedSession) -> None:
    """Records the tokens in the context as the agent has reported them since the last call, if it has, and which agent
    holds the session."""
    occupancy, attached, rounds = session.facts.take_new(), session.attachment(session.agent_id), session.rounds

    async def job(record: SessionRecord) -> None:
        record.attach(attached)
        if occupancy is not None and occupancy.summed and rounds > 1:
            record.report_sum(occupancy.used, rounds)
        elif occupancy is not None:
            record.report(occupancy.used)

    await session.put(job)


async def record_model(session: ProxiedSession) -> None:
    """Records the model that the agent last reported, unless the session is still being opened.

    Called before the answer's usage is recorded, because a later change of the model would void the usage.
    """
    model = session.facts.model

    async def job(record: SessionRecord) -> None:
        record.change_model(model)

    if session.state is not State.OPENING:
        await session.put(job)


def record_compaction(session: ProxiedSession, record: SessionRecord) -> None:
    """Records the agent's own compaction in the turn that ends, if there was one."""
    made = session.take_compaction()
    if made is not None:
        _archive(session, record, made)


def _archive(session: ProxiedSession, record: SessionRecord, made: NativeCompaction) -> None:
    """Records the agent's own compaction, which replaces all messages so far, unless it changed nothing."""
    used = session.facts.occupancy.used if session.facts.occupancy else None
    # An agent that was cancelled may report 0 tokens, which is no figure: the prompt alone has some.
    changed_nothing = not made.completed and (not used or used >= made.used_before)
    # Some agents report twice that they are done; at the second report there are no messages since the first.
    if changed_nothing or not has_messages(record):
        if made.copy:
            discard(session, made.copy)
        return
    summary = Summary(
        text=made.summary.strip() or _NO_SUMMARY, ledger=ArtifactLedger(), summarizer=session.connection.agent_name
    )
    archiving = Archiving(summary=summary, trigger=made.trigger, size_before=made.used_before, size_after=used)
    if made.copy:
        copied, attached = session.attachment(made.copy), session.attachment(session.agent_id)
        archiving = replace(archiving, before=(copied,), after=(attached,))
    archive(record, archiving)
