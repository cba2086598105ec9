"""The table of our own methods. Each door adds its prefix: `ullage/` for LSP, `_ullage/` for ACP."""

from ullage.api import context_methods as context
from ullage.api import session_methods as session
from ullage.api.table import AnyMethod, Method
from ullage.api.values import SessionResult, UsageResult

METHODS: tuple[AnyMethod, ...] = (
    Method(
        name="session/new",
        params=session.NewSessionParams,
        result=SessionResult,
        handler=session.new_session,
        doc="Starts a session.",
    ),
    Method(
        name="session/load",
        params=session.SessionParams,
        result=SessionResult,
        handler=session.load_session,
        doc="Opens a stored session.",
    ),
    Method(
        name="session/list",
        params=session.ListSessionsParams,
        result=session.ListSessionsResult,
        handler=session.list_sessions,
        doc="Lists stored sessions, last changed first.",
    ),
    Method(
        name="session/fork",
        params=session.ForkSessionParams,
        result=SessionResult,
        handler=session.fork_session,
        doc="Starts a session that shares another's past.",
    ),
    Method(
        name="session/close",
        params=session.SessionParams,
        result=session.Nothing,
        handler=session.close_session,
        doc="Stops work on a session and frees its memory.",
    ),
    Method(
        name="session/delete",
        params=session.SessionParams,
        result=session.Nothing,
        handler=session.delete_session,
        doc="Takes a session off the list.",
    ),
    Method(
        name="session/prompt",
        params=session.PromptParams,
        result=session.Nothing,
        handler=session.prompt,
        doc="Asks the model. Without one, says so.",
    ),
    Method(
        name="session/append",
        params=session.AppendParams,
        result=session.AppendResult,
        handler=session.append,
        doc="Hands in messages and the provider's usage, for a client that runs its own model.",
    ),
    Method(
        name="session/import",
        params=session.ImportParams,
        result=session.ImportResult,
        handler=session.import_session,
        doc="Reads another program's transcript into a new session.",
    ),
    Method(
        name="session/export",
        params=session.ExportParams,
        result=session.ExportResult,
        handler=session.export_session,
        doc="Gives a session as text.",
    ),
    Method(
        name="session/cancel",
        params=session.SessionParams,
        result=None,
        handler=session.cancel,
        doc="Stops what is running in a session. A notification.",
    ),
    Method(
        name="context/get",
        params=session.SessionParams,
        result=UsageResult,
        handler=context.get,
        doc="Says how full the context is.",
    ),
    Method(
        name="context/messages",
        params=context.MessagesParams,
        result=context.MessagesResult,
        handler=context.messages,
        doc="Lists what the model would be sent, or everything ever.",
    ),
    Method(
        name="context/compact",
        params=context.CompactParams,
        result=context.CompactResult,
        handler=context.compact,
        doc="Compacts the context now, or previews it.",
    ),
    Method(
        name="context/commit",
        params=context.CommitParams,
        result=context.CompactResult,
        handler=context.commit,
        doc="Applies a preview.",
    ),
    Method(
        name="context/undo",
        params=context.UndoParams,
        result=context.RevertResult,
        handler=context.undo,
        doc="Takes an edit back.",
    ),
    Method(
        name="context/restore",
        params=context.RestoreParams,
        result=context.RevertResult,
        handler=context.restore,
        doc="Takes back every edit after a checkpoint.",
    ),
    Method(
        name="context/pin",
        params=context.PinParams,
        result=context.PinResult,
        handler=context.pin,
        doc="Keeps a message verbatim through every edit.",
    ),
    Method(
        name="context/search",
        params=context.SearchParams,
        result=context.SearchResult,
        handler=context.search,
        doc="Searches everything ever said, archived or not.",
    ),
    Method(
        name="context/history",
        params=session.SessionParams,
        result=context.HistoryResult,
        handler=context.history,
        doc="Lists every edit ever made.",
    ),
)
