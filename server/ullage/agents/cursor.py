"""What Ullage knows about Cursor's command line: where its conversations are, and what its transcripts say.

It keeps them in databases and in transcripts (`~/.cursor/projects/*/agent-transcripts/ID/ID.jsonl`). These have one
message per line, in the shape of Anthropic's API, but without ids, times and usage. Results of tools are often not
written, and calls may have no ids. The conversation's id is the name of the file.

A database (`~/.cursor/chats/FOLDER/ID/store.db`) has one conversation. The table `blobs` holds values by their SHA-256,
among them messages as JSON. The row `0` of `meta` is JSON in hexadecimal digits; it names the newest root, a Protocol
Buffers message with the ids of the messages that the model is sent, in order (field 1), and the size of the context and
its window (field 5). `meta.json` next to the database has the folder and the times.

Cursor publishes nothing of this. It is read as several independent programs read it; no database of a real Cursor was
at hand. After a summary the list of messages is another one, and how the summary is marked is not known: such a
conversation becomes another session.
"""

import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from ullage.agents.agent import Agent, Facts, Sessions, beside, common_facts, first_prompt, last_text
from ullage.agents.machine import Machine
from ullage.agents.record_reader import PieceRecordReader
from ullage.formats.parsing import Document, Line, as_count, parse_json
from ullage.formats.transcripts.chat import read_blocks, text_block
from ullage.formats.transcripts.format import Records, file_named, incremental, records_of, rows_of
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import Role, TextBlock, ThinkingBlock, ToolResultBlock
from ullage.model.usage import Usage

STORE_NAME = "cursor-store"
TABLES = ("meta", "blobs")
# The row of `meta` with the facts of the conversation, and the name of one that has no name yet.
_KEY, _UNNAMED = "0", "New Agent"
# Fields of the root: the ids of the messages, and the sizes; fields of the sizes: used, window, and parts that sum to
# the first, each with its size.
_MESSAGES, _SIZES, _USED, _WINDOW, _PARTS, _PART_SIZE = 1, 5, 1, 2, 3, 3
_STORE_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.USER}


def head_of(row: JsonObject) -> JsonObject:
    """Returns the facts in a row of `meta`, or an empty object if it is another row."""
    if row.get("key") != _KEY:
        return {}
    try:
        return as_object(parse_json(bytes.fromhex(as_text(row.get("value"))))[0])
    except ValueError:
        return {}


def head_in(rows: Iterable[JsonObject]) -> JsonObject:
    """Returns the facts in rows of `meta`, or an empty object if there are none."""
    return next((head for row in rows if (head := head_of(row))), JsonObject())


def name_of(head: JsonObject) -> str:
    """Returns the name that the facts give the conversation, or "" for the one of all new conversations."""
    name = as_text(head.get("name"))
    return "" if name == _UNNAMED else name


def is_store(document: Document) -> bool:
    """Returns whether the document is such a database."""
    return any("latestRootBlobId" in head_of(row) for row in rows_of(document, "meta"))


def store_records(document: Document) -> Records:
    """Returns a record with the conversation's facts, then one for each message that the newest root names."""
    head = head_in(rows_of(document, "meta"))
    blobs = {as_text(row.get("id")): _bytes(row.get("data")) for row in rows_of(document, "blobs")}
    root = fields_of(blobs.get(as_text(head.get("latestRootBlobId")), b"")) or []
    beside = file_named(document, "meta.json")
    facts: JsonObject = {"head": head, "beside": as_object(beside.value) if beside else {}}
    ids = [value.hex() for number, value in root if number == _MESSAGES and isinstance(value, bytes)]
    messages: list[JsonObject] = [
        {"id": name, "message": as_object(parse_json(blobs.get(name, b""))[0])} for name in ids
    ]
    answers = [one for one in messages if as_object(one["message"]).get("role") == "assistant"]
    if answers and (sizes := _sizes(root)):
        answers[-1]["used"], answers[-1]["window"] = sizes
    return records_of([facts, *messages], first=1)


def _bytes(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode()
    try:
        return base64.b64decode(as_text(as_object(value).get("base64")))
    except binascii.Error:
        return b""


def _sizes(root: list[tuple[int, int | bytes]]) -> tuple[int, int] | None:
    """Returns the size of the context and its window, in tokens, or None if the root does not say them, or if
    the parts that it names do not sum to the size: then the fields mean something else."""
    inner = next((value for number, value in root if number == _SIZES and isinstance(value, bytes)), b"")
    fields = fields_of(inner) or []
    known = {number: value for number, value in fields if isinstance(value, int)}
    parts = [fields_of(value) or [] for number, value in fields if number == _PARTS and isinstance(value, bytes)]
    total = sum(value for part in parts for number, value in part if number == _PART_SIZE and isinstance(value, int))
    used, window = known.get(_USED, 0), known.get(_WINDOW, 0)
    return (used, window) if 0 < used <= window and (not parts or total == used) else None


class StoreReader(PieceRecordReader):
    """Reads the messages of a conversation. Each is complete, so no event is held back. The size of the context is
    known of the newest answer alone."""

    def _begin(self) -> None:
        self._time = 0

    def _read(self, value: JsonObject, number: int) -> None:
        if "head" in value:
            self._take_facts(value)
            return
        message, name = as_object(value.get("message")), as_text(value.get("id"))
        role = as_text(message.get("role"))
        content = message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else as_objects(content)
        if role == "system":
            self._builder.add(Role.SYSTEM, tuple(TextBlock(text=as_text(part.get("text"))) for part in parts), name)
        elif role in _STORE_ROLES:
            for part in parts:
                self._take_part(part, _STORE_ROLES[role], name, number)
            said = self._pieces.end()
            if said and "used" in value:
                self._builder.window(as_count(value["window"]), timestamp=self._time)
                self._builder.report(Usage(input_tokens=as_count(value["used"])), said, self._time)
        else:
            self._builder.skip(number, f"message {name[:8]} can't be read", expected=False)

    def _take_facts(self, value: JsonObject) -> None:
        head, beside, builder = as_object(value.get("head")), as_object(value.get("beside")), self._builder
        builder.agent = "Cursor"
        builder.session_id = as_text(head.get("agentId"))
        builder.title = as_text(beside.get("title")) or name_of(head)
        builder.cwd = as_text(beside.get("cwd"))
        builder.is_sub_agent = beside.get("isSubagent") is True
        builder.use_model(as_text(head.get("lastUsedModel")))
        self._time = as_count(beside.get("updatedAtMs"))

    def _take_part(self, part: JsonObject, role: Role, name: str, number: int) -> None:
        match part.get("type"):
            case "text":
                self._pieces.piece(role, (TextBlock(text=as_text(part.get("text"))),), name)
            case "reasoning":
                self._pieces.piece(role, (ThinkingBlock(thinking=as_text(part.get("text"))),), name)
            case "tool-call":
                given = as_object(part.get("args"))
                self._pieces.call(as_text(part.get("toolName")), given, as_text(part.get("toolCallId")), name)
            case "tool-result":
                said = text_block(part.get("result"))
                call, tool = as_text(part.get("toolCallId")), as_text(part.get("toolName"))
                failed = part.get("isError") is True
                self._pieces.result((said,), call, tool, failed=failed, message_id=name)
            case kind:
                self._builder.skip(number, f"unknown part {kind!r} of a message", expected=False)


# Bits of a variable-length number that one byte holds, and the most bytes of one ("Encoding", Protocol Buffers).
_BITS, _LONGEST = 7, 10
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def fields_of(data: bytes) -> list[tuple[int, int | bytes]] | None:
    """Returns the fields of a message in order: each number with its value, a number or bytes. Fields of fixed length
    are left out. Returns None if the bytes are no message."""
    try:
        return list(_fields(data))
    except (IndexError, ValueError):
        return None


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        key, at = _number(data, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _number(data, at)
            yield number, value
        elif kind == _BYTES:
            size, at = _number(data, at)
            if at + size > len(data):
                raise ValueError
            yield number, data[at : at + size]
            at += size
        elif kind in (_FIXED64, _FIXED32):
            at += 8 if kind == _FIXED64 else 4
        else:
            raise ValueError
    if at != len(data):
        raise ValueError


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Returns the number at a place, and the place after it. Raises `IndexError` or `ValueError` if there is none."""
    value = 0
    for place in range(_LONGEST):
        byte = data[at + place]
        value |= (byte & 0x7F) << (_BITS * place)
        if byte < 0x80:
            return value, at + place + 1
    raise ValueError


STORE_FORMAT = incremental(STORE_NAME, is_store, StoreReader, store_records)


NAME = "cursor-cli"
_OWN_LINES = {"turn_ended", "turn_started", "turn_id", "status"}
_ROLES = ("user", "assistant")
# The key of a record, made here, with the conversation's id and its parent's.
_IDS = "ullage.ids"


def _is_sub_agent(path: str) -> bool:
    return "/subagents/" in path


def ids_in(path: str) -> tuple[str, str]:
    """Returns the id of the conversation according to the path of its transcript and, for a sub-agent's, that of the
    conversation that started it, else "". Both are "" if the path is not that of a transcript."""
    _, separator, place = path.replace("\\", "/").rpartition("/agent-transcripts/")
    if not separator or not place.endswith(".jsonl"):
        return "", ""
    own = place.rpartition("/")[2].removesuffix(".jsonl")
    return own, place.partition("/")[0] if _is_sub_agent(path.replace("\\", "/")) else ""


def _matches(document: Document) -> bool:
    # A role next to the message, and no type.
    for value in document.objects:
        if value.get("role") in _ROLES:
            content = as_object(value.get("message")).get("content")
            return isinstance(content, str | list) and not {"type", "uuid"} & set(value)
    return False


class CursorReader(PieceRecordReader):
    """Reads the lines of a transcript of Cursor's CLI. Each line is a complete message, so no event is held back."""

    def _read(self, value: JsonObject, number: int) -> None:
        self._builder.agent = "Cursor"
        if _IDS in value:
            self._builder.session_id, self._builder.parent = value[_IDS]
            self._builder.is_sub_agent = bool(self._builder.parent)
            return
        role = as_text(value.get("role"))
        if role not in _ROLES:
            kind = as_text(value.get("type"))
            self._builder.skip(number, f"{kind or 'unknown'} line", expected=kind in _OWN_LINES)
            return
        self._builder.use_model(as_text(value.get("model")))
        content = as_object(value.get("message")).get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else as_objects(content)
        self._pieces.end()
        for part in parts:
            self._take_part(part, Role(role))
        self._pieces.end()

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


def _records(document: Document) -> Records:
    ids = ids_in(document.name)
    head = (Line(number=1, value={_IDS: ids}),) if ids[0] else ()
    return Records(lines=(*head, *document.lines))


FORMAT = incremental(NAME, _matches, CursorReader, _records)


def _patterns(machine: Machine) -> tuple[str, ...]:
    # Databases, one for each conversation, and transcripts, those of sub-agents one folder deeper.
    projects = f"{machine.folder('', '.cursor')}/projects/*/agent-transcripts"
    stores = (f"{place}/chats/*/*/store.db" for place in (machine.folder("", ".cursor"), f"{machine.settings}/cursor"))
    return (*stores, f"{projects}/*/*.jsonl", f"{projects}/*/subagents/*.jsonl", f"{projects}/*.jsonl")


def _facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    # The records have no ids: they are in the path of the transcript.
    facts = common_facts(path, records)
    if path.endswith("/store.db"):
        return _facts_of_store(facts, records)
    return replace(facts, session_id=facts.session_id or ids_in(path)[0])


def _facts_of_store(facts: Facts, records: Sequence[JsonObject]) -> Facts:
    head = head_in(as_object(record.get("row")) for record in records)
    return replace(
        facts,
        session_id=as_text(head.get("agentId")),
        model=as_text(head.get("lastUsedModel")),
        is_side=any(record.get("isSubagent") is True for record in records),
        updated_at=max((as_count(record.get("updatedAtMs")) for record in records), default=0),
    )


_BESIDE = beside("/store.db", "meta.json", inside="/chats/")


def _title_of(records: Sequence[JsonObject]) -> str:
    named = last_text(records, "title") or name_of(head_in(as_object(record.get("row")) for record in records))
    said = (as_object(record.get("message")) for record in records if record.get("role") == "user")
    return named or first_prompt(message.get("content") for message in said)


AGENT = Agent(
    name="Cursor",
    formats=(STORE_FORMAT, FORMAT),
    companions=_BESIDE,
    tables=TABLES,
    sessions=Sessions(
        patterns=_patterns,
        title_of=_title_of,
        facts=_facts_of,
        fact_files=_BESIDE,
        side=lambda path: ids_in(path) if _is_sub_agent(path) else None,
        table="meta",
    ),
)
