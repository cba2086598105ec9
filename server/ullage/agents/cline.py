"""What Ullage knows about Cline: where it keeps its sessions, and the older tasks of its classic extension. Roo
Code, which began as a copy of it, keeps its tasks in the same way.

A session of its CLI or newer extensions (`SESSION.messages.json`) holds every message; Cline writes it again for each.
`SESSION.json` next to it says where the session runs, and `SESSION.compaction.json` what the newest compaction put in
the place of the first messages.

Of a task, `api_conversation_history.json` holds Anthropic's messages, and `ui_messages.json` what the user was shown,
with the usage of each request. Roo Code hides messages instead of removing them: each names the summary or the marker
that took its place. Cline says which range of messages it no longer sends. A request in `ui_messages.json` is
`{say: "api_req_started", text}`, whose text is JSON with the request's token counts.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from ullage.agents.agent import Agent, Sessions, first_line, last_text
from ullage.agents.machine import Machine
from ullage.agents.own_context import OwnContext, OwnPrompt, OwnSettings, Reading, Rule, Setup, share, version_of
from ullage.agents.record_reader import LEFT_OUT, RecordReader
from ullage.formats.parsing import Document, Line, as_count, as_timestamp, usage_beside, usage_in
from ullage.formats.transcripts.chat import read_blocks, thoughts
from ullage.formats.transcripts.format import Records, file_named, incremental, parsed
from ullage.model.json_values import JsonObject, as_list, as_object, as_objects, as_text
from ullage.model.message import Block, ResourceBlock, Role, TextBlock, join_texts
from ullage.model.usage import Usage

_TASK = "cline-task"
_HISTORY, _SHOWN = "api_conversation_history.json", "ui_messages.json"
_FOLDER = re.compile(r"# Current (?:Working|Workspace) Directory \((.{1,4096}?)\)")
_MODEL = re.compile(r"<model>([^<\n]+)</model>")
# Fields that only these programs add to a message.
_OWN_FIELDS = {"modelInfo", "metrics", "isSummary", "condenseId", "condenseParent", "truncationParent"}
# Roo Code's fields, in a message or in the account of a request.
_ROO_FIELDS = {"isSummary", "condenseId", "condenseParent", "truncationParent", "isTruncationMarker", "apiProtocol"}


def _is_task(document: Document) -> bool:
    """Returns whether the file is the history of a task of Cline or Roo Code, judged by the file `ui_messages.json`
    next to it or by fields that only these programs write."""
    messages = _task_messages(document)
    if not messages or not all(item.get("role") in ("user", "assistant") for item in messages):
        return False
    shown = file_named(document, _SHOWN)
    return bool(shown and as_list(shown.value)) or any(
        _OWN_FIELDS & item.keys() or "<environment_details>" in join_texts(read_content(item)) for item in messages[:4]
    )


def _task_records(document: Document) -> Records:
    """Returns a record with the facts of the task, then one per message. An answer's record has its request's token
    counts."""
    messages = _task_messages(document)
    shown = file_named(document, _SHOWN)
    ui_messages = as_objects(shown.value) if shown else []
    requests = _requests_of(messages, ui_messages)
    about = {
        name: as_object(found.value)
        for name in ("history_item.json", "task_metadata.json")
        if (found := file_named(document, name))
    }
    history = file_named(document, _HISTORY)
    path = PurePosixPath((document if document.value is not None or not history else history).name.replace("\\", "/"))
    fields = {key for value in (*messages, *requests.values()) for key in value}
    program = "Roo Code" if _ROO_FIELDS & fields or "history_item.json" in about else "Cline"
    prompt = next((as_text(item.get("text")) for item in ui_messages if item.get("text")), "")
    head = {**about, "folder": path.parent.name, "program": program, "prompt": prompt}
    lines = [
        Line(number=number, value={"message": message, "request": requests.get(number - 1)})
        for number, message in enumerate(messages, start=1)
    ]
    return Records(lines=(Line(number=1, value={"head": head}), *lines))


def _task_messages(document: Document) -> list[JsonObject]:
    found = file_named(document, _HISTORY) if document.value is None else document
    value = found.value if found else None
    return as_objects(value) or (
        as_objects(as_object(value).get("messages")) if as_object(value).get("version") == 2 else []
    )


class TaskReader(RecordReader):
    """Reads one task of Cline or Roo Code. Every message is complete when it is written, so no event is held back."""

    def _begin(self) -> None:
        self._added: list[str] = []
        self._hidden: dict[str, list[str]] = {}
        self._dropped: set[str] = set()
        self._models: Sequence[JsonObject] = ()

    def _read(self, value: JsonObject, number: int) -> None:
        if "head" in value:
            self._take_head(as_object(value.get("head")))
        else:
            self._take_message(as_object(value.get("message")), as_object(value.get("request")), number)

    def _take_head(self, head: JsonObject) -> None:
        builder, task = self._builder, as_object(head.get("history_item.json"))
        builder.agent = as_text(head.get("program"))
        builder.session_id = as_text(task.get("id")) or as_text(head.get("folder"))
        builder.parent = as_text(task.get("parentTaskId"))
        builder.is_sub_agent = bool(builder.parent)
        builder.cwd = as_text(task.get("workspace"))
        title = (as_text(task.get("task")) or as_text(head.get("prompt"))).strip()
        builder.title = title.partition("\n")[0][:200]
        self._models = as_objects(as_object(head.get("task_metadata.json")).get("model_usage"))

    def _take_message(self, message: JsonObject, request: JsonObject, number: int) -> None:
        builder, timestamp = self._builder, as_timestamp(message.get("ts"))
        content = [*_reasoning(message), *read_content(message)]
        if not content or message.get("role") not in ("user", "assistant"):
            self._added.append("")
            builder.skip(number, f"message {number} has no content", expected=True)
        elif message.get("isSummary") is True:
            # Older versions sent the first message, too; newer ones name each summary and send it first.
            first = [] if message.get("condenseId") else [added for added in self._added[:1] if added]
            self._added.append("")
            builder.compact(join_texts(content), as_text(message.get("condenseId")), timestamp, leading=first)
        elif message.get("isTruncationMarker") is True:
            self._added.append("")
            self._drop(self._hidden.get(as_text(message.get("truncationId")), []), join_texts(content), timestamp)
        else:
            self._add(message, content, request)

    def _add(self, message: JsonObject, content: list[Block], request: JsonObject) -> None:
        builder, timestamp = self._builder, as_timestamp(message.get("ts"))
        left_out = [as_count(bound) for bound in as_list(request.get("deletedRange"))]
        if len(left_out) == 2:
            self._drop(self._added[left_out[0] : left_out[1] + 1], LEFT_OUT, timestamp)
        self._read_facts(message, content, timestamp)
        message_id = builder.add(Role(as_text(message.get("role"))), content, as_text(message.get("id")), timestamp)
        self._added.append(message_id)
        if hidden := as_text(message.get("truncationParent")):
            self._hidden.setdefault(hidden, []).append(message_id)
        own = usage_in(as_object(as_object(message.get("metrics")).get("tokens")), "prompt", "completion", "cached")
        builder.report(_usage_of(request, includes_cache=builder.agent == "Roo Code") or own, message_id)

    def _read_facts(self, message: JsonObject, content: list[Block], timestamp: int) -> None:
        builder, text = self._builder, join_texts(content)
        model = as_text(as_object(message.get("modelInfo")).get("modelId"))
        if message.get("role") == "assistant":
            used = [item for item in self._models if as_timestamp(item.get("ts")) <= timestamp or not timestamp]
            builder.use_model(model or (as_text(used[-1].get("model_id")) if used else ""))
            return
        folder, named = _FOLDER.search(text), _MODEL.search(text)
        builder.cwd = builder.cwd or (folder.group(1) if folder else "")
        builder.use_model(named.group(1) if named else "")

    def _drop(self, message_ids: Sequence[str], notice: str, timestamp: int) -> None:
        new = [message_id for message_id in message_ids if message_id and message_id not in self._dropped]
        self._dropped.update(new)
        self._builder.drop(new, notice, timestamp)


def read_content(message: JsonObject) -> tuple[Block, ...]:
    """Converts a message's content to blocks: Anthropic's blocks, and files that the user attached."""
    content = message.get("content")
    blocks: list[Block] = []
    for item in as_list(content) or [content]:
        part = as_object(item)
        if part.get("type") == "file" and "path" in part:
            blocks.append(ResourceBlock(uri=as_text(part.get("path")), text=as_text(part.get("content")) or None))
        elif item:
            blocks += read_blocks(item if isinstance(item, str) else [item])
    return tuple(block for block in blocks if not isinstance(block, TextBlock) or block.text)


def _reasoning(message: JsonObject) -> list[Block]:
    item = as_text(message.get("text")) if message.get("type") == "reasoning" else ""
    return [*thoughts(as_text(message.get("reasoning_content")) or item)]


def _requests_of(messages: Sequence[JsonObject], ui_messages: Sequence[JsonObject]) -> dict[int, JsonObject]:
    """Returns the listed request of each answer, by the answer's index in `messages`. It has the request's token
    counts, and `deletedRange` if the range of messages that are no longer sent has changed.

    An answer is paired with the last request before its time if both have times. Otherwise answers and requests are
    paired from the end, because a request that failed has no answer, and the newest figures matter most.
    """
    requests = _read_requests(ui_messages)
    answers = [index for index, message in enumerate(messages) if message.get("role") == "assistant"]
    times = [as_timestamp(messages[index].get("ts")) for index in answers]
    if not all(times) or not all(request["ts"] for request in requests):
        return dict(zip(reversed(answers), reversed(requests), strict=False))
    paired: dict[int, JsonObject] = {}
    place = 0
    for index, time in zip(answers, times, strict=True):
        begun = [at for at in range(place, len(requests)) if requests[at]["ts"] <= time]
        if begun:
            paired[index] = requests[begun[-1]]
            place = begun[-1] + 1
    return paired


def _usage_of(request: JsonObject, *, includes_cache: bool) -> Usage | None:
    """Returns a request's token counts as `Usage`, or None if the request has none. `includes_cache` says that
    `tokensIn` counts the whole prompt; this is ignored if the cached tokens alone are more."""
    names = ("tokensIn", "tokensOut", "cacheReads", "cacheWrites")
    beside = usage_beside(request, *names)
    if not beside.total:
        return None
    is_whole = includes_cache and beside.input_tokens >= beside.prompt - beside.input_tokens
    return usage_in(request, *names) if is_whole else beside


def _read_requests(ui_messages: Sequence[JsonObject]) -> list[JsonObject]:
    requests: list[JsonObject] = []
    left_out: list[object] = []
    for shown in ui_messages:
        now = as_list(shown.get("conversationHistoryDeletedRange"))
        if shown.get("say") != "api_req_started":
            continue
        counts = as_object(parsed(shown.get("text")))
        # A request that is still running has no counts yet.
        if "tokensIn" in counts or "tokensOut" in counts:
            changed = {"deletedRange": now} if now and now != left_out else {}
            requests.append({**counts, **changed, "ts": as_timestamp(shown.get("ts"))})
            left_out = now or left_out
    return requests


TASKS = incremental(_TASK, _is_task, TaskReader, _task_records)


NAME = "cline"
_MESSAGES, _COMPACTION = ".messages.json", ".compaction.json"


def _matches(document: Document) -> bool:
    value = _session(document)
    messages = as_objects(value.get("messages"))
    return bool(messages) and {"sessionId", "updated_at"} <= value.keys() and all("role" in item for item in messages)


def _records(document: Document) -> Records:
    # The newest compaction comes after the last message that it covers.
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

    def _begin(self) -> None:
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
        if prompt := as_text(head.get("system_prompt")):
            builder.add(Role.SYSTEM, (TextBlock(text=prompt),))

    def _take_message(self, message: JsonObject, number: int) -> None:
        role, content = as_text(message.get("role")), read_content(message)
        if role not in tuple(Role):
            self._builder.skip(number, f"message {number} has no known role: {role!r}", expected=False)
            return
        if not content:
            self._builder.skip(number, f"message {number} has no content", expected=True)
            return
        self._builder.use_model(as_text(as_object(message.get("modelInfo")).get("id")))
        known = as_text(message.get("id"))
        self._known[known] = self._builder.add(Role(role), content, known, as_timestamp(message.get("ts")))
        counts = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens")
        self._builder.report(usage_in(as_object(message.get("metrics")), *counts), self._known[known])

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


FORMAT = incremental(NAME, _matches, ClineReader, _records)


_CLINE, _ROO = "saoudrizwan.claude-dev", "rooveterinaryinc.roo-cline"


def _data(machine: Machine) -> str:
    chosen = machine.variables.get("CLINE_DATA_DIR", "").replace("\\", "/")
    return chosen or f"{machine.folder('CLINE_DIR', '.cline')}/data"


def _patterns(machine: Machine) -> tuple[str, ...]:
    # Files of sessions (its CLI and newer extensions) and of tasks (its classic extension).
    data = _data(machine)
    sessions = machine.variables.get("CLINE_SESSION_DATA_DIR", "").replace("\\", "/") or f"{data}/sessions"
    places = (data, *machine.extension_folders(_CLINE))
    return (f"{sessions}/*/*.messages.json", *(f"{place}/tasks/*/api_conversation_history.json" for place in places))


def _roo_patterns(machine: Machine) -> tuple[str, ...]:
    return tuple(f"{place}/tasks/*/api_conversation_history.json" for place in machine.extension_folders(_ROO))


def _title_of(records: Sequence[JsonObject]) -> str:
    titles = last_text((as_object(record.get("metadata")) for record in records), "title")
    titles = titles or last_text(records, "prompt")
    task = last_text(records, "task") or next((as_text(item.get("text")) for item in records if item.get("say")), "")
    return titles or first_line(task)


def _side(path: str) -> tuple[str, str] | None:
    # The name of the file, which is the session's id, has two underscores after its parent's id.
    session_id = path.rpartition("/")[2].removesuffix(".messages.json")
    return (session_id, session_id.partition("__")[0]) if "__" in session_id else None


def _companions(path: str) -> tuple[str, ...]:
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
_SWITCH = "compactionEnabled"


def _files(machine: Machine) -> tuple[str, ...]:
    chosen = machine.variables.get("CLINE_GLOBAL_SETTINGS_PATH", "").replace("\\", "/")
    return (chosen or f"{_data(machine)}/settings/global-settings.json",)


def _read(reading: Reading) -> None:
    for file in reading.files:
        reading.switch("automatic", _SWITCH, file.get(_SWITCH))


# The strategy says how it compacts (read in its program, version 3.0.65).
SETTINGS = OwnSettings(files=_files, read=_read, known=frozenset({_SWITCH, "compactionStrategy"}), prefix="CLINE")


def _own_files(machine: Machine, _settings: object, _exists: object) -> Iterator[str]:
    yield from machine.in_project("AGENTS.md", ".clinerules", ".clinerules/*.md", ".cline/rules/*.md")
    yield machine.folder("", ".agents/AGENTS.md")
    own = (f"{machine.folder('CLINE_DIR', '.cline')}/rules", machine.folder("", "Documents/Cline/Rules"))
    yield from (f"{folder}/*.md" for folder in own)


def _skills(machine: Machine, _: object) -> Iterator[str]:
    own = (machine.folder("CLINE_DIR", ".cline"), machine.folder("", ".agents"))
    for folder in (*own, *machine.in_project(".clinerules", ".cline", ".agents")):
        yield f"{folder}/skills/*/SKILL.md"


AGENT = Agent(
    name="Cline",
    formats=(FORMAT, TASKS),
    companions=_companions,
    sessions=Sessions(patterns=_patterns, title_of=_title_of, fact_files=_companions, side=_side),
    # Read in its source: nine tenths of the largest prompt, which is nine tenths of the window. It compares its own
    # estimate.
    own_context=OwnContext(window=_window, threshold=share(0.81)),
    own_prompt=OwnPrompt(files=_own_files, skills=_skills),
    own_settings=SETTINGS,
)


ROO_AGENT = Agent(
    name="Roo Code",
    short="Roo",
    sessions=Sessions(patterns=_roo_patterns, title_of=_title_of, format="cline-task", fact_files=_companions),
)
