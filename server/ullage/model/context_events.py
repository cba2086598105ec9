"""What happens to a context, for programs that embed Ullage: values for handlers on the bus. People get the same as
notices. The tag is the event's name."""

from msgspec import Struct

from ullage.model.edits import CompactionEdit


class _ContextEvent(Struct, frozen=True, kw_only=True, tag_field="event"):
    session_id: str


class ContextWarning(_ContextEvent, frozen=True, kw_only=True, tag="context-warning"):
    """The context crossed the warning threshold: once per crossing of a session, whoever is listening, and not again
    when the session is opened anew. Tokens; `asks` says that a compaction will wait for the person."""

    used: int
    usable: int
    compact_at: int
    asks: bool = False


class AutoCompacting(_ContextEvent, frozen=True, kw_only=True, tag="auto-compacting"):
    """A compaction begins that nobody asked for; `used` tokens are in the context."""

    used: int


class CompactionComplete(_ContextEvent, frozen=True, kw_only=True, tag="compaction-complete"):
    """A compaction has been applied, asked for or not; its marker's block has the sizes and the summary."""

    edit: CompactionEdit


ContextEvent = ContextWarning | AutoCompacting | CompactionComplete
