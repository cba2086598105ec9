"""The table of Ullage's own methods. Each door adds its prefix: `ullage/` for LSP, `_ullage/` for ACP."""

from collections.abc import Mapping

from msgspec import Struct

from ullage.api import agent_methods as agents
from ullage.api import client_requests as models
from ullage.api import context_methods as context
from ullage.api import session_methods as session
from ullage.api.context_methods import prompt
from ullage.api.wire import UPDATE, AnyMethod, SessionNotification, served

METHODS: tuple[AnyMethod, ...] = (
    served("session/new", session.new_session, "Starts a session."),
    served("session/configure", session.configure_session, "Sets the session's own context settings."),
    served("session/load", session.load_session, "Opens a stored session."),
    served("session/list", session.list_sessions, "Lists stored sessions, last changed first."),
    served("session/fork", session.fork_session, "Starts a session that shares another's past."),
    served("session/close", session.close_session, "Stops work on a session and frees its memory."),
    served("session/rename", session.rename_session, "Gives a session another title."),
    served(
        "session/delete",
        session.delete_session,
        "Deletes a session, with all that is kept of its conversation: words, archived files, the row. An agent's own "
        "file stays, and is read again only if the agent continues it.",
    ),
    served("session/prompt", prompt, "Asks the model, and answers when its turn is over."),
    served(
        "session/append",
        session.append,
        "Appends messages and the provider's usage, for a client that runs its own model.",
    ),
    served("session/import", session.import_session, "Reads another program's transcript into a new session."),
    served("session/export", session.export_session, "Returns a session as text."),
    served("session/cancel", session.cancel, "Cancels the work that runs in a session.", notification=True),
    served("models/offer", models.offer, "Says which models the client can ask for the server.", notification=True),
    served(
        "models/piece",
        models.take_piece,
        "Sends the next piece of an answer that the server asked for.",
        notification=True,
    ),
    served(
        "transcripts/list", agents.list_transcripts, "Lists the conversations that coding agents keep on this machine."
    ),
    served("following/start", agents.start_following, "Starts following the conversations of agents on this machine."),
    served("following/stop", agents.stop_following, "Stops following."),
    served("following/list", agents.list_followed, "Lists the followed conversations, the last changed first."),
    served("agents/wire", agents.wire, "Adds Ullage's hooks and MCP server to agents' settings, or previews it."),
    served(
        "agents/unwire", agents.unwire, "Takes Ullage's hooks and MCP server out of agents' settings, or previews it."
    ),
    served(
        "continuing/choices",
        agents.continuing_choices,
        "Returns how a conversation can be continued as a new session of an agent.",
    ),
    served("continuing/preview", agents.preview_continuing, "Previews a new session that an agent resumes."),
    served("continuing/write", agents.write_continuing, "Writes the new session of a preview."),
    served("context/get", context.get, "Returns how full the context is."),
    served("context/messages", context.messages, "Lists the messages of the context, or of the whole transcript."),
    served("context/compact", context.compact, "Compacts the context now, or previews it."),
    served("context/commit", context.commit, "Applies a preview."),
    served("context/undo", context.undo, "Undoes an edit."),
    served(
        "context/restore", context.restore, "Goes back to a checkpoint: makes the edits in force what they were there."
    ),
    served("context/pin", context.pin, "Keeps a message verbatim through every edit."),
    served("context/search", context.search, "Searches every message, archived or not."),
    served("context/history", context.list_edits, "Lists every edit ever made."),
    served("context/lookUp", context.look_up, "Has a tool search or read a conversation."),
    served("context/lost", context.lost, "Lists what a compaction left out."),
    served("context/givenBack", context.given_back, "Lists what hooks gave back to the agent of a conversation."),
    served("team/search", agents.search_team, "Searches what a team's members share with each other."),
    served("team/open", agents.open_team_message, "Reads a whole message of what a team's members share."),
)
# The notifications that the server sends, and the types of their params.
NOTIFICATIONS: Mapping[str, type[Struct]] = {
    UPDATE: SessionNotification,
    agents.FOLLOWING_CHANGED: agents.FollowingChange,
}
