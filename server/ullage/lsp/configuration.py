"""Settings from the client: `initializationOptions`, `workspace/didChangeConfiguration`, `workspace/configuration`.

Invalid settings never stop the server. The settings in force are kept, and one message says what to change.
"""

import asyncio
from collections.abc import Callable
from typing import Any, cast

from lsprotocol import types
from msgspec import Struct

from ullage.api.client_input import read_settings
from ullage.jsonrpc.rpc_errors import BadReply
from ullage.lsp.connection import LspConnection
from ullage.lsp.handshake import Client
from ullage.model.errors import InvalidRequest, StoreError
from ullage.model.settings import Settings

SECTION = "ullage"
# Keys of an editor's `ullage` section that only the editor's plugin reads.
CLIENT_KEYS = frozenset({"client", "server", "trace"})
PULL_TIMEOUT = 10.0


class DidChangeConfigurationParams(Struct, frozen=True):
    """The params of `workspace/didChangeConfiguration`, with the settings as plain JSON values."""

    settings: Any = None


class Configuration:
    """Keeps the settings in force, in `settings`. Calls `keep` with what the client sends, `apply` with each new value,
    and `warn` with a line of text if the client sends invalid settings, or if `keep` raises `StoreError`."""

    def __init__(
        self,
        connection: LspConnection,
        apply: Callable[[Settings], object],
        warn: Callable[[str], object],
        keep: Callable[[Settings], object],
    ) -> None:
        self._connection = connection
        self._apply = apply
        self._warn = warn
        self._keep = keep
        self._warned = ""
        self._client = Client()
        self.settings = Settings()

    def start(self, client: Client) -> None:
        """Applies the settings in the client's `initializationOptions`. Called after `initialize` is answered."""
        self._client = client
        self._take(client.options)

    async def subscribe(self, _: Any) -> None:
        """Serves `initialized`: registers for changes of the settings, and requests the settings. Each happens only if
        the client declared that it can do that."""
        if self._client.registers_configuration:
            self._connection.spawn(self._register())
        if self._client.answers_configuration:
            await self._pull()

    async def change(self, params: DidChangeConfigurationParams) -> None:
        """Serves `workspace/didChangeConfiguration`: applies the settings in the params.

        If the params contain no settings, requests them by `workspace/configuration` if the client answers that.
        """
        if _section(params.settings) is not None or not self._client.answers_configuration:
            self._take(params.settings)
        else:
            await self._pull()

    async def _pull(self) -> None:
        params = types.ConfigurationParams(items=[types.ConfigurationItem(section=SECTION)])
        request = self._connection.ask(types.WORKSPACE_CONFIGURATION, params, list[Any])
        try:
            async with asyncio.timeout(PULL_TIMEOUT):
                answer = await request
        except (BadReply, TimeoutError):
            return
        if answer:
            self._take(answer[0])

    async def _register(self) -> None:
        method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
        registration = types.Registration(id=method, method=method)
        params = types.RegistrationParams(registrations=[registration])
        try:
            await self._connection.ask(types.CLIENT_REGISTER_CAPABILITY, params, object)
        except BadReply:
            return

    def _take(self, options: Any) -> None:
        section = _section(options)
        if section is None:
            return
        try:
            settings = read_settings(section)
        except InvalidRequest as error:
            # Editors send the same settings several times; one message is enough.
            if str(error) != self._warned:
                self._warned = str(error)
                self._warn(f"Ullage keeps its settings as they were: {error}")
            return
        self._warned = ""
        try:
            self._keep(settings)
        except StoreError as error:
            self._warn(str(error))
        if settings != self.settings:
            self.settings = settings
            self._apply(settings)


def _section(options: Any) -> Any:
    """Returns the `ullage` section of the options, without the keys that only the editor's plugin reads
    (`CLIENT_KEYS`).

    The section may be in `{"settings": {"ullage": …}}` or `{"ullage": …}`, or be the options themselves. Returns None
    if the section is missing, null or an empty list, and returns a section that is not an object unchanged.
    """
    for key in ("settings", SECTION):
        if isinstance(options, dict) and key in options:
            options = cast("dict[str, Any]", options)[key]
    if options is None or options == []:
        return None
    if not isinstance(options, dict):
        return options
    return {key: value for key, value in cast("dict[str, Any]", options).items() if key not in CLIENT_KEYS}
