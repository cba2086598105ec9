"""What Ullage knows about Cursor's command line: where its conversations are, and what its transcripts say.

It keeps them in databases (`chat_stores.py`) and in transcripts (`~/.cursor/projects/*/agent-transcripts/ID/ID.jsonl`).
These have one message per line, in the shape of Anthropic's API, but without ids, times and usage. Results of tools are
often not written, and calls may have no ids. The conversation's id is the name of the file.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from ullage.agents.agent import Agent, Inserted, Sessions
from ullage.agents.cursor import chat_stores
from ullage.agents.cursor.chat_stores import head_in, name_of
from ullage.agents.machine import Machine, first_prompt, last_text
from ullage.agents.session_facts import Facts, common_facts, side_of
from ullage.formats.parsing import Document, Line, as_count
from ullage.formats.transcripts.builder import PieceReader, TranscriptBuilder
from ullage.formats.transcripts.chat import read_blocks
from ullage.formats.transcripts.format import Records, incremental
from ullage.model.blocks import TextBlock, ToolResultBlock
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import Role

NAME = "cursor-cli"
_OWN_LINES = {"turn_ended", "turn_started", "turn_id", "status"}
_ROLES = ("user", "assistant")
# The key of a record, made here, with the conversation's id and its parent's.
_IDS = "ullage.ids"


def is_sub_agent(path: str) -> bool:
    """Returns whether a transcript is a sub-agent's: it is in a folder `subagents`."""
    return "/subagents/" in path


def ids_in(path: str) -> tuple[str, str]:
    """Returns the id of the conversation according to the path of its transcript and, for a sub-agent's, that of the
    conversation that started it, else "". Both are "" if the path is not that of a transcript."""
    _, separator, place = path.replace("\\", "/").rpartition("/agent-transcripts/")
    if not separator or not place.endswith(".jsonl"):
        return "", ""
    own = place.rpartition("/")[2].removesuffix(".jsonl")
    return own, place.partition("/")[0] if is_sub_agent(path.replace("\\", "/")) else ""


def matches(document: Document) -> bool:
    """Returns whether the first message has Cursor's shape: a role next to the message, and no type."""
    for value in document.objects:
        if value.get("role") in _ROLES:
            content = as_object(value.get("message")).get("content")
            return isinstance(content, str | list) and not {"type", "uuid"} & set(value)
    return False


class CursorReader:
    """Reads the lines of a transcript of Cursor's CLI. Each line is a complete message, so no event is held back."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self._pieces = PieceReader(builder)

    def take(self, record: Line) -> None:
        """Reads the next line, a message."""
        if record.value is None:
            self._builder.skip_unread(record)
            return
        self._builder.agent = "Cursor"
        if _IDS in record.value:
            self._builder.session_id, self._builder.parent = record.value[_IDS]
            self._builder.is_sub_agent = bool(self._builder.parent)
            return
        role = as_text(record.value.get("role"))
        if role not in _ROLES:
            kind = as_text(record.value.get("type"))
            self._builder.skip(record.number, f"{kind or 'unknown'} line", expected=kind in _OWN_LINES)
            return
        self._builder.use_model(as_text(record.value.get("model")))
        content = as_object(record.value.get("message")).get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else as_objects(content)
        self._pieces.end()
        for part in parts:
            self._take_part(part, Role(role))
        self._pieces.end()

    def finish(self) -> None:
        """Does nothing, because no event is held back."""

    def _take_part(self, part: JsonObject, role: Role) -> None:
        match part.get("type"):
            case "tool_use" | "tool_call":
                self._pieces.call(as_text(part.get("name")), as_object(part.get("input")), as_text(part.get("id")))
            case "tool_result" | "tool-result":
                for block in read_blocks([part | {"type": "tool_result"}]):
                    if isinstance(block, ToolResultBlock):
                        name = as_text(part.get("name"))
                        self._pieces.result(block.content, block.tool_use_id, name, failed=block.is_error)
            case _:
                text = as_text(part.get("text"))
                known = part.get("type") in ("text", "thinking", "image") or not text
                blocks = read_blocks([part]) if known else (TextBlock(text=text),)
                self._pieces.piece(role, blocks)


def records(document: Document) -> Records:
    """Returns the ids that the file's path says, if it says any, and the lines of the file."""
    ids = ids_in(document.name)
    head = (Line(number=1, value={_IDS: ids}),) if ids[0] else ()
    return Records(lines=(*head, *document.lines))


FORMAT = incremental(NAME, matches, CursorReader, records)


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
