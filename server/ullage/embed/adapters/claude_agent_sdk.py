"""A `SessionStore` and hooks for the Claude Agent SDK (`claude-agent-sdk`).

    store = ClaudeSessionStore(ContextPool("claude-sonnet-5-5", store="conversations.db"))
    options = ClaudeAgentOptions(session_store=store, hooks=store.hooks())

The SDK mirrors each line of a session to the store, and resumes from it on any machine that reaches it. The agent keeps
its context itself, so no room is made here: the store has the figure, the search, and what a compaction left out, which
the hook gives back with the next prompt. The SDK's own types are not needed: a store is a protocol.
"""

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import PurePath
from typing import Any

from ullage.agents.transcripts import read
from ullage.embed.adapters.framework_messages import Given, to_message
from ullage.embed.manager import ContextPool
from ullage.formats.parsing import convert_usage, to_json
from ullage.formats.provider import Provider
from ullage.lost import LONGEST
from ullage.lost.left_out import last_compaction, lost_from, read_before, records_of, write_brief
from ullage.model.errors import SessionNotFound, UllageError
from ullage.model.events import MessageAppended
from ullage.model.json_values import JsonObject, as_object
from ullage.service import sessions
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.workspace import Workspace

_FRAMEWORK = "claude-agent-sdk"
# More sessions than any store has.
_ALL = 1 << 40


class ClaudeSessionStore:
    """A session store of the Claude Agent SDK in a pool's store. Entries come back equal and in their order; one with
    the `uuid` of an earlier one is the same entry.

    Each session, and each sub-agent's, is a conversation of the pool; `conversation_id` returns its id.
    """

    def __init__(self, pool: ContextPool) -> None:
        self._pool = pool
        # By conversation, the compaction whose brief was given last.
        self._given: dict[str, str] = {}

    @staticmethod
    def conversation_id(project_key: str, session_id: str, subpath: str = "") -> str:
        """Returns the id of a session's conversation in the pool."""
        return "/".join((_FRAMEWORK, project_key, session_id, *([subpath] if subpath else [])))

    async def append(self, key: Mapping[str, str], entries: Sequence[JsonObject]) -> None:
        """Mirrors entries of a session."""
        if entries:
            await self._pool.wait_for(self._id_of(key), partial(_append, entries))

    async def load(self, key: Mapping[str, str]) -> list[JsonObject] | None:
        """Returns all entries of a session, or None if there is no such session."""
        return await self._pool.look(partial(_entries, self._id_of(key)))

    async def list_sessions(self, project_key: str) -> list[JsonObject]:
        """Returns the sessions of a project, with the times of their last entries in Unix milliseconds."""
        return await self._pool.look(partial(_listed, self.conversation_id(project_key, "")))

    async def list_subkeys(self, key: Mapping[str, str]) -> list[str]:
        """Returns the paths of what belongs to a session, such as its sub-agents."""
        begins = self.conversation_id(key["project_key"], key["session_id"], "") + "/"
        return await self._pool.look(partial(_names, begins))

    async def delete(self, key: Mapping[str, str]) -> None:
        """Deletes a session with all that belongs to it, or only what is at the key's `subpath`."""
        await self._pool.delete(self._id_of(key))
        if not key.get("subpath"):
            for subpath in await self.list_subkeys(key):
                await self._pool.delete(self._id_of({**key, "subpath": subpath}))

    def hooks(self) -> dict[str, list[Any]]:
        """Returns hooks that give the agent back what its last compaction left out: with the next prompt, once."""
        matcher = import_module("claude_agent_sdk").HookMatcher
        return {"UserPromptSubmit": [matcher(hooks=[self._give_back])]}

    async def _give_back(self, hook: Mapping[str, Any], _: str | None, __: Any) -> JsonObject:
        project_key = PurePath(str(hook["transcript_path"])).parent.name
        key = {"project_key": project_key, "session_id": str(hook["session_id"])}
        entries = await self.load(key)
        compaction, text = await asyncio.to_thread(_brief, entries) if entries else ("", "")
        if not text or self._given.get(self._id_of(key)) == compaction:
            return {}
        self._given[self._id_of(key)] = compaction
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}}

    def _id_of(self, key: Mapping[str, str]) -> str:
        return self.conversation_id(key["project_key"], key["session_id"], key.get("subpath", ""))


async def _append(entries: Sequence[JsonObject], conversation: Conversation) -> None:
    ports = conversation.workspace.ports
    parts: list[sessions.MessagesWithUsage] = []
    seen: set[str] = set()
    for entry in entries:
        one = str(entry.get("uuid") or ports.ids.new("m"))
        if one in seen or ports.store.find_message(conversation.id, one) is not None:
            continue
        seen.add(one)
        message = as_object(entry.get("message"))
        given = Given(id=one, raw=entry, read=[message] if message else (), provider=Provider.ANTHROPIC)
        usage = as_object(message.get("usage")) if entry.get("type") == "assistant" else {}
        parts.append(
            sessions.MessagesWithUsage(
                messages=[to_message(given, _FRAMEWORK, one, ports.clock.now())],
                usage=convert_usage(usage) if usage else None,
            )
        )
    if parts:
        await sessions.append_all(conversation, parts)


def _entries(conversation_id: str, workspace: Workspace) -> list[JsonObject] | None:
    try:
        records = workspace.ports.store.read(conversation_id)
    except SessionNotFound:
        return None
    given = [record.event.message.provided for record in records if isinstance(record.event, MessageAppended)]
    # What an edit has changed or made is not the SDK's.
    return [own.fields for own in given if own is not None and own.whole and own.format == _FRAMEWORK]


def _names(begins: str, workspace: Workspace) -> list[str]:
    return [found.removeprefix(begins) for found in workspace.ports.store.find_ids(begins, _ALL)]


def _listed(begins: str, workspace: Workspace) -> list[JsonObject]:
    """Returns the sessions whose conversations' ids begin with this text. What belongs to a session has a longer id."""
    store = workspace.ports.store
    return [
        {"session_id": name, "mtime": store.info(begins + name).updated_at}
        for name in _names(begins, workspace)
        if "/" not in name
    ]


def _brief(entries: Sequence[JsonObject]) -> tuple[str, str]:
    """Returns which compaction was the last, and the brief of what it left out; two empty texts if there is none."""
    try:
        transcript = read("\n".join(map(to_json, entries)).encode("utf-8", "replace"))
    except UllageError:
        return "", ""
    found = last_compaction(records_of(transcript))
    if found is None or not found.is_readable:
        return "", ""
    left = lost_from(read_before(found.before, transcript.cwd, found.taken_back), found.carried)
    return str(found.timestamp), write_brief(left, LONGEST, cwd=transcript.cwd).text
