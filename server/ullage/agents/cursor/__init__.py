"""What Ullage knows about Cursor's command line: where its conversations are.

It keeps them in databases (`chat_stores.py`) and in transcripts (`transcripts.py`).
"""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.agent import Agent, Inserted, Sessions
from ullage.agents.cursor import chat_stores
from ullage.agents.cursor.chat_stores import head_in, name_of
from ullage.agents.cursor.transcripts import FORMAT, ids_in, is_sub_agent
from ullage.agents.machine import Machine, first_prompt, last_text
from ullage.agents.session_facts import Facts, common_facts, side_of
from ullage.formats.parsing import as_count
from ullage.model.json_values import JsonObject, as_object, as_text


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for the databases of Cursor's CLI, one for each conversation, and for its transcripts: in a
    folder per session, those of sub-agents one folder deeper."""
    projects = f"{machine.folder('', '.cursor')}/projects/*/agent-transcripts"
    stores = (f"{place}/chats/*/*/store.db" for place in (machine.folder("", ".cursor"), f"{machine.settings}/cursor"))
    return (*stores, f"{projects}/*/*.jsonl", f"{projects}/*/subagents/*.jsonl", f"{projects}/*.jsonl")


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a conversation. The records have no ids: those of a conversation and of the one that started
    it as a sub-agent's are in the path of the transcript."""
    session_id, parent = ids_in(path)
    facts = common_facts(path, records)
    if path.endswith("/store.db"):
        return _facts_of_store(facts, records)
    facts = replace(facts, session_id=facts.session_id or session_id)
    return side_of(facts, session_id, parent) if is_sub_agent(path) else facts


def _facts_of_store(facts: Facts, records: Sequence[JsonObject]) -> Facts:
    head = _head(records)
    return replace(
        facts,
        session_id=as_text(head.get("agentId")),
        model=as_text(head.get("lastUsedModel")),
        is_side=any(record.get("isSubagent") is True for record in records),
        updated_at=max((as_count(record.get("updatedAtMs")) for record in records), default=0),
    )


def _head(records: Sequence[JsonObject]) -> JsonObject:
    return head_in(as_object(record.get("row")) for record in records)


def companions(path: str) -> tuple[str, ...]:
    """Returns the name of the file with the folder and the times of the conversation in a database. Empty for other
    files."""
    return ("meta.json",) if path.endswith("/store.db") and "/chats/" in path else ()


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns the name that a conversation has in its database, or else the first line of the first prompt in these
    records. Returns "" if they have neither."""
    return (
        last_text(records, "title")
        or name_of(_head(records))
        or first_prompt(
            as_object(record.get("message")).get("content") for record in records if record.get("role") == "user"
        )
    )


AGENT = Agent(
    name="Cursor",
    formats=(chat_stores.FORMAT, FORMAT),
    companions=companions,
    tables=chat_stores.TABLES,
    inserted=Inserted(tags=("user_info",)),
    sessions=Sessions(
        patterns=patterns,
        title_of=title_of,
        facts_of=facts_of,
        fact_files=companions,
        is_sub_agent=is_sub_agent,
        table="meta",
    ),
)
