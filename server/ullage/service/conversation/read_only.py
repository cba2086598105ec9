"""Conversations that an agent keeps: its own file holds them, and Ullage only reads them.

A session is an agent's if it is followed now, or if it was read from the agent's own file and that file is still there:
the agent would not see an edit made here, and every figure of the conversation would be another one than the agent's.
A fork is the user's own. So is a copy that was imported from any other file, or by its text, and one whose agent has
deleted the file.
"""

from ullage.model.errors import SessionFollowed
from ullage.model.updates import FollowedFrom
from ullage.service.conversation.conversation import Conversation

# Characters of a title that an error shows.
_TITLE = 60


def kept_by_agent(conversation: Conversation) -> FollowedFrom | None:
    """Returns the agent that keeps the conversation, and its file. Returns None if no agent on this machine does."""
    workspace, origin = conversation.workspace, conversation.transcript.origin
    followed = workspace.followed.get(conversation.id)
    if followed is not None or origin is None or not workspace.own_files.has(origin.path):
        return followed
    return FollowedFrom(agent=conversation.rules.agent, path=origin.path)


def require_not_kept(conversation: Conversation) -> None:
    """Raises `SessionFollowed` if an agent keeps the conversation, because it would not see a change made here."""
    kept = kept_by_agent(conversation)
    if kept is None:
        return
    agent, title = kept.agent or "an agent", conversation.transcript.title[:_TITLE]
    named = f"“{title}” (session {conversation.id})" if title else f"session {conversation.id}"
    raise SessionFollowed(
        f"{named} is a conversation of {agent}, which Ullage only reads: compact it there, or write another one from "
        f"it by `ullage continue {conversation.id}` (with `--before-compaction` or `--compacted`), or fork the session "
        f"and change the fork"
    )
