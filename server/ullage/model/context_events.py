"""Events of a context, for programs that embed Ullage. Handlers get them as values; users get the same as notices.
The tag is the event's name."""

from msgspec import Struct

from ullage.model.edits import CompactionEdit


class _ContextEvent(Struct, frozen=True, kw_only=True, tag_field="event"):
    session_id: str


class ContextWarning(_ContextEvent, frozen=True, kw_only=True, tag="context-warning"):
    """Published when the context reaches the warning threshold, once per crossing; opening the session again does not
    publish it again. Figures are tokens. `agent` names the agent that compacts this conversation, empty if Ullage
    compacts it. `compact_at` is None if it is not known where the agent compacts. `asks` is set if the next compaction
    will wait for the user's consent, `on_request` if a program that embeds Ullage decides when room is made."""

    used: int
    usable: int
    window: int
    compact_at: int | None
    asks: bool = False
    on_request: bool = False
    agent: str = ""


class AutoCompacting(_ContextEvent, frozen=True, kw_only=True, tag="auto-compacting"):
    """Published when an automatic compaction begins, with the `used` tokens in the context."""

    used: int


class CompactionComplete(_ContextEvent, frozen=True, kw_only=True, tag="compaction-complete"):
    """Published when a compaction, automatic or not, was applied. `compaction_block(edit)` has the sizes and the
    summary."""

    edit: CompactionEdit


ContextEvent = ContextWarning | AutoCompacting | CompactionComplete
