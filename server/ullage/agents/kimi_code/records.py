"""The records of Kimi Code's logs, and the files that they come in."""

from pathlib import PurePosixPath

from ullage.formats.parsing import Document, Line
from ullage.formats.transcripts.format import Records
from ullage.formats.transcripts.several import Conversation, choose, file_named
from ullage.model.json_values import as_object, as_text

# Types of records that say what the program did, or repeat a message for the screen.
KNOWN_RECORDS = {
    *("metadata", "config.update", "forked", "usage.record", "context.update_token_count"),
    *("agent.message.appended", "agent.turn.started", "agent.turn.ended"),
    *("cron.add", "cron.cursor", "cron.delete"),
    *("full_compaction.begin", "full_compaction.cancel", "full_compaction.complete"),
    *("goal.clear", "goal.create", "goal.update", "plan.revision"),
    *("interaction.request", "interaction.resolved", "interruptionReminder.recorded"),
    *("llm.request", "llm.tools_snapshot", "mcp.tools_discovered"),
    *("permission.record_approval_result", "permission.set_mode", "plugin.session_start", "profile.bind"),
    *("plan_mode.cancel", "plan_mode.enter", "plan_mode.exit", "prompt.accepted", "prompt.completed"),
    *("runtime.set_binding", "skill.activate", "staleGuard.cleared", "staleGuard.recorded"),
    *("subagent.spawned", "subagent.started", "subagent.completed", "subagent.failed"),
    *("swarm_mode.enter", "swarm_mode.exit", "task.started", "task.terminated", "task.waitDelivered"),
    *("token_counting.measured", "token_counting.rebased", "token_counting.truncated", "token_counting.turn_recorded"),
    *("tools.register_user_tool", "tools.reset_active_tools", "tools.set_active_tools"),
    *("tools.unregister_user_tool", "tools.update_store", "tower_mode.enter", "tower_mode.exit"),
    *("turn.cancel", "turn.ended", "turn.prompt", "turn.started", "turn.steer"),
}
_CONTEXT = {"context.append_message", "context.append_loop_event"}


def matches(document: Document) -> bool:
    """Returns whether the file is the log of an agent of Kimi Code, or the folder of a session with such logs."""
    objects = document.objects or [value for wire in _wires(document) for value in wire.objects]
    return any(as_text(value.get("type")) in _CONTEXT for value in objects) or any(
        value.get("type") == "metadata" and "protocol_version" in value for value in objects[:1]
    )


def records(document: Document) -> Records:
    """Returns a record with the facts of the session's `state.json`, then the lines of one agent's log.

    A session's folder holds the logs of several agents; `document.run` chooses one, by default the main one.
    """
    wire, others = document, ()
    wires = () if document.lines else _wires(document)
    if wires:
        found = [
            Conversation(id=_agent(wire), messages=len(wire.lines), is_child=_agent(wire) != "main") for wire in wires
        ]
        chosen, others = choose(found, document)
        wire = wires[chosen]
    state = file_named(document, "state.json")
    folders = PurePosixPath(wire.name.replace("\\", "/")).parts
    head = {"state": as_object(state.value) if state else {}, "agent": _agent(wire), "session": "".join(folders[-4:-3])}
    return Records(lines=(Line(number=1, value=head), *wire.lines), skipped=others)


def _wires(document: Document) -> tuple[Document, ...]:
    return tuple(file for file in document.companions if file.name.endswith("wire.jsonl"))


def _agent(wire: Document) -> str:
    folders = PurePosixPath(wire.name.replace("\\", "/")).parts[-3:-1]
    return folders[1] if folders[:1] == ("agents",) else ""
