"""The methods `session/*`: params, results and handlers.

Reads what clients write: a prompt (ACP content blocks), a message to append (Ullage's own form, Anthropic's or
OpenAI's), and a section of settings (the fields of `Settings`).
"""

import asyncio
import base64
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import replace

from ullage.api.protocol import SessionResult, UsageResult, prompting_of, session_result, usage_result
from ullage.formats.parsing import parse_document, read_usage
from ullage.formats.provider import Provider, read_definitions, read_events, write_messages
from ullage.formats.transcripts.builder import ImportedTranscript, SkippedLine
from ullage.formats.turns import IMAGE_TYPES
from ullage.formats.verbatim import PLAIN, PLAIN_PARTS, other_format, prompt_message
from ullage.model.answer import TurnEnd
from ullage.model.errors import InvalidRequest
from ullage.model.events import MessageAppended, ModelChanged, SessionCreated, ToolsDeclared, UsageReported
from ullage.model.json_values import MOST_LEVELS, JsonObject, as_object, as_objects, as_text, is_too_deep
from ullage.model.message import (
    PDF,
    Block,
    ImageBlock,
    Message,
    Provided,
    ResourceBlock,
    Role,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
)
from ullage.model.settings import ContextSettings, Settings, check_settings
from ullage.model.usage import Usage
from ullage.service import sessions, turns
from ullage.service.archive import export
from ullage.service.archive.naming import list_main
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import Ports
from ullage.service.ports.store import SessionInfo
from ullage.service.sessions import ImportOutcome, import_or_continue, last_model


def read_prompt(prompt: Sequence[dict[str, Any]]) -> tuple[Block, ...]:
    """Returns a prompt, given as ACP content blocks, as Ullage's blocks. Raises `InvalidRequest` if the prompt is empty
    or has a kind of content that Ullage cannot send to a model."""
    if not prompt:
        raise InvalidRequest("session/prompt needs at least one content block in `prompt`")
    blocks: list[Block] = []
    for at, given in enumerate(prompt):
        if (block := read_block(given)) is None:
            raise InvalidRequest(
                f"prompt[{at}]: a content block of type {given.get('type')!r} cannot be used; text, image, "
                "resource_link and resource can"
            )
        blocks.append(block)
    said = tuple(block for block in blocks if not isinstance(block, TextBlock) or block.text.strip())
    if not said:
        raise InvalidRequest("session/prompt needs something to ask: the text in `prompt` is empty")
    return said


def read_block(block: dict[str, Any]) -> Block | None:
    """Returns an ACP content block as one of Ullage's, or None if it is of another kind or lacks its content."""
    match block.get("type"):
        case "text" if isinstance(block.get("text"), str):
            return TextBlock(text=block["text"])
        case "image" if isinstance(block.get("data"), str):
            return ImageBlock(media_type=as_text(block.get("mimeType")) or "image/png", data=block["data"])
        case "resource_link" if isinstance(block.get("uri"), str):
            return ResourceBlock(uri=block["uri"], mime_type=as_text(block.get("mimeType")) or None)
        case "resource" if "uri" in (resource := as_object(block.get("resource"))):
            return _read_resource(resource)
        case _:
            return None


def _read_resource(resource: JsonObject) -> Block:
    """Returns an embedded resource as a block. Of one whose content is in base64 (`blob`), a picture becomes an image
    and text in UTF-8 its text; any other content is kept as it is."""
    kind, blob, text = as_text(resource.get("mimeType")), as_text(resource.get("blob")), resource.get("text")
    uri = as_text(resource["uri"])
    if blob and kind in IMAGE_TYPES:
        return ImageBlock(media_type=kind, data=blob)
    if not isinstance(text, str):
        # A PDF may be all ASCII.
        text = None if kind == PDF else _decoded(blob)
    return ResourceBlock(uri=uri, text=text, mime_type=kind or None, data=blob or None if text is None else None)


def _decoded(blob: str) -> str | None:
    """Returns the text that a blob holds, or None if it holds none."""
    try:
        text = base64.b64decode(blob, validate=True).decode()
    except ValueError:
        return None
    return text if text and "\0" not in text else None


# How msgspec names a field that a struct does not have.
_UNKNOWN = re.compile(r"unknown field `(.*)`")
_MISSING = "Object missing required field"
_STEP = re.compile(r"\.\w+|\[")


def read_settings(section: Any) -> Settings:
    """Returns the settings in a client's `ullage` section. Raises `InvalidRequest`, which names the wrong fields."""
    settings, faults = usable_settings(section, Settings())
    if faults:
        raise InvalidRequest(" ".join(faults))
    return settings


def usable_settings(section: Any, before: Settings) -> tuple[Settings, tuple[str, ...]]:
    """Returns the settings in a client's section, and a sentence for each unusable one, which stays as `before`."""
    faults: list[str] = []
    usable = _usable(_without_empty_lists(section), msgspec.to_builtins(before), (), faults)
    settings = msgspec.convert(usable, Settings)
    try:
        check_settings(settings)
    except InvalidRequest as error:
        faults.append(str(error))
    return settings, tuple(faults)


def _usable(given: Any, before: Any, path: tuple[str, ...], faults: list[str]) -> Any:
    """Returns the part of the settings at `path` as far as it can be used. What can't be is replaced by what it was
    `before`, or left out if that is `UNSET`, and explained in `faults`."""
    what, steps = _fault(given, path)
    kept: Any = given
    # A fault above this part is that there is no such setting, or that one is missing beside it. The latter is the
    # whole's fault, and shows when all parts are together.
    is_above = steps < len(path)
    if what and isinstance(given, dict) and not is_above:
        old, known = as_object(before), len(faults)
        parts = ((name, old.get(name, UNSET), value) for name, value in as_object(given).items())
        used = {name: _usable(value, was, (*path, name), faults) for name, was, value in parts}
        kept = {name: part for name, part in used.items() if part is not UNSET}
        what, _ = _fault(kept, path)
        if len(faults) > known and (what or not kept):
            return before
    if not what or (is_above and what.startswith(_MISSING)):
        return kept
    unknown = _UNKNOWN.search(what)
    what = f"there is no setting {unknown[1]!r}" if unknown else what[:1].lower() + what[1:]
    faults.append(f"{'.'.join(('$', *path))} cannot be used ({what}). Correct it or remove it to get the default.")
    return before


def _fault(given: Any, path: tuple[str, ...]) -> tuple[str, int]:
    """Returns what is wrong with the settings if this part is all of them, "" if nothing is, and at which depth."""
    for name in reversed(path):
        given = {name: given}
    try:
        msgspec.convert(given, Settings)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at ")
        steps = _STEP.findall(place)
        # A model's own context settings are checked by themselves: their place begins in them.
        inner = steps and steps[-1] != "[" and steps[-1][1:] not in path
        return f"{what} at {place}" if inner else what, len(steps)
    return "", 0


def _without_empty_lists(value: Any) -> Any:
    """Returns the value without fields that are empty lists, because Lua writes an empty table as `[]`. For every
    setting an empty list or object is the default."""
    if not isinstance(value, dict):
        return value
    items = cast("dict[str, Any]", value).items()
    return {key: _without_empty_lists(item) for key, item in items if item != []}


_OWN_KINDS = ("resource", "context_compaction")
_PLAIN_FIELDS = {"role", "content", "id", "timestamp"}
_OWN_TOOL = {"name", "description", "input_schema"}
# A hundred times as many as a long answer has. Reading them takes a second, in which no other session is served.
_MOST_BLOCKS = 20_000
_ROLES = {role.value: role for role in Role}
_KNOWN_ROLES = ("", "system", "developer", "user", "assistant", "tool", "function")

# The parts of a conversation in params, as clients give them.
Messages = Annotated[
    tuple[dict[str, Any], ...],
    Meta(
        description="Messages, items or whole answers as the model's API has them (Anthropic's Messages, OpenAI's Chat "
        "Completions or Responses), or messages with Ullage's own blocks. Every field is kept. If `id` or `timestamp` "
        "(Unix milliseconds) of a message with a `role` is left out, the server sets it."
    ),
]
_TOOLS = Meta(description="Tools as the model's API has them, hosted ones included. Every field is kept.")
Tools = Annotated[tuple[dict[str, Any], ...], _TOOLS]
OtherTools = Annotated[tuple[dict[str, Any], ...] | None, _TOOLS]
System = Annotated[
    str | tuple[dict[str, Any], ...],
    Meta(description="A text, or content blocks as the model's API has them, for example with `cache_control`."),
]


def read_appended(given: JsonObject, ports: Ports, place: str) -> tuple[list[Message], Usage | None]:
    """Returns what a client appends as messages with ids and timestamps, and the usage of a whole answer. Raises
    `InvalidRequest`, whose text begins with `place`, if it is no message of Anthropic's or OpenAI's formats or with
    Ullage's own blocks, or is nested too deeply."""
    content, role, timestamp = given.get("content"), as_text(given.get("role")), given.get("timestamp")
    blocks = as_objects(content)
    _require_few_blocks(place, len(blocks) + len(as_objects(given.get("tool_calls"))))
    require_shallow(place, [given])
    is_item = given.get("type", "message") != "message" or given.keys() == {"id"}
    if role not in _KNOWN_ROLES or not (role or is_item or "choices" in given or "output" in given):
        said = f"no known role: {given['role']!r}" if role else "no `role`"
        known = ", ".join(_KNOWN_ROLES[1:])
        raise InvalidRequest(f"{place} has {said}; give a message ({known}), an item or a whole answer of the API")
    if timestamp is not None and not isinstance(timestamp, int):
        raise InvalidRequest(f"{place}.timestamp is {timestamp!r}; give Unix milliseconds")
    now = ports.clock.now() if timestamp is None else timestamp
    own_id = as_text(given.get("id")) if role else ""

    def made(role: Role, content: tuple[Block, ...], provided: Provided | None = None) -> Message:
        message_id = own_id or ports.ids.new("m")
        return Message(id=message_id, role=role, content=content, timestamp=now, provided=provided)

    if isinstance(content, str) and role in _ROLES and given.keys() <= _PLAIN_FIELDS:
        # All formats agree on a plain text, so that no reader is needed.
        said = (TextBlock(text=content),) if content else ()
        return [made(_ROLES[role], said, PLAIN if _may_stay(role, content) else None)], None
    if blocks and role in _ROLES and given.keys() <= _PLAIN_FIELDS and all(map(_is_plain, blocks)):
        said = tuple(TextBlock(text=block["text"]) for block in blocks)
        return [made(_ROLES[role], said, PLAIN_PARTS if _may_stay(role, blocks[-1]["text"]) else None)], None
    if any(map(_is_own, blocks)):
        return [made(_own_role(role, place), _own_blocks(blocks, place))], None
    raw = {name: value for name, value in given.items() if name != "timestamp"}
    provider = Provider.OPENAI if "name" in raw and role else Provider.ANTHROPIC
    if is_item or not role:
        provider = Provider.OPENAI_RESPONSES
    provider = provider if is_item else Provider(other_format(provider, raw) or provider)
    events = read_events(provider, [raw], place=place)
    read = [event.message for event in events if isinstance(event, MessageAppended)]
    usage = next((event.usage for event in events if isinstance(event, UsageReported)), None)
    # Thinking without a signature is in Ullage's form: Anthropic's API refuses it.
    unsigned = provider is Provider.ANTHROPIC and any(_is_unsigned(block) for one in read for block in one.content)
    is_said = unsigned or (len(read) == 1 and not is_item and _is_said(provider, read[0], raw))
    return [made(one.role, one.content, None if is_said else one.provided) for one in read], usage


def _may_stay(role: str, end: str) -> bool:
    """Returns whether a plain message may be anywhere in a request as it was given. Providers refuse an answer at the
    end that ends in white space; a request mends that."""
    return role != Role.ASSISTANT or end == end.rstrip()


def _with_one_prompt(messages: Sequence[Message], before: Sequence[Message]) -> list[Message]:
    """Returns appended messages; plain system messages at the beginning of the conversation are its prompt,
    which a request has as one. `before` are the messages so far."""
    is_prompt, read = all(message.role is Role.SYSTEM for message in before), list[Message]()
    for message in messages:
        is_prompt = is_prompt and message.role is Role.SYSTEM
        is_plain = message.provided in (PLAIN, PLAIN_PARTS)
        read.append(replace(message, provided=None) if is_prompt and is_plain else message)
    return read


def _is_said(provider: Provider, read: Message, raw: JsonObject) -> bool:
    """Returns whether the blocks of a message with tool calls or results, or with an empty text, say all that the
    client gave. Such a message is not kept as given: a request mends what an interrupted turn has left of it, and
    leaves out the empty text, which providers refuse."""
    kinds = {type(block) for block in read.content}
    if kinds == {ThinkingBlock} or not kinds <= {TextBlock, ToolUseBlock, ToolResultBlock, ThinkingBlock}:
        return False
    given = {name: value for name, value in raw.items() if name != "id"}
    if isinstance(blocks := given.get("content"), list):
        given["content"] = [block for block in as_objects(blocks) if block != {"type": "text", "text": ""}]
    return write_messages(provider, replace(read, provided=None)) == [given]


def read_tool_inputs(given: Sequence[JsonObject]) -> tuple[ToolDefinition, ...]:
    """Returns tools that a client declares. Raises `InvalidRequest` if one is nested too deeply or empty."""
    require_shallow("tools", [*given])
    tools = zip(given, read_definitions(None, given), strict=True)
    return tuple(replace(read, provided=None) if tool.keys() == _OWN_TOOL else read for tool, read in tools)


def read_system_input(given: str | Sequence[JsonObject]) -> str | list[Message]:
    """Returns a system prompt that a client gives. Raises `InvalidRequest` if a block of it is none."""
    if isinstance(given, str) or not given:
        return given if isinstance(given, str) else ""
    require_shallow("system", [*given])
    return [prompt_message(Provider.ANTHROPIC, given, "")]


def _require_few_blocks(place: str, blocks: int) -> None:
    if blocks > _MOST_BLOCKS:
        raise InvalidRequest(f"{place}: a message has at most {_MOST_BLOCKS:,} content blocks and tool calls")


def require_shallow(place: str, values: list[Any]) -> None:
    """Raises `InvalidRequest`, whose text begins with `place`, if a value is nested in more than `MOST_LEVELS` levels.
    A recursion through it would fail wherever the session is read."""
    if is_too_deep(values):
        raise InvalidRequest(f"{place}: at most {MOST_LEVELS} levels of objects and lists in one another are possible")


def _is_own(block: JsonObject) -> bool:
    """Returns whether the content block, or one in it, has a shape that only Ullage uses."""
    nested = as_objects(block.get("content"))
    return (
        block.get("type") in _OWN_KINDS
        or (block.get("type") == "image" and "source" not in block)
        or "provided" in block
        or "redacted" in block
        or any(map(_is_own, nested))
    )


def _is_plain(block: JsonObject) -> bool:
    return block.keys() == {"type", "text"} and block["type"] == "text" and bool(as_text(block["text"]))


def _is_unsigned(block: Block) -> bool:
    return isinstance(block, ThinkingBlock) and not block.signature and not block.redacted


def _own_role(role: str, place: str) -> Role:
    if role not in _ROLES:
        raise InvalidRequest(f"{place}: a message of role {role!r} cannot hold Ullage's own blocks")
    return _ROLES[role]


def _with_parts(block: JsonObject) -> JsonObject:
    """Returns the block, and a tool result whose content is a plain text with a text block in its place."""
    content = block.get("content")
    return {**block, "content": [{"type": "text", "text": content}]} if isinstance(content, str) else block


def _own_blocks(blocks: list[JsonObject], place: str) -> tuple[Block, ...]:
    try:
        return msgspec.convert([*map(_with_parts, blocks)], tuple[Block, ...])
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"{place}.content: {error}") from None


_PAGE = 100
OwnContextSettings = Annotated[
    dict[str, Any],
    Meta(description="Fields of `ContextSettings` that differ from the workspace's; forks inherit them."),
]


class NewSessionParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Starts a session. All fields are optional. `system` is a text or content blocks, `tools` are those of the model's
    API, both are kept as given."""

    cwd: str = ""
    model: str = ""
    title: str = ""
    system: System = ""
    tools: Tools = ()
    context: OwnContextSettings = {}


class ConfigureSessionParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Replaces all of the session's own context settings: what `context` does not name is the workspace's again. The
    model is changed by `session/append`."""

    session_id: str
    context: OwnContextSettings = {}


class ConfigureSessionResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The context settings in effect, the session's own and the workspace's together, and how full the context is by
    these settings."""

    context: ContextSettings
    usage: UsageResult


class SessionParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Names the session that the method is about."""

    session_id: str


class ListSessionsParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Lists the sessions of one folder, or all if `cwd` is left out. `cursor` is the `nextCursor` of the previous
    page."""

    cwd: str | None = None
    cursor: str | None = None


class ListedSessionMeta(Struct, frozen=True, kw_only=True, rename="camel"):
    """Facts about a listed session for which ACP has no field. `createdAt` is Unix milliseconds."""

    model: str
    messages: int
    created_at: int
    parent_id: str | None


class ListedSessionMetas(Struct, frozen=True, kw_only=True):
    """The `_meta` object of a listed session."""

    ullage: ListedSessionMeta


class ListedSession(Struct, frozen=True, kw_only=True, rename="camel"):
    """A listed session in ACP's shape. `updatedAt` is ISO 8601."""

    session_id: str
    cwd: str
    title: str
    updated_at: str
    meta: ListedSessionMetas = field(name="_meta")


class ListSessionsResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A page of sessions, last changed first. `nextCursor` is missing on the last page."""

    sessions: tuple[ListedSession, ...]
    next_cursor: str | UnsetType = UNSET


class ForkSessionParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Forks a session after the message `messageId`, or at its end if that is left out."""

    session_id: str
    message_id: str | None = None
    title: str = ""


class RenameSessionParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Gives a session another title, in one line."""

    session_id: str
    title: str


class AppendParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Appends messages to a session. `usage` is the provider's usage object, unchanged, with Anthropic's or OpenAI's
    field names; without it, that of a whole answer among `messages`. If `model` or `tools` are given, they replace the
    session's."""

    session_id: str
    messages: Messages = ()
    usage: dict[str, Any] | None = None
    model: str | None = None
    tools: OtherTools = None


class AppendResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The ids of the appended messages, also those that the server made, and how full the context is now."""

    message_ids: tuple[str, ...]
    usage: UsageResult


class ImportParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Imports a transcript from the file `path` or from `text`. `format` is needed if it cannot be detected; the error
    for the name `list` has the names of all. `run` chooses one conversation, counted from 1, if the file holds several.
    `cwd` is the session's folder if the transcript names none."""

    path: str | None = None
    text: str | None = None
    format: str | None = None
    run: Annotated[int, Meta(ge=1)] | None = None
    cwd: str = ""


class ImportResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The session of an import: a new one, or that of an earlier import of the same transcript (`outcome`). `messages`
    counts all of its messages, `added` those that this import has appended. `divergedFrom` is the earlier import's
    session if the outcome is `diverged`. `unread` lists the lines of the file that could not be read. `passedOver`
    counts the lines of known kinds that hold no message."""

    session: SessionResult
    format: str
    outcome: ImportOutcome
    messages: int
    added: int
    diverged_from: str | None
    unread: tuple[SkippedLine, ...]
    passed_over: int


class ExportParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Exports a session. The format `ullage` is the whole log; with the others it is the context as a provider's
    request."""

    session_id: str
    format: Literal["ullage", "anthropic", "openai", "openai-responses"] = "ullage"


class ExportResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The exported session: JSONL for the format `ullage`, JSON for the others."""

    text: str


class PromptParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Prompts the model, or runs a slash command. `prompt` holds ACP content blocks."""

    session_id: str
    prompt: Annotated[tuple[dict[str, Any], ...], Meta(description="ACP content blocks.")]


class PromptResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """How the prompt turn ended, by ACP's stop reason."""

    stop_reason: TurnEnd


class Nothing(Struct, frozen=True, kw_only=True):
    """An empty result, of methods that return nothing."""


async def new_session(workspace: Workspace, params: NewSessionParams) -> SessionResult:
    system, tools = read_system_input(params.system), read_tool_inputs(params.tools)
    created = SessionCreated(cwd=params.cwd, model=params.model, title=params.title)
    prompting = await prompting_of(workspace, params.model)
    conversation = sessions.new_session(workspace, created, system, tools, params.context)
    return session_result(conversation, params.model, prompting)


async def configure_session(workspace: Workspace, params: ConfigureSessionParams) -> ConfigureSessionResult:
    conversation = workspace.open(params.session_id)
    sessions.configure_session(conversation, params.context)
    return ConfigureSessionResult(context=conversation.settings, usage=usage_result(conversation))


async def load_session(workspace: Workspace, params: SessionParams) -> SessionResult:
    conversation = sessions.load_session(workspace, params.session_id)
    return session_result(conversation, conversation.model, await prompting_of(workspace, conversation.model))


async def list_sessions(workspace: Workspace, params: ListSessionsParams) -> ListSessionsResult:
    if params.cursor is not None and not params.cursor.isdecimal():
        raise InvalidRequest(f"cursor {params.cursor!r} is not one that session/list gave")
    offset = int(params.cursor or 0)
    found = list_main(workspace.ports.store, params.cwd, _PAGE + 1, offset)
    return ListSessionsResult(
        sessions=tuple(_listed(info) for info in found[:_PAGE]),
        next_cursor=str(offset + _PAGE) if len(found) > _PAGE else UNSET,
    )


async def fork_session(workspace: Workspace, params: ForkSessionParams) -> SessionResult:
    parent = workspace.open(params.session_id)
    prompting = await prompting_of(workspace, parent.model)
    fork = sessions.fork_session(workspace, parent, params.message_id, params.title)
    return session_result(fork, parent.model, prompting)


async def close_session(workspace: Workspace, params: SessionParams) -> Nothing:
    workspace.open(params.session_id)
    await workspace.end(params.session_id)
    return Nothing()


async def rename_session(workspace: Workspace, params: RenameSessionParams) -> Nothing:
    sessions.rename(workspace.open(params.session_id), params.title)
    return Nothing()


async def delete_session(workspace: Workspace, params: SessionParams) -> Nothing:
    await sessions.delete_session(workspace, params.session_id)
    return Nothing()


async def prompt(workspace: Workspace, params: PromptParams) -> PromptResult:
    end = await turns.prompt(workspace.open(params.session_id), read_prompt(params.prompt))
    return PromptResult(stop_reason=end)


async def append(workspace: Workspace, params: AppendParams) -> AppendResult:
    conversation = workspace.open(params.session_id)
    changes = [] if params.model is None else [ModelChanged(model=params.model)]
    changes += [] if params.tools is None else [ToolsDeclared(tools=read_tool_inputs(params.tools))]
    read = [read_appended(given, workspace.ports, f"messages[{at}]") for at, given in enumerate(params.messages)]
    messages = _with_one_prompt([message for given, _ in read for message in given], conversation.transcript.view)
    reported = next((usage for _, usage in reversed(read) if usage is not None), None)
    usage = reported if params.usage is None else read_usage(params.usage)
    named = {given.get("id") for given in params.messages}
    made = {message.id for message in messages if message.id not in named}
    left = await sessions.append_compacted(conversation, messages)
    first = (message.id for message in messages[: len(messages) - len(left)])
    message_ids = (*first, *await sessions.append(conversation, left, usage, made, changes))
    return AppendResult(message_ids=message_ids, usage=usage_result(conversation))


async def import_session(workspace: Workspace, params: ImportParams) -> ImportResult:
    transcript = await asyncio.to_thread(_read_transcript, params)
    own = ""
    if params.text is None and params.path is not None:
        own = await asyncio.to_thread(workspace.own_files.path_of, str(Path(params.path).expanduser()))
    model = last_model(transcript)
    prompting = await prompting_of(workspace, model)
    imported = await import_or_continue(workspace, transcript, params.cwd, own)
    conversation = imported.conversation
    unread = tuple(line for line in transcript.skipped if not line.expected)
    return ImportResult(
        session=session_result(conversation, model, prompting),
        format=transcript.format,
        outcome=imported.outcome,
        messages=conversation.transcript.messages,
        added=imported.added,
        diverged_from=imported.diverged_from,
        unread=unread,
        passed_over=len(transcript.skipped) - len(unread),
    )


async def export_session(workspace: Workspace, params: ExportParams) -> ExportResult:
    return ExportResult(text=await export.export_session(workspace.open(params.session_id), params.format))


async def cancel(workspace: Workspace, params: SessionParams) -> Nothing:
    workspace.cancel(params.session_id)
    return Nothing()


def _read_transcript(params: ImportParams) -> ImportedTranscript:
    # The readers of all agents are a tenth of a server's start, which needs none of them.
    from ullage.agents.transcripts import read_document  # noqa: PLC0415
    from ullage.system.growing_files import read_transcript_file  # noqa: PLC0415

    if params.text is not None:
        document = parse_document(params.text.encode(errors="surrogatepass"), "text", params.run)
    elif params.path is None:
        raise InvalidRequest("session/import needs `path` or `text`")
    else:
        try:
            document = read_transcript_file(Path(params.path).expanduser(), params.run)
        except RuntimeError as error:
            # The path begins with `~` and an unknown user.
            raise InvalidRequest(f"cannot read {params.path!r}: {error}") from error
    return read_document(document, params.format)


def _listed(info: SessionInfo) -> ListedSession:
    meta = ListedSessionMeta(
        model=info.model, messages=info.messages, created_at=info.created_at, parent_id=info.parent_id
    )
    return ListedSession(
        session_id=info.session_id,
        cwd=info.cwd,
        title=info.title,
        updated_at=datetime.fromtimestamp(info.updated_at / 1000, UTC).isoformat(),
        meta=ListedSessionMetas(ullage=meta),
    )
