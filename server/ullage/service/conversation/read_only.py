"""Sessions that are followed: an agent has the conversation, so nothing can be changed in it here."""

from ullage.model.errors import SessionFollowed
from ullage.service.conversation.conversation import Conversation


def require_not_followed(conversation: Conversation) -> None:
    """Raises `SessionFollowed` if the conversation is followed, because its agent would not see a change made here."""
    followed = conversation.workspace.followed.get(conversation.id)
    if followed is not None:
        agent = followed.agent or "an agent"
        raise SessionFollowed(
            f"session {conversation.id} is a conversation of {agent}, which Ullage only reads; to make room, compact "
            f"it in {agent} itself, or fork the session and change the fork"
        )
