"""What a tool needs in addition to its arguments."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    # Imports much that the answer to `initialize` does not need.
    from ullage.service.conversation.conversation import Conversation


class Asked(Protocol):
    """The model's own conversation, and the others of its project.

    `own` is up to date. `folder` is the folder that the agent works in.
    """

    @property
    def own(self) -> "Conversation": ...

    @property
    def folder(self) -> str: ...

    def open(self, session_id: str) -> "Conversation":
        """Returns a stored session. Raises `SessionNotFound`."""
        ...
