"""What a client can do, read once from its `initialize`."""

from typing import Any, cast

from lsprotocol import types
from msgspec import Struct


class Client(Struct, frozen=True, kw_only=True):
    """`takes_updates`: it understands `ullage/session/update`; a plain client gets messages and progress instead.

    `shows_progress`: the server may create progress tokens. `answers_configuration`: settings may be asked for.
    `registers_configuration`: it wants to be told that changes of settings matter. `options` are its
    `initializationOptions`. `asks_permission`: it asks the person before a tool is used.
    """

    takes_updates: bool = False
    shows_progress: bool = False
    answers_configuration: bool = False
    registers_configuration: bool = False
    asks_permission: bool = False
    options: Any = None


def read_client(params: types.InitializeParams) -> Client:
    """The client behind an `initialize`; what it does not say, it cannot do."""
    window = params.capabilities.window
    workspace = params.capabilities.workspace
    change = workspace.did_change_configuration if workspace else None
    options: Any = params.initialization_options
    return Client(
        takes_updates=_has(params.capabilities.experimental, "ullage") or _has(options, "client"),
        shows_progress=bool(window and window.work_done_progress),
        answers_configuration=bool(workspace and workspace.configuration),
        registers_configuration=bool(change and change.dynamic_registration),
        asks_permission=_has(_of(params.capabilities.experimental, "ullage"), "permissions")
        or _has(_of(options, "client"), "permissions"),
        options=options,
    )


def _has(value: Any, key: str) -> bool:
    return bool(_of(value, key))


def _of(value: Any, key: str) -> Any:
    return cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
