"""The table of Ullage's own methods. Each door adds its prefix: `ullage/` for LSP, `_ullage/` for ACP."""

from collections.abc import Mapping

from msgspec import Struct

from ullage.api import agent_methods as agents
from ullage.api import client_requests as models
from ullage.api import context_methods as context
from ullage.api import session_methods as session
from ullage.api import team_methods as team
from ullage.api.prompt_commands import prompt
from ullage.api.values import SessionResult, UsageResult
from ullage.api.wire import UPDATE, AnyMethod, Method, SessionNotification

METHODS: tuple[AnyMethod, ...] = (
    Method(
        name="session/new",
        params=session.NewSessionParams,
        result=SessionResult,
        handler=session.new_session,
        doc="Starts a session.",
    ),
    Method(
        name="session/configure",
        params=session.ConfigureSessionParams,
        result=session.ConfigureSessionResult,
        handler=session.configure_session,
        doc="Sets the session's own context settings.",
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
        name="session/rename",
        params=session.RenameSessionParams,
        result=session.Nothing,
        handler=session.rename_session,
        doc="Gives a session another title.",
    ),
    Method(
        name="session/delete",
        params=session.SessionParams,
        result=session.Nothing,
        handler=session.delete_session,
        doc="Deletes a session: removes it from the list.",
    ),
    Method(
        name="session/prompt",
        params=session.PromptParams,
        result=session.PromptResult,
        handler=prompt,
        doc="Asks the model, and answers when its turn is over.",
    ),
    Method(
        name="session/append",
        params=session.AppendParams,
        result=session.AppendResult,
        handler=session.append,
        doc="Appends messages and the provider's usage, for a client that runs its own model.",
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
        doc="Returns a session as text.",
    ),
    Method(
        name="session/cancel",
        params=session.SessionParams,
        result=session.Nothing,
        handler=session.cancel,
        doc="Cancels the work that runs in a session.",
        notification=True,
    ),
    Method(
        name="models/offer",
        params=models.OfferedModels,
        result=session.Nothing,
        handler=models.offer,
        doc="Says which models the client can ask for the server.",
        notification=True,
    ),
    Method(
        name="models/piece",
        params=models.ModelPiece,
        result=session.Nothing,
        handler=models.take_piece,
        doc="Sends the next piece of an answer that the server asked for.",
        notification=True,
    ),
    Method(
        name="transcripts/list",
        params=agents.ListTranscriptsParams,
        result=agents.ListTranscriptsResult,
        handler=agents.list_transcripts,
        doc="Lists the conversations that coding agents keep on this machine.",
    ),
    Method(
        name="following/start",
        params=agents.StartFollowingParams,
        result=agents.FollowingResult,
        handler=agents.start_following,
        doc="Starts following the conversations of agents on this machine.",
    ),
    Method(
        name="following/stop",
        params=agents.FollowingParams,
        result=agents.FollowingResult,
        handler=agents.stop_following,
        doc="Stops following.",
    ),
    Method(
        name="following/list",
        params=agents.FollowingParams,
        result=agents.FollowingResult,
        handler=agents.list_followed,
        doc="Lists the followed conversations, the last changed first.",
    ),
    Method(
        name="agents/wire",
        params=agents.WireParams,
        result=agents.WiringResult,
        handler=agents.wire,
        doc="Adds Ullage's hooks and MCP server to agents' settings, or previews it.",
    ),
    Method(
        name="agents/unwire",
        params=agents.UnwireParams,
        result=agents.WiringResult,
        handler=agents.unwire,
        doc="Takes Ullage's hooks and MCP server out of agents' settings, or previews it.",
    ),
    Method(
        name="continuing/choices",
        params=session.SessionParams,
        result=agents.ContinuingChoicesResult,
        handler=agents.continuing_choices,
        doc="Returns how a conversation can be continued as a new session of an agent.",
    ),
    Method(
        name="continuing/preview",
        params=agents.ContinuingPreviewParams,
        result=agents.ContinuingResult,
        handler=agents.preview_continuing,
        doc="Previews a new session that an agent resumes.",
    ),
    Method(
        name="continuing/write",
        params=agents.WriteContinuingParams,
        result=agents.ContinuingResult,
        handler=agents.write_continuing,
        doc="Writes the new session of a preview.",
    ),
    Method(
        name="context/get",
        params=session.SessionParams,
        result=UsageResult,
        handler=context.get,
        doc="Returns how full the context is.",
    ),
    Method(
        name="context/messages",
        params=context.MessagesParams,
        result=context.MessagesResult,
        handler=context.messages,
        doc="Lists the messages of the context, or of the whole transcript.",
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
        doc="Undoes an edit.",
    ),
    Method(
        name="context/restore",
        params=context.RestoreParams,
        result=context.RevertResult,
        handler=context.restore,
        doc="Goes back to a checkpoint: makes the edits in force what they were there.",
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
        doc="Searches every message, archived or not.",
    ),
    Method(
        name="context/history",
        params=session.SessionParams,
        result=context.HistoryResult,
        handler=context.list_edits,
        doc="Lists every edit ever made.",
    ),
    Method(
        name="context/lookUp",
        params=context.LookUpParams,
        result=context.LookUpResult,
        handler=context.look_up,
        doc="Has a tool search or read a conversation.",
    ),
    Method(
        name="context/lost",
        params=context.LostParams,
        result=context.LostResult,
        handler=context.lost,
        doc="Lists what a compaction left out.",
    ),
    Method(
        name="context/givenBack",
        params=session.SessionParams,
        result=context.GivenBackResult,
        handler=context.given_back,
        doc="Lists what hooks gave back to the agent of a conversation.",
    ),
    Method(
        name="team/search",
        params=team.TeamSearchParams,
        result=team.TeamSearchResult,
        handler=team.search,
        doc="Searches what a team's members share with each other.",
    ),
    Method(
        name="team/open",
        params=team.TeamOpenParams,
        result=team.TeamOpenResult,
        handler=team.open_message,
        doc="Reads a whole message of what a team's members share.",
    ),
)
# The notifications that the server sends, and the types of their params.
NOTIFICATIONS: Mapping[str, type[Struct]] = {
    UPDATE: SessionNotification,
    agents.FOLLOWING_CHANGED: agents.FollowingChange,
}
