"""What Ullage knows about Qwen Code: where its conversations are, and how Ullage is added to it.

It compacts at 85 % of the window or at the share that `context.autoCompactThreshold` names, or 33,000 tokens before its
end if that is earlier and the window is larger (read in its source, version 0.24.4, and measured at 80,000). Settings
give a model's window as `contextWindowSize`. After a prompt of more tokens than `model.sessionTokenLimit` it makes no
further request, so below the threshold it does not compact. To the proxy it reports usage and compactions in `_meta` of
its updates, and windows in its list of models.

Measured with 0.24.4: the answer of the hook `PreCompact` is a part of the instructions for its summary: the
first 4,000 characters. The hook `SessionStart` runs after a compaction, but its answer reaches no request; so what a
compaction left out is given with the prompt after it, when the hook `UserPromptSubmit` finds another summary in the
agent's file. That hook runs at the results of tools as well. Its answer is a part of the prompt, which the file keeps,
so that a resumed session has it, too.

Reads Qwen Code's sessions (`~/.qwen/projects/PROJECT/chats/SESSION.jsonl`), one record per line.

Each record names its parent, so the records form a tree; `rewind` goes back to its parent. Messages are contents of
Google's API. The `type` is user, assistant, tool_result or system. Two assistant records with one id are parts of one
answer. A `chat_compression` is a compaction and contains the context that it left. Sub-agents have files of their own,
in which every record has `isSidechain`.
"""

import glob
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.agent import AcpAgent, Agent, Occupancy, Sessions, first_prompt, prompt_and_answer, token_count
from ullage.agents.inserted import by_program, marked_typed
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
    Without,
    chosen_names,
    folders_up,
    inner,
    number,
)
from ullage.agents.record_reader import SidechainReader, conversation_records, is_side
from ullage.agents.wiring import GuideForm, HookPlace, HooksOff, SettingsFile, Wiring
from ullage.formats.parsing import Document, as_count, as_timestamp, exclude_cache
from ullage.formats.transcripts.builder import kept_place
from ullage.formats.transcripts.chat import PartReader
from ullage.formats.transcripts.format import Records, incremental
from ullage.model.events import CompactionCause
from ullage.model.json_values import JsonObject, as_object, as_objects, as_text
from ullage.model.message import Block, Provided, Role, ToolResultBlock, ToolUseBlock, join_texts
from ullage.model.usage import Usage

NAME = "qwen-code"
# Sources of records of the user's role that the program writes: what a task in the background has done, a goal.
_OWN_SOURCES = ("goal_runtime", "system")


class Said(Struct, frozen=True, kw_only=True):
    """A message as the session's file has it: its role and its blocks."""

    role: Role
    blocks: tuple[Block, ...]

    @property
    def calls(self) -> frozenset[str]:
        """The ids of the tool calls that the message makes or whose results it has."""
        made = (block.id for block in self.blocks if isinstance(block, ToolUseBlock))
        answered = (block.tool_use_id for block in self.blocks if isinstance(block, ToolResultBlock))
        return frozenset({*made, *answered} - {""})

    @property
    def has_results(self) -> bool:
        return any(isinstance(block, ToolResultBlock) for block in self.blocks)

    def is_like(self, other: "Said") -> bool:
        """Returns whether two messages are copies of one: they have a call or a result in common or, without any, the
        same text."""
        if self.role is not other.role or self.has_results != other.has_results:
            return False
        if self.calls or other.calls:
            return bool(self.calls & other.calls)
        return join_texts(self.blocks) == join_texts(other.blocks)


class Path(Struct, frozen=True):
    """A message or a compaction, and the path before it. `place` is its place for `TranscriptBuilder.rewind`.

    A compaction has neither a `message_id` nor a message (`said`).
    """

    place: str
    before: "Path | None" = None
    message_id: str = ""
    said: Said | None = None

    def messages(self) -> list["Path"]:
        """Returns the steps of the path that are messages, oldest first: the context."""
        found: list[Path] = []
        step: Path | None = self
        while step is not None:
            found += [step] if step.message_id else []
            step = step.before
        return found[::-1]


def _find_kept(path: Path, history: Sequence[Said]) -> tuple[list[Path], list[Said]]:
    """Returns the messages after a compaction's summary: those of the path that it kept, and those that the program
    added to them. `history` is the messages that the file lists after the summary.

    Kept are the messages that `history` repeats, the results of their calls, and the last user messages without an
    answer, which the program sends after the history.
    """
    context = path.messages()
    kept: set[int] = set()
    added: list[Said] = []
    last = len(context)
    for said in reversed(history):
        alike = (at for at in range(last - 1, -1, -1) if (known := context[at].said) and known.is_like(said))
        found = next(alike, -1)
        if found >= 0:
            kept.add(found)
            last = found
        # The program itself acknowledges the summary: no model said that.
        elif said is not history[0] or said.role is Role.USER:
            added.insert(0, said)
    calls = frozenset[str]().union(*(_message_of(context[at]).calls for at in kept))
    unanswered = len(context)
    while unanswered and _message_of(context[unanswered - 1]).role is Role.USER:
        unanswered -= 1
    messages = [
        step
        for at, step in enumerate(context)
        if at in kept or at >= unanswered or (_message_of(step).has_results and _message_of(step).calls & calls)
    ]
    return messages, added


def _message_of(step: Path) -> Said:
    return step.said or Said(role=Role.USER, blocks=())


_ROLES = {"user": Role.USER, "tool_result": Role.USER, "assistant": Role.ASSISTANT}
# Kinds of system records that Qwen Code writes for itself. The model is sent none of them.
_OWN_RECORDS = {
    *("at_command", "attribution_snapshot", "background_task_completed", "branch_checkpoint", "custom_title"),
    *("file_history_snapshot", "goal_state", "goal_turn_end", "omni_recall", "parent_session", "session_source"),
    *("session_artifact_event", "session_artifact_snapshot", "session_model", "session_sources_snapshot"),
    *("slash_command", "turn_result", "ui_telemetry", "user_text_elements"),
}
# The `compressionStatus` of a compaction that was made. The others are failures that left the context as it was.
_COMPRESSED = 1


def _matches(document: Document) -> bool:
    return any(
        as_text(value.get("type")) in _ROLES
        and "uuid" in value
        and "sessionId" in value
        and isinstance(as_object(value.get("message")).get("parts"), list)
        for value in document.objects
    )


def _records(document: Document) -> Records:
    return conversation_records(document, lambda value: join_texts(_parts(PartReader(), value)))


class _Answer(Struct):
    """An answer that is held back because more of its records may come: its id, its parent's id, its blocks and its
    time."""

    uuid: str
    parent: str
    blocks: list[Block]
    timestamp: int


class QwenReader(SidechainReader):
    """Reads one conversation of a Qwen Code session. An answer is held back until its last record or another message
    comes."""

    agent = "Qwen Code"

    def _begin(self) -> None:
        self._parts = PartReader()
        self._start = self._tip = Path("")
        # The path to each record, by its id.
        self._paths: dict[str, Path] = {}
        self._answer: _Answer | None = None
        # What the user typed where the next prompt is that of a command.
        self._command = ""

    def _read(self, value: JsonObject, number: int) -> None:
        if self._is_side is None:
            self._is_side = is_side(value)
        if is_side(value) != self._is_side:
            whose = as_text(value.get("agentId")) or "a sub-agent"
            self._builder.skip(number, f"another conversation: {whose}", expected=True)
            return
        self._read_facts(value)
        uuid, kind = as_text(value.get("uuid")), as_text(value.get("type"))
        if kind == "assistant":
            self._take_answer(value)
            return
        self._flush()
        if uuid in self._paths and uuid:
            self._builder.skip(number, f"{kind} record, repeated", expected=True)
            return
        path = self._path_to(as_text(value.get("parentUuid")), value)
        if kind in _ROLES:
            said = Said(role=_ROLES[kind], blocks=tuple(_parts(self._parts, value)))
            source = as_text(value.get("provenance"))
            if kind == "user":
                said = replace(said, blocks=marked_typed(said.blocks, self._command or _shown(value)))
                self._command = ""
            path = self._add(said, path, uuid, _time(value), by_program(source) if source in _OWN_SOURCES else None)
        elif kind == "system":
            path = self._take_system(value, path, number)
        else:
            self._builder.skip(number, f"unknown record type {kind!r}", expected=False)
        self._paths[uuid] = path

    def _path_to(self, parent: str, value: JsonObject) -> Path:
        if parent:
            return self._paths.get(parent, self._tip)
        # A rewind to the first prompt has no parent.
        is_root = value.get("type") == "user" or value.get("subtype") == "rewind"
        return self._start if is_root and "parentUuid" in value and self._paths else self._tip

    def _go(self, path: Path, timestamp: int) -> None:
        if path.place != self._tip.place:
            self._builder.rewind(path.place, timestamp)
        self._tip = path

    def _add(self, said: Said, path: Path, uuid: str, timestamp: int, mark: Provided | None = None) -> Path:
        self._go(path, timestamp)
        message_id = self._builder.add(said.role, said.blocks, uuid, timestamp, mark)
        self._tip = Path(message_id, path, message_id, said)
        return self._tip

    def _take_answer(self, value: JsonObject) -> None:
        """Reads a record of an answer. If it has the usage, which only the last record of an answer has, the answer is
        added."""
        uuid = as_text(value.get("uuid"))
        if self._answer is None or self._answer.uuid != uuid:
            self._flush()
            self._answer = _Answer(uuid, as_text(value.get("parentUuid")), [], _time(value))
        new = _parts(self._parts, value)
        known = self._paths.get(uuid)
        old = known.said.blocks if known and known.said else ()
        self._answer.blocks += [block for block in new if block not in old]
        self._builder.use_model(as_text(value.get("model")))
        self._builder.window(as_count(value.get("contextWindowSize")) or None, timestamp=_time(value))
        usage = _usage(as_object(value.get("usageMetadata")))
        if usage.total:
            has_content = bool(self._answer.blocks)
            self._flush()
            if has_content:
                self._builder.report(usage, self._tip.message_id, _time(value))

    def _flush(self) -> None:
        answer, self._answer = self._answer, None
        if answer is None or not answer.blocks:
            return
        path = self._paths.get(answer.uuid) or self._path_to(answer.parent, {})
        said = Said(role=Role.ASSISTANT, blocks=tuple(answer.blocks))
        self._paths[answer.uuid] = self._add(said, path, answer.uuid, answer.timestamp)

    def _take_system(self, value: JsonObject, path: Path, number: int) -> Path:
        subtype = as_text(value.get("subtype"))
        payload = as_object(value.get("systemPayload"))
        if subtype == "chat_compression":
            return self._compact(value, path, number)
        self._command = _command(value) or self._command
        if subtype == "custom_title":
            self._builder.title = as_text(payload.get("customTitle")) or self._builder.title
        if subtype == "rewind":
            self._go(path, _time(value))
        known = subtype == "rewind" or subtype in _OWN_RECORDS
        self._builder.skip(number, f"system record ({subtype or 'without a kind'})", expected=known)
        return path

    def _compact(self, value: JsonObject, path: Path, number: int) -> Path:
        payload = as_object(value.get("systemPayload"))
        info = as_object(payload.get("info"))
        contents = as_objects(payload.get("compressedHistory"))
        history = [
            Said(
                role=Role.USER if content.get("role") == "user" else Role.ASSISTANT,
                blocks=tuple(self._parts.read(content.get("parts"))),
            )
            for content in contents
        ]
        if not history or info.get("compressionStatus", _COMPRESSED) != _COMPRESSED:
            self._builder.skip(number, "compaction that was not made", expected=True)
            return path
        self._go(path, _time(value))
        kept, added = _find_kept(path, history[1:])
        edit_id = self._builder.compact(
            join_texts(history[0].blocks),
            as_text(value.get("uuid")),
            _time(value),
            before=as_count(info.get("originalTokenCount")),
            cause=CompactionCause.BY_HAND if "manual" in as_text(info.get("triggerReason")) else None,
            kept=[step.message_id for step in kept],
        )
        self._tip = Path(edit_id)
        for step in kept:
            self._tip = Path(kept_place(edit_id, step.message_id), self._tip, step.message_id, step.said)
        for index, said in enumerate(added, start=1):
            self._add(said, self._tip, f"{edit_id}-{index}", _time(value))
        return self._tip


def _parts(reader: PartReader, value: JsonObject) -> list[Block]:
    return reader.read(as_object(value.get("message")).get("parts"))


def _command(value: JsonObject) -> str:
    """Returns the command that the user typed, from the record before the prompt that it stands for; else ""."""
    payload = as_object(value.get("systemPayload"))
    is_sent = payload.get("phase") == "invocation" and payload.get("sentToModel") is True
    return as_text(payload.get("rawCommand")) if is_sent and value.get("subtype") == "slash_command" else ""


def _shown(value: JsonObject) -> str:
    """Returns what the user is shown of a message that was typed while the model worked, as it was typed; else ""."""
    is_typed = value.get("subtype") == "mid_turn_user_message"
    return as_text(as_object(value.get("systemPayload")).get("displayText")) if is_typed else ""


def _time(value: JsonObject) -> int:
    return as_timestamp(value.get("timestamp"))


def _usage(raw: JsonObject) -> Usage:
    """Converts the token counts of one request.

    `promptTokenCount` includes the cached tokens. Whether `candidatesTokenCount` includes the thoughts depends on the
    provider, so the output is the total less the prompt.
    """
    prompt, thoughts = as_count(raw.get("promptTokenCount")), as_count(raw.get("thoughtsTokenCount"))
    output = max(as_count(raw.get("totalTokenCount")) - prompt, as_count(raw.get("candidatesTokenCount")))
    usage = exclude_cache(prompt, output, as_count(raw.get("cachedContentTokenCount")))
    return replace(usage, reasoning_tokens=min(thoughts, output))


FORMAT = replace(incremental(NAME, _matches, QwenReader, _records), starts_over=QwenReader.starts_over)


def _patterns(machine: Machine) -> tuple[str, ...]:
    projects = f"{machine.folder('QWEN_HOME', '.qwen')}/projects/*"
    return (f"{projects}/chats/*.jsonl", f"{projects}/subagents/*/agent-*.jsonl")


def _side(path: str) -> tuple[str, str] | None:
    # The name of a sub-agent's file has its id, and its folder is named after the session that started it.
    file = PurePosixPath(path)
    own = file.name.partition(".")[0].removeprefix("agent-")
    return (own, file.parent.name) if file.name.startswith("agent-") else None


def _companions(path: str) -> tuple[str, ...]:
    file = PurePosixPath(path)
    is_chat = file.parent.name == "chats" and file.suffix == ".jsonl"
    return (f"../subagents/{glob.escape(file.stem)}/agent-*.jsonl",) if is_chat else ()


def _title_of(records: Sequence[JsonObject]) -> str:
    payloads = [as_object(record.get("systemPayload")) for record in records]
    titles = [title for payload in payloads if (title := as_text(payload.get("customTitle")))]
    return titles[-1] if titles else first_prompt(_prompts(records))


def _prompts(records: Sequence[JsonObject]) -> Iterator[object]:
    command = ""
    for record in records:
        command = _command(record) or command
        if record.get("type") == "user" and record.get("provenance") not in _OWN_SOURCES:
            yield command or as_object(record.get("message")).get("parts")
            command = ""


_SHARE, _KEPT = 0.85, 33_000


_PART, _WINDOW, _LAST = "autoCompactThreshold", "contextWindowSize", "sessionTokenLimit"


def _threshold(setup: Setup) -> Threshold:
    given, most = setup.given, setup.window - _KEPT
    part, name = given.share or _SHARE, given.name("share")
    shared = int(setup.window * part)
    is_less = 0 < most < shared
    tokens = most if is_less else shared
    if given.window and given.window < tokens:
        name = given.name("window")
        return Without(basis=f"{name} ends the session before it compacts at {tokens:,}", setting=name)
    basis = f"{part:.0%} of the window, or 33,000 tokens before its end"
    return Rule(tokens=tokens, basis=basis, setting="" if is_less else name, ignored=name if is_less else "")


def _files(machine: Machine) -> tuple[str, ...]:
    return (settings_path(machine), *machine.in_project(".qwen/settings.json"))


def _read(reading: Reading) -> None:
    for file in reading.files:
        part = number(inner(file, "context", _PART)) or 0
        reading.take("share", f"context.{_PART}", part if 0 < part <= 1 else None)
        reading.size("window", f"model.{_LAST}", inner(file, "model", _LAST))
        reading.size("model_window", f"model.{_WINDOW}", inner(file, "model", "generationConfig", _WINDOW))
    for file in reading.files:
        # What is set for one model comes before what is set for all.
        for listed in as_object(file.get("modelProviders")).values():
            for model in as_objects(listed):
                if reading.model and model.get("id") == reading.model:
                    size = number(inner(model, "generationConfig", _WINDOW)) or number(model.get(_WINDOW))
                    reading.take("model_window", f"modelProviders: {_WINDOW}", size or None)


# Settings that say with which model and with which files and images it compacts.
_KNOWN = frozenset(
    {
        *(_PART, "chatCompression", "compactionModel", "compactMode"),
        *(f"QWEN_COMPACT_{name}" for name in ("MAX_RECENT_FILES", "MAX_RECENT_IMAGES", "SCREENSHOT_THRESHOLD")),
        "QWEN_COMPACT_SCREENSHOT_TRIGGER",
    }
)
SETTINGS = OwnSettings(files=_files, read=_read, known=_KNOWN, servers="mcpServers", prefix="QWEN")


def _own_files(machine: Machine, settings: Sequence[JsonObject], exists: Exists) -> Iterator[str]:
    # Up to the folder around the repository, or else to the home folder.
    folders = [*folders_up(machine.cwd)]
    root = next((at + 1 for at, folder in enumerate(folders) if exists(f"{folder}/.git")), -1)
    last = folders[root] if 0 <= root < len(folders) else machine.home
    for name in chosen_names(settings, ("QWEN.md", "AGENTS.md")):
        yield f"{machine.folder('QWEN_HOME', '.qwen')}/{name}"
        for folder in folders:
            yield f"{folder}/{name}"
            if folder == last:
                break


def _skills(machine: Machine, _: Exists) -> tuple[str, ...]:
    return machine.skills(machine.folder("QWEN_HOME", ".qwen"), ".qwen")


def _occupancy(update: Mapping[str, Any]) -> Occupancy | None:
    """Returns the tokens in the agent's context from a session update: those after the agent's own compaction, or else
    those that the usage of a request shows. Returns None if the update has neither."""
    meta = as_object(update.get("_meta"))
    left = token_count(as_object(meta.get("contextCompression")).get("newTokenCount"))
    used = left if left is not None else prompt_and_answer(as_object(meta.get("usage")))
    return None if used is None else Occupancy(used=used)


def _window(model: Mapping[str, Any]) -> int | None:
    limit = as_object(model.get("_meta")).get("contextLimit")
    return limit if isinstance(limit, int) else None


ACP = AcpAgent(
    name="qwen-code",
    compact_command="compress",
    offers_command=False,
    occupancy_in_update=_occupancy,
    window_of_model=_window,
    compaction_done=lambda update: inner(as_object(update.get("_meta")), "contextCompression", "phase") == "done",
)

# The first words of a summary.
_SUMMARY_OPENING = "<state_snapshot>"


def settings_path(machine: Machine) -> str:
    """Returns the path of the file with the user's settings."""
    return f"{machine.folder('QWEN_HOME', '.qwen')}/settings.json"


def _settings_layers(machine: Machine) -> tuple[str, ...]:
    usual = machine.for_all_users("qwen-code", "QwenCode", "ProgramData/qwen-code")
    system = machine.variables.get("QWEN_CODE_SYSTEM_SETTINGS_PATH") or f"{usual}/settings.json"
    return (*_files(machine), system)


def _hooks_off_by(_: str, settings: JsonObject) -> str | None:
    is_off = settings.get("disableAllHooks")
    return None if is_off is None else "disableAllHooks" if is_off else ""


WIRING = Wiring(
    word="qwen-code",
    files=(
        SettingsFile(
            path=settings_path,
            hooks=(
                HookPlace(event="PreCompact"),
                HookPlace(event="UserPromptSubmit", arguments=("--mark", _SUMMARY_OPENING)),
                HookPlace(event="Stop", for_notes=True),
            ),
            mcp_server=True,
        ),
    ),
    hooks_off=HooksOff(layers=_settings_layers, off_by=_hooks_off_by),
    windows_shell="powershell",
    names_shell=True,
    summary_in_file=True,
    guide=GuideForm(characters=4_000, is_answer=True),
)

AGENT = Agent(
    name="Qwen Code",
    short="Qwen",
    formats=(FORMAT,),
    companions=_companions,
    sessions=Sessions(patterns=_patterns, title_of=_title_of, side=_side),
    own_context=OwnContext(threshold=_threshold),
    own_prompt=OwnPrompt(files=_own_files, skills=_skills),
    own_settings=SETTINGS,
    acp=ACP,
    wiring=WIRING,
)
