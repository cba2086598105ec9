"""A workspace whose conversations are managed automatically."""

from ullage.model.settings import Settings
from ullage.service.compact.automatic import manage
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.ports import Ports


def managed_workspace(ports: Ports, settings: Settings | None = None) -> Workspace:
    """A workspace that looks after every conversation when it has changed."""
    return Workspace(ports, settings, manage)
