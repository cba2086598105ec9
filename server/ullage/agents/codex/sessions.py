"""Where Codex keeps its sessions, and how their ids and titles are found."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ullage.agents.codex.compacted import text_of
from ullage.agents.codex.inserted import is_context
from ullage.agents.machine import Machine, first_prompt, last_text
from ullage.agents.session_facts import Facts, common_facts
from ullage.model.json_values import JsonObject, as_object, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for Codex's session files: those in a folder per day, and those that the user archived.
    Codex compresses old ones with Zstandard (`.jsonl.zst`)."""
    home = machine.folder("CODEX_HOME", ".codex")
    places = (f"{home}/sessions/*/*/*/rollout-*.jsonl", f"{home}/archived_sessions/rollout-*.jsonl")
    return tuple(place + ending for place in places for ending in ("", ".zst"))


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session. Its id, and whether it is a sub-agent's, are in the first record, of type
    `session_meta`."""
    facts = common_facts(path, records)
    heads = (as_object(record.get("payload")) for record in records if record.get("type") == "session_meta")
    head = as_object(next(heads, None))
    subagent = as_object(head.get("source")).get("subagent")
    spawned = as_object(as_object(subagent).get("thread_spawn"))
    return replace(
        facts,
        session_id=as_text(head.get("id")) or facts.session_id,
        is_side=facts.is_side or bool(subagent),
        parent=facts.parent or as_text(spawned.get("parent_thread_id")),
    )


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns a session's title from these of its records: the name that the user gave it, else the first line of the
    first prompt. Empty if they have neither."""
    payloads = [as_object(record.get("payload", record)) for record in records]
    messages = (text_of(payload) for payload in payloads if payload.get("role") == "user")
    return last_text(payloads, "thread_name") or first_prompt(text for text in messages if not is_context(text))


def session_in_request(meta: Mapping[str, Any]) -> str:
    """Returns the id of the session whose model calls a tool of an MCP server, or "" if the request does not name it.
    Seen with Codex 0.166, which gives its servers no variable with this id."""
    return as_text(meta.get("threadId"))
