"""A running prompt turn."""

from msgspec import Struct

from ullage.model.updates import Update
from ullage.service.conversation.session import Session
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.models import Provider


class Turn(Struct, frozen=True, kw_only=True):
    """Where a turn runs, and who answers."""

    workspace: Workspace
    session_id: str
    provider: Provider

    @property
    def session(self) -> Session:
        """The session as it is now."""
        return self.workspace.session(self.session_id)

    @property
    def replays(self) -> bool:
        """Whether a recording answers, to which neither the context nor our tools mean anything."""
        return self.session_id in self.workspace.turns.replayed

    def tell(self, update: Update) -> None:
        """Tells every listener of the session."""
        self.workspace.emit(self.session_id, update)
