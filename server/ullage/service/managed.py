"""A workspace with automatic management."""

from ullage.model.settings import Settings
from ullage.service.compact.automatic import manage
from ullage.service.conversation.workspace import Workspace
from ullage.service.ports.ports import Ports


def managed_workspace(ports: Ports, settings: Settings | None = None) -> Workspace:
    """Returns a workspace that manages each conversation automatically after every change."""
    return Workspace(ports, settings, manage)
