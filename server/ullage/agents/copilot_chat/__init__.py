"""What Ullage knows about Copilot Chat and other chats in VS Code: where their sessions are.

VS Code's file of a session is replayed (`session_log.py`), and its requests are read (`chat_requests.py`).
"""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.agent import Agent, Sessions
from ullage.agents.copilot_chat.chat_requests import FORMAT, companions
from ullage.agents.copilot_chat.session_log import folder_of, replay_records
from ullage.agents.machine import Machine, first_prompt
from ullage.agents.session_facts import Facts, common_facts
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for VS Code's chat sessions: those of each workspace, and those of windows without one."""
    users = machine.editor_folders("User")
    folders = ("workspaceStorage/*/chatSessions", "globalStorage/emptyWindowChatSessions")
    return tuple(f"{user}/{folder}/*.json*" for user in users for folder in folders)


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session. Its folder is in the file `workspace.json` of its workspace."""
    facts = common_facts(path, [as_object(record.get("v", record)) for record in records])
    return replace(facts, cwd=next((folder for record in records if (folder := folder_of(record))), ""))


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns the session's title, or else the first line of the first prompt in these records. Returns "" if they
    contain neither."""
    session = replay_records([record for record in records if not folder_of(record)])
    messages = (as_object(request).get("message") for request in as_objects(session.get("requests")))
    return as_text(session.get("customTitle")) or first_prompt(messages)


AGENT = Agent(
    name="Copilot Chat",
    short="Chat",
    formats=(FORMAT,),
    companions=companions,
    sessions=Sessions(patterns=patterns, title_of=title_of, facts_of=facts_of, fact_files=companions),
)
