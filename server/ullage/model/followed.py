"""Conversations that agents have elsewhere on this machine, as every list shows them."""

from collections.abc import Iterable
from typing import Literal, TypeVar

from msgspec import Struct

from ullage.model.figure import IdleCompaction, Nearness, ThresholdSource, WindowSource
from ullage.model.usage import UsageSource

R = TypeVar("R", bound="FollowedRow")


class FollowedRow(Struct, frozen=True, kw_only=True):
    """A conversation that an agent has, and how full its context is. Sizes are tokens, times are Unix milliseconds; a
    value that is not known is null, and a text that is not known is empty.

    - `session_id`: its session in Ullage's store. `agent_session_id`: the agent's own id of it.
    - `agent`: the agent's name. `agent_short`: its name in a few characters, for a status bar. `path`: the agent's
      file. `cwd`: the folder in which the conversation began.
    - `parent`: for a sub-agent's conversation, the agent's own id of the one that started it: the `agent_session_id` of
      another row. Empty for any other.
    - `live`: whether the conversation continues. Its agent runs; or, if the agent doesn't say which process has which
      conversation, something was written less than 15 minutes ago.
    - `process_id`: the agent's process, if the agent says which it is.
    - `used`, `window`, `compacts_at`: the size of the context, and where it ends and is compacted; each with its
      source. `percent`: the used share of the window.
    - `calls_left`: the fewest and the most calls of the model until `compacts_at`, in four of five cases.
    - `idle`: a compaction that the agent makes because the conversation idles; null if it makes none.
    - `nearness`: how near `compacts_at` is, or the end of the window if nothing compacts the context; null if
      that is not known, and once the conversation has ended.
    - `warnings`: what the user should know of the window and the threshold, one sentence each.
    - `updated_at`: the time of the last message or report.
    - `compact_command`: what a user types in the agent to compact the conversation. `takes_focus`: whether the agent
      takes what the summary must keep after it.
    """

    session_id: str
    agent: str
    agent_short: str = ""
    agent_session_id: str = ""
    title: str = ""
    cwd: str = ""
    path: str = ""
    parent: str = ""
    model: str = ""
    live: bool = False
    process_id: int | None = None
    used: int | None = None
    used_source: UsageSource | None = None
    percent: int | None = None
    window: int | None = None
    window_source: WindowSource | None = None
    compacts_at: int | None = None
    compacts_at_source: ThresholdSource | None = None
    calls_left: tuple[int, int] | None = None
    idle: IdleCompaction | None = None
    nearness: Nearness | None = None
    messages: int | None = None
    warnings: tuple[str, ...] = ()
    updated_at: int = 0
    compact_command: str = ""
    takes_focus: bool = False


def without_children(rows: Iterable[R]) -> list[R]:
    """Returns the rows without those of sub-agents whose parent is among them."""
    rows = list(rows)
    known = {(row.agent, row.agent_session_id) for row in rows}
    return [row for row in rows if not (row.parent and (row.agent, row.parent) in known)]


class LiveSessions(Struct, frozen=True, kw_only=True):
    """The live file: what is followed on this machine, last changed first. Ullage's store has a name; this file has the
    same name with `.live.json` after it.

    `at` is the time at which the file was written, in Unix milliseconds, and `follower` the process that wrote it. If
    that process no longer runs, the file is not kept up to date. Programs may read the file; a new field may be added
    at any time, and `version` changes if one is removed or changed.
    """

    version: Literal[1] = 1
    at: int
    follower: int
    sessions: tuple[FollowedRow, ...]
