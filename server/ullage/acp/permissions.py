"""Asks the client for permission; every ACP client can ask the person."""

from collections.abc import Callable

from ullage.acp.announce import with_whole_paths
from ullage.api.permissions import Ask, ClientPermissions
from ullage.model.permission import PermissionAnswer
from ullage.model.updates import ToolCall


class AcpPermissions(ClientPermissions):
    """The question with the paths as ACP wants them; `folder` gives a session's."""

    def __init__(self, ask: Ask, folder: Callable[[str], str]) -> None:
        super().__init__(ask, "")
        self._folder = folder

    async def ask(self, session_id: str, call: ToolCall) -> PermissionAnswer:
        return await super().ask(session_id, with_whole_paths(call, self._folder(session_id)))
