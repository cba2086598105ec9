"""Which conversation a line shows that no agent has asked for: that of a terminal's processes, or of a folder."""

import os
import time

from ullage.cli.statusline.files import read_live, read_told
from ullage.cli.statusline.line_figure import Figure, figure_of_agent, figure_of_row, row_of_session
from ullage.system.process_tree import ancestors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Seconds after which what an agent has said is not shown, if no process follows the conversation.
_RECENT = 900


def choose(store: str, cwd: str, process_id: int | None) -> Figure | None:
    """Returns the figure of the conversation whose agent runs under the process `process_id`, such as a terminal's
    shell, or else of the live conversation of the folder `cwd` that changed last. Returns None if there is none."""
    rows, is_followed = read_live(store)
    live = [row for row in rows if row.get("live")] if is_followed else []
    if process_id is not None:
        for row in live:
            if process_id in ancestors(row.get("process_id")):
                return figure_of_row(row)
    for row in live:
        if _is_in(cwd, str(row.get("cwd", ""))) and (process_id is None or row.get("process_id") is None):
            return figure_of_row(row)
    return None if is_followed else _told(store, cwd, rows)


def _told(store: str, cwd: str, rows: "list[dict[str, Any]]") -> Figure | None:
    """Returns the figure of the folder's conversation whose agent said something last, and not long ago."""
    for at, said in read_told(store):
        if at < time.time() - _RECENT:
            return None
        if _is_in(cwd, str(said.get("cwd", ""))):
            return figure_of_agent(said, row_of_session(rows, str(said.get("session_id"))), is_followed=False)
    return None


def _is_in(folder: str, parent: str) -> bool:
    return bool(parent) and (folder == parent or folder.startswith(parent.rstrip("/\\") + os.sep))
