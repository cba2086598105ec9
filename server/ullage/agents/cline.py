"""What Ullage knows about Cline: where it keeps its sessions, and its older tasks (`cline_tasks.py`).

Roo Code keeps its tasks in the same way.

A session of its CLI or newer extensions (`SESSION.messages.json`) holds every message; Cline writes it again for each.
`SESSION.json` next to it says where the session runs, and `SESSION.compaction.json` what the newest compaction put in
the place of the first messages.
"""

from collections.abc import Sequence

from ullage.agents import cline_tasks
from ullage.agents.agent import Agent, Inserted, Sessions
from ullage.agents.cline_tasks import read_content
from ullage.agents.machine import Machine, first_line, last_text
from ullage.agents.own_context import OwnContext, Rule, Setup, share, version_of
from ullage.agents.record_reader import RecordReader, usage_in
from ullage.agents.session_facts import Facts, common_facts, side_of
from ullage.formats.parsing import Document, Line, as_count, as_timestamp
from ullage.formats.transcripts.builder import TranscriptBuilder
from ullage.formats.transcripts.format import Records, file_named, incremental
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import Role, TextBlock, join_texts

NAME = "cline"
_MESSAGES, _COMPACTION = ".messages.json", ".compaction.json"


def matches(document: Document) -> bool:
    """Returns whether the file, or one file of the folder, holds the messages of a Cline session."""
    value = _session(document)
    messages = as_objects(value.get("messages"))
    return bool(messages) and {"sessionId", "updated_at"} <= value.keys() and all("role" in item for item in messages)


def records(document: Document) -> Records:
    """Returns a record with the session's facts, then one per message, and the newest compaction after the last message
    that it covers."""
    value = _session(document)
    messages = as_objects(value.get("messages"))
    about, compaction = _beside(document, ".json"), _beside(document, _COMPACTION)
    covered = as_count(compaction.get("source_message_count"))
    head = {key: item for key, item in value.items() if key != "messages"}
    lines = [Line(number=1, value={"head": head, "about": about})]
    for number, message in enumerate(messages, start=1):
        lines.append(Line(number=number, value={"message": message}))
        if number == covered:
            lines.append(Line(number=number, value={"compaction": compaction}))
    return Records(lines=tuple(lines))


def _session(document: Document) -> JsonObject:
    found = file_named(document, _MESSAGES) if document.value is None else document
    return as_object(found.value) if found else {}


def _beside(document: Document, ending: str) -> JsonObject:
    session_id = as_text(_session(document).get("sessionId"))
    found = file_named(document, f"{session_id}{ending}")
    return as_object(found.value) if found and session_id else {}


class ClineReader(RecordReader):
    """Reads one Cline session. Every message is complete when it is written, so no event is held back."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        super().__init__(builder)
        self._known: dict[str, str] = {}

    def _read(self, value: JsonObject, number: int) -> None:
        if "head" in value:
            self._take_head(as_object(value.get("head")), as_object(value.get("about")))
        elif "compaction" in value:
            self._take_compaction(as_object(value.get("compaction")))
        else:
            self._take_message(as_object(value.get("message")), number)

    def _take_head(self, head: JsonObject, about: JsonObject) -> None:
        builder = self._builder
        metadata = as_object(about.get("metadata"))
        builder.agent = "Cline"
        builder.session_id = as_text(head.get("sessionId"))
        builder.version = as_text(as_object(head.get("origin")).get("version"))
        builder.cwd = as_text(about.get("cwd"))
        builder.title = as_text(metadata.get("title")) or as_text(metadata.get("prompt"))
        # A sub-agent's id is its parent's, two underscores, and its own name.
        parent, separator, _ = builder.session_id.partition("__")
        builder.parent = as_text(about.get("parent_session_id")) or (parent if separator else "")
        builder.is_sub_agent = bool(builder.parent)
        prompt = as_text(head.get("system_prompt"))
        if prompt:
            builder.add(Role.SYSTEM, (TextBlock(text=prompt),))

    def _take_message(self, message: JsonObject, number: int) -> None:
        role, content = as_text(message.get("role")), read_content(message)
        if role not in tuple(Role):
            self._builder.skip(number, f"message {number} has no known role: {role!r}", expected=False)
            return
        if not content:
            self._builder.skip(number, f"message {number} has no content", expected=True)
            return
        model, metrics = as_object(message.get("modelInfo")), as_object(message.get("metrics"))
        self._builder.use_model(as_text(model.get("id")))
        known = as_text(message.get("id"))
        message_id = self._builder.add(Role(role), content, known, as_timestamp(message.get("ts")))
        self._known[known] = message_id
        usage = usage_in(metrics, "inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
        self._builder.report(usage, message_id)

    def _take_compaction(self, compaction: JsonObject) -> None:
        messages = as_objects(compaction.get("messages"))
        summary = [
            message
            for message in messages
            if as_text(as_object(message.get("metadata")).get("kind")).startswith("compaction")
        ]
        texts = [join_texts(read_content(message)) for message in summary]
        place = messages.index(summary[0]) if summary else 0
        ids = [self._known.get(as_text(message.get("id")), "") for message in messages if message not in summary]
        self._builder.compact(
            "\n\n".join(texts),
            timestamp=as_timestamp(compaction.get("updated_at")),
            leading=[message_id for message_id in ids[:place] if message_id],
            kept=[message_id for message_id in ids[place:] if message_id],
        )


FORMAT = incremental(NAME, matches, ClineReader, records)


_CLINE, _ROO = "saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline"


def patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for the files of Cline's sessions (its CLI and newer extensions) and tasks (its classic
    extension)."""
    data = (
        machine.variables.get("CLINE_DATA_DIR", "").replace("\\", "/")
        or f"{machine.folder('CLINE_DIR', '.cline')}/data"
    )
    sessions = machine.variables.get("CLINE_SESSION_DATA_DIR", "").replace("\\", "/") or f"{data}/sessions"
    places = (data, *machine.extension_folders(_CLINE))
    return (f"{sessions}/*/*.messages.json", *(f"{place}/tasks/*/api_conversation_history.json" for place in places))


def roo_patterns(machine: Machine) -> tuple[str, ...]:
    """Returns glob patterns for the files of Roo Code's tasks."""
    return tuple(f"{place}/tasks/*/api_conversation_history.json" for place in machine.extension_folders(_ROO))


def title_of(records: Sequence[JsonObject]) -> str:
    """Returns the title of a session or task from these of its records, or else the first line of its first prompt.
    Empty if they have neither."""
    titles = last_text((as_object(record.get("metadata")) for record in records), "title")
    titles = titles or last_text(records, "prompt")
    task = last_text(records, "task") or next((as_text(item.get("text")) for item in records if item.get("say")), "")
    return titles or first_line(task)


def is_sub_agent(path: str) -> bool:
    """Returns whether a session is a sub-agent's: the name of its file, which is its id, contains two underscores after
    its parent's id."""
    return "__" in path.rpartition("/")[2]


def facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session or task. The id of a sub-agent's session begins with its parent's."""
    facts = common_facts(path, records)
    if not is_sub_agent(path):
        return facts
    session_id = path.rpartition("/")[2].removesuffix(".messages.json")
    return side_of(facts, session_id, session_id.partition("__")[0])


def companions(path: str) -> tuple[str, ...]:
    """Returns the names of the files next to a session's messages or a task's history that belong to it. Empty for
    other files."""
    name = path.rpartition("/")[2]
    if name == "api_conversation_history.json":
        return ("ui_messages.json", "task_metadata.json", "history_item.json")
    stem = name.removesuffix(".messages.json")
    return (f"{stem}.json", f"{stem}.compaction.json") if stem != name else ()


def _window(setup: Setup) -> Rule | None:
    """Returns the window of a model that is larger in the CLI's own list: 3.0.65 did not compact 251,000 tokens."""
    if version_of(setup.version) < _CLI or not setup.model.startswith("claude-sonnet-4-5"):
        return None
    return Rule(tokens=1_000_000, basis=f"Cline {setup.version} gives {setup.model} a million tokens")


_CLI = (3, 0, 65)

AGENT = Agent(
    name="Cline",
    formats=(FORMAT, cline_tasks.FORMAT),
    companions=companions,
    sessions=Sessions(
        patterns=patterns, title_of=title_of, facts_of=facts_of, fact_files=companions, is_sub_agent=is_sub_agent
    ),
    # Read in its source: nine tenths of the largest prompt, which is nine tenths of the window. It compares its own
    # estimate.
    own_context=OwnContext(window=_window, threshold=share(0.81)),
    inserted=Inserted(tags=("environment_details", "hook_context"), typed_tags=("user_input",)),
)


ROO_AGENT = Agent(
    name="Roo Code",
    short="Roo",
    sessions=Sessions(patterns=roo_patterns, title_of=title_of, format="cline-task", fact_files=companions),
)
