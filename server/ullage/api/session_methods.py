"""The methods `session/*`: params, results and handlers."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from ullage.api.client_input import MessageInput, read_prompt, require_shallow
from ullage.api.values import SessionResult, UsageResult, prompting_of, session_result, usage_result
from ullage.formats.parsing import Document, parse_document
from ullage.formats.provider_usage import convert_usage
from ullage.formats.transcripts.builder import ImportedTranscript, SkippedLine
from ullage.model.answer import TurnEnd
from ullage.model.errors import InvalidRequest
from ullage.model.events import ModelChanged, SessionCreated, ToolsDeclared
from ullage.model.message import ToolDefinition
from ullage.model.settings import ContextSettings
from ullage.service import sessions
from ullage.service.archive import export
from ullage.service.conversation.workspace import Workspace
from ullage.service.follow.sub_agents import list_main
from ullage.service.imports import ImportOutcome, import_or_continue, last_model
from ullage.service.ports.store import SessionInfo
from ullage.service.turns import run as turns

_PAGE = 100
OwnContextSettings = Annotated[
    dict[str, Any],
    Meta(description="Fields of `ContextSettings` that differ from the workspace's; forks inherit them."),
]


class NewSessionParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Starts a session, with the settings and tools that are given. All fields are optional."""

    cwd: str = ""
    model: str = ""
    title: str = ""
    system: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    context: OwnContextSettings = {}


class ConfigureSessionParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Replaces the session's own context settings. An empty `context` returns the session to the workspace's
    settings."""

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
    field names. If `model` or `tools` are given, they replace the session's."""

    session_id: str
    messages: tuple[MessageInput, ...] = ()
    usage: dict[str, Any] | None = None
    model: str | None = None
    tools: tuple[ToolDefinition, ...] | None = None


class AppendResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """The ids of the appended messages, also those that the server made, and how full the context is now."""

    message_ids: tuple[str, ...]
    usage: UsageResult


class ImportParams(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Imports a transcript from the file `path` or from `text`. `format` is needed if the format cannot be detected.
    `run` chooses one conversation, counted from 1, if the file holds several. `cwd` is the session's folder if the
    transcript names none."""

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
    require_shallow("tools", [part for tool in params.tools for part in tool.nested])
    created = SessionCreated(cwd=params.cwd, model=params.model, title=params.title)
    prompting = await prompting_of(workspace, params.model)
    conversation = sessions.new_session(workspace, created, params.system, params.tools, params.context)
    return session_result(conversation, params.model, prompting)


async def configure_session(workspace: Workspace, params: ConfigureSessionParams) -> ConfigureSessionResult:
    conversation = workspace.open(params.session_id)
    sessions.configure_session(conversation, params.context)
    return ConfigureSessionResult(context=conversation.settings, usage=usage_result(conversation))


async def load_session(workspace: Workspace, params: SessionParams) -> SessionResult:
    conversation = sessions.load_session(workspace, params.session_id)
    return session_result(conversation, conversation.model, await prompting_of(workspace, conversation.model))


async def list_sessions(workspace: Workspace, params: ListSessionsParams) -> ListSessionsResult:
    offset = _offset(params.cursor)
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
    require_shallow("tools", [part for tool in params.tools or () for part in tool.nested])
    changes = [] if params.model is None else [ModelChanged(model=params.model)]
    changes += [] if params.tools is None else [ToolsDeclared(tools=params.tools)]
    messages = tuple(given.to_message(workspace.ports, f"messages[{at}]") for at, given in enumerate(params.messages))
    usage = convert_usage(params.usage) if params.usage is not None else None
    made = {message.id for given, message in zip(params.messages, messages, strict=True) if not given.id}
    message_ids = await sessions.append(conversation, messages, usage, made, changes)
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

    return read_document(_import_document(params), params.format)


def _import_document(params: ImportParams) -> Document:
    from ullage.system.transcript_files import read_transcript_file  # noqa: PLC0415

    if params.text is not None:
        return parse_document(params.text.encode(errors="surrogatepass"), "text", params.run)
    if params.path is None:
        raise InvalidRequest("session/import needs `path` or `text`")
    try:
        return read_transcript_file(Path(params.path).expanduser(), params.run)
    except RuntimeError as error:
        # The path begins with `~` and an unknown user.
        raise InvalidRequest(f"cannot read {params.path!r}: {error}") from error


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


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isdecimal():
        raise InvalidRequest(f"cursor {cursor!r} is not one that session/list gave")
    return int(cursor)
