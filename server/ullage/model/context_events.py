"""Events of a context, for programs that embed Ullage. Handlers get them as values; users get the same as notices.
The tag is the event's name."""

from msgspec import Struct

from ullage.model.edits import CompactionEdit


class _ContextEvent(Struct, frozen=True, kw_only=True, tag_field="event"):
    session_id: str


class ContextWarning(_ContextEvent, frozen=True, kw_only=True, tag="context-warning"):
    """The context crossed the warning threshold. It is published once per crossing, not again when the session is
    opened again. Figures are tokens. `asks` is set if the next compaction will wait for the user's consent."""

    used: int
    usable: int
    compact_at: int
    asks: bool = False


class AutoCompacting(_ContextEvent, frozen=True, kw_only=True, tag="auto-compacting"):
    """An automatic compaction begins, with `used` tokens in the context."""

    used: int


class CompactionComplete(_ContextEvent, frozen=True, kw_only=True, tag="compaction-complete"):
    """A compaction was applied, automatic or not. The block of its marker has the sizes and the summary."""

    edit: CompactionEdit


ContextEvent = ContextWarning | AutoCompacting | CompactionComplete
