"""The committed examples in `protocol/examples/`: where they are, and the struct of each."""

from pathlib import Path
from typing import Any

from ullage.api.methods import METHODS, NOTIFICATIONS
from ullage.api.protocol import CLIENT_METHODS, ClientAbilities, SessionNotification
from ullage.jsonrpc.envelope import ErrorObject
from ullage.model.settings import Settings

EXAMPLES = Path(__file__).resolve().parents[2] / "protocol" / "examples"


def type_of(name: str) -> Any:
    """Returns the struct of the example with this name."""
    first, last = name.split(".", maxsplit=1)[0], name.rsplit(".", maxsplit=1)[-1]
    single: dict[str, Any] = {
        "update": SessionNotification,
        "error": ErrorObject,
        "settings": Settings,
        "client": ClientAbilities,
    }
    if first in single:
        return single[first]
    if name.removesuffix(".params").replace(".", "/") in NOTIFICATIONS:
        return NOTIFICATIONS[name.removesuffix(".params").replace(".", "/")]
    method = next(
        method for method in (*METHODS, *CLIENT_METHODS) if name.startswith(f"{method.name.replace('/', '.')}.")
    )
    return {"params": method.params, "result": method.result}[last]
