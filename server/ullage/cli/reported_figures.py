"""The figures of a context as `--json` prints them, and the base of all objects that it prints."""

from typing import Literal, Self

from msgspec import Struct

from ullage.api.values import UsageResult
from ullage.model.figure import CallsLeft, IdleCompaction, Keeper, PromptCache, Remark, ThresholdSource, WindowSource
from ullage.model.updates import Cost, Level
from ullage.model.usage import Breakdown, UsageSource


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

    @classmethod
    def of(cls, parts: Breakdown) -> Self:
        """Returns the same figures for a `Breakdown`."""
        return cls(
            system_prompt=parts.system_prompt,
            tools=parts.tools,
            memory=parts.memory,
            messages=parts.messages,
            tool_results=parts.tool_results,
            summary=parts.summary,
            hidden=parts.overhead,
        )


class Figures(Report, frozen=True, kw_only=True):
    """How full a context is, and where the figures come from. Sizes are in tokens.

    - `percent`: the used share of the window.
    - `window`, `compacts_at`: null while unknown. `compacts_at_times` is the number of compactions from which the
      threshold was learned.
    - `as_of`: the time of the figure in the transcript, Unix milliseconds, or null.
    - `left`: the tokens until `compacts_at`. `calls_left`: the estimated number of calls until then.
    - `idle`: when the agent compacts because the conversation idles, and the setting that stops it.
    - `remarks`: why no threshold is known, that it has changed, or that a setting of the agent has no effect.
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
    remarks: tuple[Remark, ...]
    managed_by: Keeper
    hidden: int
    breakdown: Parts
    messages_active: int
    messages_archived: int
    compactions: int
    cost: Cost | None


def figures_of(usage: UsageResult) -> Figures:
    """Returns the figures of a context in the form that `--json` prints."""
    meta = usage.meta.ullage
    return Figures(
        agent=meta.agent,
        model=meta.model,
        used=usage.used,
        source=meta.source,
        as_of=meta.as_of,
        percent=meta.percent,
        level=meta.level,
        window=usage.size,
        window_source=meta.window.source if meta.window else None,
        warns_at=meta.warn_at,
        compacts_at=meta.compact_at,
        compacts_at_source=meta.threshold.source if meta.threshold else None,
        compacts_at_times=meta.threshold.times if meta.threshold else 0,
        left=meta.left,
        calls_left=meta.calls_left,
        idle=meta.idle,
        cache=meta.cache,
        remarks=meta.remarks,
        managed_by=meta.managed_by,
        hidden=meta.breakdown.overhead,
        breakdown=Parts.of(meta.breakdown),
        messages_active=meta.messages_active,
        messages_archived=meta.messages_archived,
        compactions=meta.compactions,
        cost=usage.cost or None,
    )
