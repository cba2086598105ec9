"""The output of commands that a tool call shows as a terminal instead of as its content. Pure."""

from collections.abc import Mapping
from typing import Any

from ullage.model.json_values import as_object, as_text

# Where agents put the next piece of a command's output for a client that has said, in `_meta` of its capabilities, that
# it draws terminals itself.
_OUTPUTS = ("terminal_output", "terminal_output_delta")


class Terminals:
    """The output of each terminal of a turn, by the terminal's id.

    Either the agent runs the command and sends the output in `_meta` of the tool call's updates, or the client runs it
    and answers the agent's `terminal/output`.
    """

    def __init__(self) -> None:
        self._pieces: dict[str, list[str]] = {}

    def take(self, update: Mapping[str, Any]) -> None:
        """Adds the output in `_meta` of a tool call's update. Ignores an update without any."""
        meta = as_object(update.get("_meta"))
        for name in _OUTPUTS:
            piece = as_object(meta.get(name))
            if data := as_text(piece.get("data")):
                self._pieces.setdefault(as_text(piece.get("terminal_id")), []).append(data)

    def show(self, terminal_id: str, output: str) -> None:
        """Stores what a terminal of the client's shows now, in place of what it showed before."""
        self._pieces[terminal_id] = [output]

    def text(self, terminal_id: str) -> str:
        """Returns the output of a terminal so far, "" if there is none or if the terminal is not known."""
        return "".join(self._pieces.get(terminal_id, ()))

    def clear(self) -> None:
        """Drops all output."""
        self._pieces.clear()
