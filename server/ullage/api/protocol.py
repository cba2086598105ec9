"""The shapes of the messages on the wire: methods, requests to the client, and the one notification of our own.

`methods.py` holds the table of methods. The doors add their prefix to each `name` and serve it.

This module also holds the error codes (`CODES`). `data.kind` of an error is the name of its class, and the message is
the error's text.

Our own codes are positive, because JSON-RPC reserves -32768 to -32000 and the Language Server Protocol -32899 to
-32800 (-32002 is its `ServerNotInitialized`). The others are those protocols' own, with their own meaning. The Agent
Client Protocol has a code of its own for what is not found: `acp_error_object`.

It ends with values that several methods take or return, and a session's figures as text.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from inspect import get_annotations
from typing import Any, Generic, TypeVar

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from ullage.jsonrpc.envelope import INVALID_PARAMS, REQUEST_CANCELLED, RESOURCE_NOT_FOUND, ErrorData, ErrorObject
from ullage.model import errors, words
from ullage.model.answer import CompleteParams, CompleteResult, CountParams, CountResult
from ullage.model.errors import NoModelConfigured, SdkMissing
from ullage.model.updates import Cost, Meta, RequestPermissionParams, RequestPermissionResult, Update, UsageMeta
from ullage.model.usage import Breakdown
from ullage.service.conversation.conversation import Conversation
from ullage.service.conversation.environment import Environment
from ullage.service.conversation.usage import conversation_cost, shown_figures
from ullage.service.conversation.workspace import Workspace

P = TypeVar("P")
R = TypeVar("R")
UPDATE = "session/update"


class Method(Struct, Generic[P, R], frozen=True, kw_only=True):
    """One method of Ullage's own: `name` without a door's prefix (`session/append`), and the types of its params and
    result.

    The handler gets decoded params. It returns a value of the result type or raises an `UllageError`. It may be
    cancelled as any coroutine. A `notification` has no id and gets no answer.
    """

    name: str
    params: type[P]
    result: type[R]
    handler: Callable[[Workspace, P], Awaitable[R]]
    doc: str = ""
    notification: bool = False


AnyMethod = Method[Any, Any]


def served(
    name: str, handler: Callable[[Workspace, P], Awaitable[R]], doc: str, *, notification: bool = False
) -> Method[P, R]:
    """Returns the method that a handler serves, with the types of params and result that it is annotated with."""
    _, params, result = get_annotations(handler).values()
    return Method(name=name, params=params, result=result, handler=handler, doc=doc, notification=notification)


class ClientMethod(Struct, frozen=True, kw_only=True):
    """A request that the server sends to a client: `name` without the door's prefix, and the types of its params and of
    the client's result."""

    name: str
    params: type[Struct]
    result: type[Struct]
    doc: str


REQUEST_PERMISSION = ClientMethod(
    name="session/request_permission",
    params=RequestPermissionParams,
    result=RequestPermissionResult,
    doc="Asks the user whether a tool call may be made.",
)
COMPLETE = ClientMethod(
    name="models/complete",
    params=CompleteParams,
    result=CompleteResult,
    doc="Asks one of the models that the client offers.",
)
COUNT = ClientMethod(
    name="models/count",
    params=CountParams,
    result=CountResult,
    doc="Asks for one of the offered models' own count of a prompt.",
)
CLIENT_METHODS = (REQUEST_PERMISSION, COMPLETE, COUNT)


class ClientAbilities(Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a client can do, as it declares in `capabilities.experimental.ullage` or in `initializationOptions.client`.

    `permissions`: it asks the user before a tool is used. `models`: it can ask models for the server, and says in
    `models/offer` which. `folderTrusted` false: the user has not said that the open
    folder may decide anything, so a project's own instructions for summaries are not read.
    """

    permissions: bool = False
    models: bool = False
    folder_trusted: bool = True


class SessionNotification(Struct, frozen=True, kw_only=True, rename="camel"):
    """The params of `session/update`, which is ACP's `SessionNotification`."""

    session_id: str
    update: Update


CODES: dict[type[errors.UllageError], int] = {
    errors.UllageError: 1000,
    errors.InputError: INVALID_PARAMS,
    errors.UnknownFormat: INVALID_PARAMS,
    errors.UnreadableTranscript: INVALID_PARAMS,
    errors.InvalidRequest: INVALID_PARAMS,
    errors.NotFound: 1500,
    errors.SessionNotFound: 1501,
    errors.MessageNotFound: 1502,
    errors.EditNotFound: 1503,
    errors.Conflict: 1100,
    errors.ConcurrentAppend: 1101,
    errors.SessionBusy: 1102,
    errors.NothingToCompact: 1103,
    errors.NothingToUndo: 1104,
    errors.PreviewExpired: 1105,
    errors.CompactionVetoed: 1106,
    errors.SessionFollowed: 1107,
    errors.StoreError: 1200,
    errors.StoreTooNew: 1201,
    errors.StoreUnavailable: 1202,
    errors.ContextError: 1300,
    errors.WindowUnknown: 1301,
    errors.CannotFit: 1302,
    errors.ProviderError: 1400,
    errors.NoModelConfigured: 1401,
    errors.ProviderUnavailable: 1402,
    errors.RateLimited: 1403,
    errors.AuthenticationFailed: 1404,
    errors.ContextTooLong: 1405,
    errors.RequestRefused: 1406,
    errors.AnswerBroken: 1407,
    errors.AgentError: 1408,
    errors.SdkMissing: 1409,
    errors.Cancelled: REQUEST_CANCELLED,
}


def code_of(error: errors.UllageError) -> int:
    """Returns the error code of an error: its class's, or that of the nearest base class with one."""
    return next(CODES[kind] for kind in type(error).__mro__ if kind in CODES)


def error_object(error: errors.UllageError) -> ErrorObject:
    """Returns an `UllageError` as JSON-RPC's error object, with its code, its text and the name of its class."""
    return ErrorObject(code=code_of(error), message=str(error), data=ErrorData(kind=type(error).__name__))


def acp_error_object(error: errors.UllageError) -> ErrorObject:
    """Returns an error as the ACP door and the proxy send it: what is not found has the code -32002 that ACP defines
    for it, and everything else the code of `error_object`."""
    made = error_object(error)
    return replace(made, code=RESOURCE_NOT_FOUND) if isinstance(error, errors.NotFound) else made


class UsageResult(Struct, frozen=True, kw_only=True):
    """How full a context is. `used`: tokens in the context. `size`: the window in tokens, null while it is unknown.
    `cost`: what the session has cost, missing if the price of any request is unknown. `_meta.ullage`: all other
    figures."""

    used: int
    size: int | None
    cost: Cost | UnsetType = UNSET
    meta: Meta[UsageMeta] = field(name="_meta")


class Prompting(Struct, frozen=True, kw_only=True, rename="camel"):
    """Whether the session's prompts would be answered. `provider` is the name of the provider that would answer,
    null if there is none. `remedy` then says what the user can do, and `lacks_package` whether a Python package is all
    that is missing."""

    provider: str | None
    remedy: str = ""
    lacks_package: bool = False


class SessionResult(Struct, frozen=True, kw_only=True, rename="camel"):
    """A session with its title and folder, how full its context is, and whether its prompts would be answered."""

    session_id: str
    title: str
    cwd: str
    usage: UsageResult
    prompting: Prompting


def usage_result(conversation: Conversation) -> UsageResult:
    """Returns the present figures of the session's context."""
    used, figures = shown_figures(conversation)
    return UsageResult(
        used=used,
        size=figures.window.size if figures.window else None,
        cost=conversation_cost(conversation),
        meta=Meta(ullage=figures),
    )


async def prompting_of(workspace: Environment, model: str) -> Prompting:
    """Returns whether prompts of a session with this model, or with the settings' model if that is empty, would be
    answered. Takes long, so it comes before a session is made: a request that is cancelled meanwhile makes none."""
    return await asyncio.to_thread(_prompting, workspace, model or workspace.settings.model)


def session_result(conversation: Conversation, model: str, prompting: Prompting) -> SessionResult:
    """Returns the session with its present figures. `prompting` belongs to `model`; it is found out again, which
    blocks, in the rare case that the session has another model."""
    usage, transcript, workspace = usage_result(conversation), conversation.transcript, conversation.workspace
    if conversation.model != (model or workspace.settings.model):
        prompting = _prompting(workspace, conversation.model)
    return SessionResult(
        session_id=conversation.id, title=transcript.title, cwd=transcript.cwd, usage=usage, prompting=prompting
    )


def _prompting(workspace: Environment, model: str) -> Prompting:
    try:
        return Prompting(provider=workspace.ports.providers.name(model, workspace.settings))
    except (NoModelConfigured, SdkMissing) as error:
        return Prompting(provider=None, remedy=str(error), lacks_package=isinstance(error, SdkMissing))


def context_text(usage: UsageResult) -> str:
    """Returns a session's usage as Markdown: a headline, the parts in tokens, the numbers of messages and compactions,
    and the thresholds if they are known."""
    meta = usage.meta.ullage
    parts = [*_parts(meta.breakdown, meta.hidden.name)]
    lines = [
        f"**{words.context_line(usage.used, usage.size, meta.source)}**",
        "",
        *([*parts, ""] if parts else ()),
        f"{meta.messages_active:,} messages in the context, {meta.messages_archived:,} archived, "
        f"{meta.compactions:,} compactions.",
    ]
    if meta.warn_at is not None and meta.compact_at is not None:
        lines.append(f"Warns at {words.short(meta.warn_at)}, compacts at {words.short(meta.compact_at)}.")
    return "\n".join(lines)


def _parts(breakdown: Breakdown, hidden: str) -> Iterator[str]:
    figures = {
        "System prompt": breakdown.system_prompt,
        "Tools": breakdown.tools,
        "Memory": breakdown.memory,
        "Messages": breakdown.messages,
        "Tool results": breakdown.tool_results,
        "Summary": breakdown.summary,
        f"Overhead ({hidden})": breakdown.overhead,
    }
    yield from (f"- {name}: {tokens:,}" for name, tokens in figures.items() if tokens)
