"""What Ullage knows about Crush: where its sessions are, how they are read, its settings, and where it compacts.

Sessions (`PROJECT/.crush/crush.db`) are the tables `sessions` and `messages`. A message's `parts` are JSON, each
`{type, data}`. A compaction is a message of its own, the summary, with which the context begins from then on. Tokens
are known for a session's newest request alone: `prompt_tokens` is its prompt, cached or not. (Tables and parts:
charmbracelet/crush, `internal/db/migrations`, `internal/message/content.go`.)

The setting `options.disable_auto_summarize` switches the summaries off. The settings also have the windows of models
that the user added.
"""

import glob
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from ullage.agents.agent import Agent, Facts, Sessions, common_facts, last_text
from ullage.agents.machine import Machine
from ullage.agents.own_context import (
    Exists,
    OwnContext,
    OwnPrompt,
    OwnSettings,
    Reading,
    Rule,
    Setup,
    Threshold,
    chosen_paths,
    in_repository,
    inner,
    switch,
    switched_off,
)
from ullage.agents.record_reader import RecordReader
from ullage.formats.parsing import Document, as_count, as_timestamp, usage_in
from ullage.formats.transcripts.chat import (
    call_block,
    picture,
    read_image_url,
    read_parts,
    result_block,
    text_block,
    thoughts,
)
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
from ullage.model.message import Block, ResourceBlock, Role, TextBlock, ToolResultBlock, join_texts


def _patterns(machine: Machine) -> tuple[str, ...]:
    """Returns the path of Crush's list of projects. Each project has its own database, in `data_dir` or in `.crush`
    under its `path`."""
    folder = machine.folder("LOCALAPPDATA", "AppData/Local") if machine.system == "win32" else machine.data
    return (f"{folder}/crush/projects.json",)


def _registry(records: Sequence[JsonObject]) -> tuple[str, ...]:
    projects = (project for record in records for project in as_objects(record.get("projects")))
    folders = ((as_text(project.get("path")), as_text(project.get("data_dir"))) for project in projects)
    # The folder of a database may be relative to the project.
    places = (PurePosixPath(_slashed(path)) / _slashed(data or ".crush") for path, data in folders if path or data)
    return tuple(f"{glob.escape(str(place))}/crush.db" for place in places)


def _slashed(path: str) -> str:
    return path.replace("\\", "/")


def _facts_of(path: str, records: Sequence[JsonObject]) -> Facts:
    """Returns the facts of a session. Its folder is the one that contains `.crush`, the default folder of the database;
    it is "" if the database is in another folder."""
    folder = PurePosixPath(path).parent
    return replace(common_facts(path, records), cwd=str(folder.parent) if folder.name == ".crush" else "")


def _title_of(records: Sequence[JsonObject]) -> str:
    return last_text((as_object(record.get("row", record)) for record in records), "title")


NAME = "crush"
TABLES = ("sessions", "messages")
_ROLES = {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT, "tool": Role.USER}
_UNFINISHED = {"error", "canceled"}


def _matches(document: Document) -> bool:
    return any({"parts", "session_id", "role"} <= row.keys() for row in rows_of(document, "messages")) or any(
        {"summary_message_id", "prompt_tokens"} <= row.keys() for row in rows_of(document, "sessions")
    )


def _records(document: Document) -> Records:
    """Returns the row of one session, then those of its messages. `document.run` chooses it, by default the newest one
    that is not a sub-agent's; the others are listed as skipped."""
    sessions, messages = rows_of(document, "sessions"), rows_of(document, "messages")
    sizes = Counter(as_text(row.get("session_id")) for row in messages)
    found = [
        ListedConversation(
            id=as_text(row.get("id")),
            title=as_text(row.get("title")),
            updated=as_count(row.get("updated_at")),
            messages=sizes[as_text(row.get("id"))],
            is_child=bool(row.get("parent_session_id")),
        )
        for row in sessions
    ]
    chosen, others = choose(found, document)
    session = sessions[chosen] if sessions else {}
    own = [row for row in messages if row.get("session_id") == session.get("id")]
    # The database lies in a folder of the project.
    folder = PurePosixPath(document.name.replace("\\", "/")).parent
    head = {"session": session, "folder": str(folder.parent) if folder.name == ".crush" else ""}
    return records_of([head, *({"message": row} for row in own)], others)


class CrushReader(RecordReader):
    """Reads one session of Crush. The newest answer is held back until it is finished, because its row still
    changes."""

    def _begin(self) -> None:
        self._session: JsonObject = {}
        self._held: tuple[JsonObject, int] | None = None
        self._answer = ""

    def _read(self, value: JsonObject, number: int) -> None:
        if "session" in value:
            self._take_head(as_object(value.get("session")), as_text(value.get("folder")))
            return
        row = as_object(value.get("message"))
        if self._held and self._held[0].get("id") != row.get("id"):
            self._flush()
        self._held = row, number
        if row.get("role") != "assistant" or row.get("finished_at"):
            self._flush()

    def finish(self) -> None:
        """Adds the answer that was held back, and the usage of the newest request."""
        self._flush()
        if self._answer and as_count(self._session.get("prompt_tokens")):
            usage = usage_in(self._session, "prompt_tokens", "completion_tokens")
            self._builder.report_late(usage, self._answer)

    def is_complete(self) -> bool:
        """Returns whether no answer is being written."""
        return not self._held

    def _take_head(self, session: JsonObject, folder: str) -> None:
        self._session = session
        builder = self._builder
        builder.agent = "Crush"
        builder.session_id = as_text(session.get("id"))
        builder.parent = as_text(session.get("parent_session_id"))
        builder.is_sub_agent = bool(builder.parent)
        builder.title = as_text(session.get("title"))
        builder.cwd = folder

    def _flush(self) -> None:
        if not self._held:
            return
        (row, number), self._held = self._held, None
        builder, message_id, timestamp = self._builder, as_text(row.get("id")), as_timestamp(row.get("created_at"))
        parts = as_objects(parsed(row.get("parts")))
        content = [block for part in parts for block in _read_part(part)]
        role = _ROLES.get(as_text(row.get("role")))
        if role is None:
            builder.skip(number, f"message of unknown role {row.get('role')!r}", expected=False)
        elif not content:
            words = [as_text(end.get("message")) or as_text(end.get("reason")) for end in _ends(parts)]
            reason = f": {words[-1]}" if words and words[-1] else ""
            builder.skip(number, f"message without content{reason}", expected=True)
        elif row.get("is_summary_message"):
            reasons = {as_text(end.get("reason")) for end in _ends(parts)}
            if reasons and not reasons & _UNFINISHED:
                builder.compact(join_texts(content), message_id, timestamp)
                self._answer = ""
            else:
                self._add_outside(Role.ASSISTANT, content, message_id, timestamp)
        else:
            if role is Role.ASSISTANT:
                builder.use_model(as_text(row.get("model")))
            added = builder.add(role, content, message_id, timestamp)
            self._answer = added if role is Role.ASSISTANT else self._answer


def _ends(parts: list[JsonObject]) -> list[JsonObject]:
    return [as_object(part.get("data")) for part in parts if part.get("type") == "finish"]


def _read_part(part: JsonObject) -> Iterator[Block]:
    data = as_object(part.get("data"))
    match part.get("type"):
        case "text":
            yield from read_parts(as_text(data.get("text")))
        case "reasoning":
            yield from thoughts(data.get("thinking"), data.get("signature"))
        case "image_url":
            yield read_image_url(as_text(data.get("url")))
        case "binary":
            yield _read_binary(data)
        case "tool_call":
            yield call_block(data.get("id"), data.get("name"), data.get("input"))
        case "tool_result":
            yield _read_result(data)
        case "shell_command":
            status = as_count(data.get("exit_code"))
            lines = [f"$ {as_text(data.get('command'))}", as_text(data.get("output")).rstrip("\n")]
            yield TextBlock(text="\n".join([*lines, f"(exit status {status})"] if status else lines))
        case "finish":
            pass
        case _:
            yield text_block(part)


def _read_binary(data: JsonObject) -> Block:
    kind = as_text(data.get("MIMEType"))
    if kind.startswith("image/"):
        return picture(kind, data.get("Data"))
    return ResourceBlock(uri=as_text(data.get("Path")), mime_type=kind or None)


def _read_result(data: JsonObject) -> ToolResultBlock:
    content, kind = [*read_parts(as_text(data.get("content")))], as_text(data.get("mime_type"))
    if kind.startswith("image/") and data.get("data"):
        content.append(picture(kind, data.get("data")))
    return result_block(data.get("tool_call_id"), content, failed=data.get("is_error") is True)


FORMAT = replace(incremental(NAME, _matches, CrushReader, _records), is_complete=CrushReader.is_complete)

_SWITCH = "disable_auto_summarize"


def _files(machine: Machine) -> tuple[str, ...]:
    windows = machine.system == "win32"
    own = machine.folder("LOCALAPPDATA", "AppData/Local") if windows else machine.folder("XDG_CONFIG_HOME", ".config")
    return (f"{own}/crush/crush.json", *machine.in_project("crush.json", ".crush.json"))


def _read(reading: Reading) -> None:
    for file in reading.files:
        off = switch(inner(file, "options", _SWITCH))
        if off is not None:
            reading.take("automatic", _SWITCH, not off, f"{_SWITCH}={str(off).lower()}")
        for provider in as_object(file.get("providers")).values():
            for model in as_objects(as_object(provider).get("models")):
                if reading.model and model.get("id") == reading.model:
                    reading.size("model_window", "context_window", model.get("context_window"))


SETTINGS = OwnSettings(files=_files, read=_read, known=frozenset({_SWITCH}), servers="mcp", prefix="CRUSH")

_LARGE_WINDOW, _LEFT, _SHARE = 200_000, 20_000, 0.2


def _threshold(setup: Setup) -> Threshold:
    if setup.given.automatic is False:
        return switched_off(setup.given)
    if setup.window > _LARGE_WINDOW:
        return Rule(tokens=setup.window - _LEFT, basis=f"{_LEFT:,} tokens before the end of the window")
    return Rule(tokens=int(setup.window * (1 - _SHARE)), basis="80% of the window")


# It lists some in lower case, too, and takes of such names the first alone.
_INSTRUCTIONS = (
    *(".github/copilot-instructions.md", ".cursorrules", ".cursor/rules/*", "CLAUDE.md", "CLAUDE.local.md"),
    *("GEMINI.md", "CRUSH.md", "CRUSH.local.md", "AGENTS.md"),
)


def _own_files(machine: Machine, settings: Sequence[JsonObject], _: Exists) -> Iterator[str]:
    folder = machine.folder("XDG_CONFIG_HOME", ".config")
    options = [as_object(file.get("options")) for file in settings]
    everywhere = [path for each in options for path in as_list(each.get("global_context_paths"))]
    chosen = (path for each in options for path in as_list(each.get("context_paths")))
    listed = (*(everywhere or (f"{folder}/crush/CRUSH.md", f"{folder}/AGENTS.md")), *_INSTRUCTIONS, *chosen)
    yield from chosen_paths(machine, [machine.cwd] if machine.cwd else [], listed)


def _skills(machine: Machine, exists: Exists) -> Iterator[str]:
    folder = machine.folder("XDG_CONFIG_HOME", ".config")
    own = (f"{folder}/crush", f"{folder}/agents", *(machine.folder("", name) for name in (".agents", ".claude")))
    folders = in_repository(machine, exists)
    names = (".agents", ".crush", ".claude", ".cursor")
    # In the folder of the conversation, and in that of its repository.
    for place in (*own, *(f"{root}/{name}" for root in dict.fromkeys((*folders[:1], *folders[-1:])) for name in names)):
        yield f"{place}/skills/*/SKILL.md"


AGENT = Agent(
    name="Crush",
    formats=(FORMAT,),
    sessions=Sessions(patterns=_patterns, title_of=_title_of, facts=_facts_of, registry=_registry, table="sessions"),
    tables=TABLES,
    # Read in its source, `internal/agent/agent.go`.
    own_context=OwnContext(threshold=_threshold),
    own_prompt=OwnPrompt(files=_own_files, skills=_skills),
    own_settings=SETTINGS,
)
