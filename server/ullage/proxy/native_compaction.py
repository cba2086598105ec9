"""Follows a compaction that the agent makes itself, by its own slash command or by its own decision."""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ullage.agents.acp import compaction_call, compaction_done
from ullage.model.edits import EditTrigger
from ullage.model.json_values import as_object, as_objects, as_text

_KINDS = ("compaction_update", "compaction_summary_chunk")


class NativeCompaction(Struct, frozen=True, kw_only=True):
    """A compaction that the agent makes itself, as far as its updates have reported it.

    - `used_before`: tokens in the context before it.
    - `asked`: the proxy or the client has sent the agent's compacting command.
    - `copy`: the agent's id of a copy of the session from before the compaction, or "" if the agent makes no copies.
    - `summary`: the text of the summary so far.
    - `completed`: the agent has reported that the compaction is done.
    """

    used_before: int
    trigger: EditTrigger = EditTrigger.AUTOMATIC
    asked: bool = False
    copy: str = ""
    summary: str = ""
    completed: bool = False


def watched(compaction: NativeCompaction | None, update: dict[str, Any], used: int) -> NativeCompaction | None:
    """Returns `compaction` with what a session update reports about it, or None if there is no compaction.

    If `compaction` is None and the update reports one, returns a new one with `used` tokens before it. An update about
    something else changes nothing.
    """
    kind = update.get("sessionUpdate")
    called = compaction_call(update)
    done = compaction_done(update) or (called and update.get("status") == "completed")
    if kind not in _KINDS and not done and not called:
        return compaction
    begun = compaction or NativeCompaction(used_before=used)
    if kind == "compaction_summary_chunk":
        return replace(begun, summary=begun.summary + as_text(as_object(update.get("content")).get("text")))
    summary = begun.summary
    if kind == "compaction_update" and "summary" in update:
        summary = "".join(as_text(part.get("text")) for part in as_objects(update.get("summary")))
    completed = begun.completed or done or (kind == "compaction_update" and update.get("status") == "completed")
    return replace(begun, completed=completed, summary=summary)
