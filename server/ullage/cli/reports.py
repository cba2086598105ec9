"""What objects that `--json` prints have in common: their base, and the figures of a context.

Programs read these objects. A new field may be added at any time; removing or changing one needs a new `version`. Times
are Unix milliseconds, sizes are tokens."""

from collections.abc import Sequence
from typing import Any, Literal, TypeVar

from msgspec import Struct

from ullage.api.protocol import UsageResult
from ullage.model.updates import Cost, Level
from ullage.model.usage import (
    CallsLeft,
    GoodMoment,
    HiddenPart,
    IdleCompaction,
    Keeper,
    PromptCache,
    RateLimit,
    Remark,
    ThresholdSource,
    UsageSource,
    WindowSource,
)

T = TypeVar("T", bound=Struct)


def filled(kind: type[T], sources: Sequence[object], **beside: Any) -> T:
    """Returns a value of a struct: the fields of `beside`, and each other one as the first source has it that has an
    attribute of this name. Raises `TypeError` if a field has no value."""
    found = {
        name: getattr(source, name)
        for name in kind.__struct_fields__
        for source in reversed(sources)
        if name != "version" and hasattr(source, name)
    }
    return kind(**found | beside)


class Report(Struct, frozen=True, kw_only=True):
    """The base of every object that `--json` prints. `version` changes if a field is removed or changed."""

    version: Literal[1] = 1


class Parts(Struct, frozen=True, kw_only=True):
    """The tokens of a context by kind of content; they add up to `used`. `hidden` is what the session does not contain:
    the system prompt and tools that its agent adds to every request."""

    system_prompt: int
    tools: int
    memory: int
    messages: int
    tool_results: int
    summary: int
    hidden: int


class Figures(Report, frozen=True, kw_only=True):
    """How full a context is, and where the figures come from. Sizes are in tokens.

    - `percent`: the used share of the window.
    - `window`, `compacts_at`: null while unknown. `compacts_at_times` is the number of compactions from which the
      threshold was learned.
    - `as_of`: the time of the figure in the transcript, Unix milliseconds, or null.
    - `left`: the tokens until `compacts_at`. `calls_left`: the estimated number of calls until then.
    - `idle`: when the agent compacts because the conversation idles, and the setting that stops it.
    - `cache`: until when the provider keeps the last prompt, and what the next one costs; null if that is not known.
    - `moment`: that now is a good moment to go on in a new session; null if it is not.
    - `rate_limits`: what the agent said last of the limits of the user's subscription.
    - `remarks`: why no threshold is known, that it has changed, or that a setting of the agent has no effect.
    - `hidden_parts`: what is known of the `hidden` tokens, which they sum to; empty if nothing is.
    - `cost`: by list prices; null if a price is unknown.
    """

    agent: str
    model: str
    used: int
    source: UsageSource
    as_of: int | None
    percent: int | None
    level: Level
    window: int | None
    window_source: WindowSource | None
    warns_at: int | None
    compacts_at: int | None
    compacts_at_source: ThresholdSource | None
    compacts_at_times: int
    left: int | None
    calls_left: CallsLeft | None
    idle: IdleCompaction | None
    cache: PromptCache | None
    moment: GoodMoment | None
    rate_limits: tuple[RateLimit, ...]
    remarks: tuple[Remark, ...]
    managed_by: Keeper
    hidden: int
    hidden_parts: tuple[HiddenPart, ...]
    breakdown: Parts
    messages_active: int
    messages_archived: int
    compactions: int
    cost: Cost | None


def figures_of(usage: UsageResult) -> Figures:
    """Returns the figures of a context in the form that `--json` prints."""
    meta = usage.meta.ullage
    return filled(
        Figures,
        (meta, usage),
        cost=usage.cost or None,
        window=usage.size,
        window_source=meta.window.source if meta.window else None,
        warns_at=meta.warn_at,
        compacts_at=meta.compact_at,
        compacts_at_source=meta.threshold.source if meta.threshold else None,
        compacts_at_times=meta.threshold.times if meta.threshold else 0,
        hidden=meta.breakdown.overhead,
        hidden_parts=meta.hidden.parts,
        breakdown=filled(Parts, (meta.breakdown,), hidden=meta.breakdown.overhead),
    )


class UnreadLine(Struct, frozen=True, kw_only=True):
    """A line of a file that could not be read: its number, counted from 1, and the reason."""

    line: int
    reason: str


class EditRow(Struct, frozen=True, kw_only=True):
    """An edit of a context. `before` and `after` are the tokens of the whole context, 0 if unknown. `undone_at` is null
    while the edit is in force, and 0 if it was undone at an unknown time. `part_of` is the id of the action's last edit
    if the edit belongs to a larger action."""

    id: str
    kind: str
    trigger: str
    at: int
    words: str
    messages: int
    tokens_saved: int
    before: int
    after: int
    in_force: bool
    undone_at: int | None
    part_of: str | None
