"""What Ullage knows about goose: where its sessions are, how they are read, its setting, and where it compacts.

Sessions are rows of one database (`sessions.db`), and in older versions JSONL files. A message's content is a list of
goose's own items. A compaction hides the messages before it from the model (`agentVisible`) and adds the summary as a
message that only the model sees. Tokens are known for a session's newest request alone. (Tables and items: block/goose,
`session_manager.rs`, `conversation/message.rs`.)

The setting `GOOSE_AUTO_COMPACT_THRESHOLD`, in the environment or in `config.yaml`, is the share of the window at which
goose compacts. 0 and 1 switch compaction off (read in its source, `context_mgmt/mod.rs`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256

from msgspec.structs import replace

from ullage.agents.agent import Agent, Facts, Sessions, common_facts, last_text
from ullage.agents.machine import Machine
from ullage.agents.own_context import Exists, OwnContext, OwnPrompt, OwnSettings, Reading, in_repository, number, share
from ullage.agents.record_reader import LEFT_OUT, RecordReader
from ullage.formats.parsing import Document, as_count, as_timestamp, usage_in
from ullage.formats.transcripts.chat import call_block, picture, read_parts, result_block, text_block
from ullage.formats.transcripts.format import (
    ListedConversation,
    Records,
    choose,
    incremental,
    parsed,
    records_of,
    rows_of,
)
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Block, ResourceBlock, ResultPart, Role, TextBlock, ThinkingBlock, join_texts


def _patterns(machine: Machine) -> tuple[str, ...]:
    windows = machine.system == "win32"
    folder = f"{machine.settings}/Block/goose/data/sessions" if windows else f"{machine.data}/goose/sessions"
    return (f"{folder}/sessions.db", f"{folder}/*.jsonl")


def _facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    # The row in the database also shows a sub-agent's session.
    facts = common_facts(path, records)
    models = (as_object(parsed(as_object(record.get("row")).get("model_config_json"))) for record in records)
    return replace(
        facts,
        model=next((name for model in models if (name := as_text(model.get("model_name")))), facts.model),
        is_side=any(as_object(record.get("row")).get("session_type") == "sub_agent" for record in records),
    )


def _title_of(records: Sequence[JsonObject]) -> str:
    heads = [as_object(record.get("row", record)) for record in records]
    return last_text(heads, "name") or last_text(heads, "description")


NAME = "goose"
# Characters of an id that a message has not from goose: enough that two of one conversation never have the same.
_ID = 16
TABLES = ("sessions", "messages")
# Items that are shown to the user, or ask the user, and are never sent to the model.
_NOTICES = {
    *("systemNotification", "toolConfirmationRequest", "actionRequired"),
    *("contextLengthExceeded", "summarizationRequested", "conversationCompacted"),
}
_ITEMS = {
    *("text", "image", "toolRequest", "toolResponse", "thinking", "redactedThinking", "frontendToolRequest"),
    *_NOTICES,
}


def _matches(document: Document) -> bool:
    if any({"content_json", "session_id"} <= row.keys() for row in rows_of(document, "messages")):
        return True
    if any({"working_dir", "accumulated_total_tokens"} <= row.keys() for row in rows_of(document, "sessions")):
        return True
    first = document.objects[:2]
    if any({"working_dir", "message_count"} <= value.keys() for value in first[:1]):
        return True
    contents = (as_objects(value.get("content")) for value in first if "created" in value)
    return any(items and all(as_text(item.get("type")) in _ITEMS for item in items) for items in contents)


def _records(document: Document) -> Records:
    """Returns a record with the session's facts, then one per message. `document.run` chooses a session of a database,
    by default the newest; the others are listed as skipped."""
    if not any("table" in value for value in document.objects[:1]):
        return Records(lines=document.lines)
    sessions, rows = rows_of(document, "sessions"), rows_of(document, "messages")
    sizes = Counter(as_text(row.get("session_id")) for row in rows)
    found = [
        ListedConversation(
            id=as_text(row.get("id")),
            title=_title(row),
            updated=as_timestamp(row.get("updated_at")),
            messages=sizes[as_text(row.get("id"))],
            is_child=row.get("session_type") == "sub_agent",
        )
        for row in sessions
    ]
    chosen, others = choose(found, document)
    session = sessions[chosen] if sessions else {}
    messages: list[JsonObject] = [
        {
            "id": as_text(row.get("message_id")) or _made_id(row),
            "role": row.get("role"),
            "created": row.get("created_timestamp"),
            "content": parsed(row.get("content_json")),
            "metadata": parsed(row.get("metadata_json")),
        }
        for row in rows
        if row.get("session_id") == session.get("id")
    ]
    return records_of([session, *messages], others)


def _made_id(row: JsonObject) -> str:
    """Returns an id for a row without one, as goose wrote them up to version 5 of its tables. At a compaction it writes
    all rows again, which changes their numbers and who sees them, and nothing else (its source, `session_manager.rs`).
    """
    said = "\n".join(str(row.get(name)) for name in ("session_id", "role", "created_timestamp", "content_json"))
    return sha256(said.encode(errors="surrogatepass")).hexdigest()[:_ID]


def _title(head: JsonObject) -> str:
    return as_text(head.get("name")) or as_text(head.get("description"))


class GooseReader(RecordReader):
    """Reads one session of goose. Every message is complete when it is written and is added at once. The usage is added
    at the end, because goose stores only that of the newest request."""

    agent = "goose"

    def _begin(self) -> None:
        self._head: JsonObject = {}
        self._shown: list[str] = []
        self._hidden: list[str] = []
        self._answer = ""

    def _read(self, value: JsonObject, number: int) -> None:
        if "role" in value:
            self._take_message(value, number)
        elif "working_dir" in value or "description" in value:
            self._take_head(value)
        else:
            self._builder.skip(number, f"unknown line with the keys {', '.join(value)}", expected=False)

    def is_complete(self) -> bool:
        """Returns True: only complete messages are in the database."""
        return True

    def _flush(self) -> None:
        self._builder.drop(self._hidden, LEFT_OUT)
        if self._answer and as_count(self._head.get("input_tokens")):
            usage = usage_in(self._head, "input_tokens", "output_tokens")
            self._builder.report_late(usage, self._answer)

    def _take_head(self, head: JsonObject) -> None:
        self._head = head
        builder, model = self._builder, as_object(parsed(head.get("model_config_json")))
        builder.session_id = as_text(head.get("id"))
        # Which session started it is in no table.
        builder.is_sub_agent = head.get("session_type") == "sub_agent"
        builder.cwd = as_text(head.get("working_dir"))
        builder.title = _title(head)
        builder.use_model(as_text(model.get("model_name")))
        if as_count(model.get("context_limit")):
            builder.window(as_count(model.get("context_limit")))

    def _take_message(self, message: JsonObject, number: int) -> None:
        builder, role = self._builder, as_text(message.get("role"))
        items = as_objects(message.get("content"))
        content = [block for item in items for block in _read_item(item)]
        if role not in ("user", "assistant"):
            builder.skip(number, f"message of unknown role {role!r}", expected=False)
            return
        if not content:
            kinds = ", ".join(as_text(item.get("type")) for item in items) or "without content"
            builder.skip(number, f"message for the user: {kinds}", expected=True)
            return
        metadata = as_object(message.get("metadata"))
        visible = metadata.get("agentVisible") is not False
        timestamp = as_timestamp(message.get("created"))
        if visible and self._hidden:
            if metadata.get("userVisible") is False:
                builder.compact(join_texts(content), as_text(message.get("id")), timestamp, kept=self._shown)
                self._hidden, self._answer = [], ""
                return
            builder.drop(self._hidden, LEFT_OUT, timestamp)
            self._hidden = []
        added = builder.add(Role(role), content, as_text(message.get("id")), timestamp)
        (self._shown if visible else self._hidden).append(added)
        if visible and role == "assistant":
            self._answer = added


def _read_item(item: JsonObject) -> Iterator[Block]:
    kind = as_text(item.get("type"))
    match kind:
        case "text":
            yield from read_parts(as_text(item.get("text")))
        case "thinking":
            signature = as_text(item.get("signature")) or None
            yield ThinkingBlock(thinking=as_text(item.get("thinking")), signature=signature)
        case "redactedThinking":
            yield ThinkingBlock(thinking="", redacted=as_text(item.get("data")))
        case "toolRequest" | "frontendToolRequest":
            call = as_object(item.get("toolCall"))
            value = as_object(call.get("value"))
            failed = {"error": as_text(call.get("error"))} if "error" in call else {}
            arguments = as_object(value.get("arguments")) or failed
            yield call_block(item.get("id"), as_text(value.get("name")) or "invalid", arguments)
        case "toolResponse":
            yield _read_response(item)
        case _ if kind not in _NOTICES:
            yield _read_content(item)
        case _:
            pass


def _read_response(item: JsonObject) -> Block:
    """Converts a tool's response to a result block. Since 2025 a response is MCP's `{content, isError}`, before that
    its content alone."""
    result = as_object(item.get("toolResult"))
    value = result.get("value")
    error = as_text(result.get("error"))
    items = as_list(as_object(value).get("content")) or as_list(value)
    content = read_parts(error) or [_read_content(as_object(part)) for part in items]
    failed = bool(error) or as_object(value).get("isError") is True
    return result_block(item.get("id"), content, failed=failed)


def _read_content(part: JsonObject) -> ResultPart:
    match part.get("type"):
        case "text":
            return TextBlock(text=as_text(part.get("text")))
        case "image":
            return picture(part.get("mimeType"), part.get("data"))
        case "resource":
            resource = as_object(part.get("resource"))
            kind = as_text(resource.get("mimeType")) or None
            return ResourceBlock(
                uri=as_text(resource.get("uri")), text=as_text(resource.get("text")) or None, mime_type=kind
            )
        case _:
            return text_block(part)


# Messages are complete when they are written, so nothing more may come for the end.
FORMAT = replace(incremental(NAME, _matches, GooseReader, _records), is_complete=GooseReader.is_complete)

_SHARE, _WINDOW = "GOOSE_AUTO_COMPACT_THRESHOLD", "GOOSE_CONTEXT_LIMIT"


def _files(machine: Machine) -> tuple[str, ...]:
    if machine.system == "win32":
        return (f"{machine.settings}/Block/goose/config/config.yaml",)
    return (f"{machine.folder('XDG_CONFIG_HOME', '.config')}/goose/config.yaml",)


def _read(reading: Reading) -> None:
    # The environment comes before the file.
    for values in (*reading.files, reading.variables):
        reading.size("model_window", _WINDOW, values.get(_WINDOW))
        share = number(values.get(_SHARE))
        if share is None:
            continue
        if 0 < share < 1:
            reading.drop("automatic")
            reading.take("share", _SHARE, share)
        else:
            reading.take("automatic", _SHARE, False, f"{_SHARE}={share:g}")


SETTINGS = OwnSettings(files=_files, read=_read, known=frozenset({_SHARE}), servers="extensions", prefix="GOOSE")


def _folder(machine: Machine) -> str:
    return _files(machine)[0].removesuffix("/config.yaml")


def _own_files(machine: Machine, _: Sequence[JsonObject], exists: Exists) -> Iterator[str]:
    chosen = as_list(parsed(machine.variables.get("CONTEXT_FILE_NAMES")))
    names = [*map(as_text, chosen)] or [".goosehints", "AGENTS.md"]
    for folder in (_folder(machine), *in_repository(machine, exists)):
        yield from (f"{folder}/{name}" for name in names if name)


def _skills(machine: Machine, _: Exists) -> Iterator[str]:
    own = (machine.folder("", name) for name in (".agents", ".claude", ".config/agents"))
    for folder in (_folder(machine), *own, *machine.in_project(".agents", ".goose", ".claude")):
        yield f"{folder}/skills/*/SKILL.md"


AGENT = Agent(
    name="goose",
    formats=(FORMAT,),
    sessions=Sessions(patterns=_patterns, title_of=_title_of, facts=_facts_of, table="sessions"),
    tables=TABLES,
    # Read in its source, `context_mgmt/mod.rs`.
    own_context=OwnContext(threshold=share(0.8)),
    own_prompt=OwnPrompt(files=_own_files, skills=_skills),
    own_settings=SETTINGS,
)
