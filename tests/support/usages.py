"""Usage results to draw, without a server."""

from ullage.api.protocol import UsageResult
from ullage.model.updates import Level, Meta, UsageMeta
from ullage.model.usage import Breakdown, Usage, UsageSource

NOW = 1_700_000_000_000
HOUR = 3_600_000


def make_usage(
    used: int = 58_432,
    size: int | None = 128_000,
    *,
    source: UsageSource = UsageSource.REPORTED,
    compact_at: int | None = 97_200,
    model: str = "claude-sonnet-4-5",
) -> UsageResult:
    """Returns a context like the one drawn in the documents, which warns at 8/9 of the threshold to compact."""
    meta = UsageMeta(
        source=source,
        level=Level.NORMAL,
        usable=None if size is None else int(size * 0.85),
        warn_at=None if compact_at is None else compact_at * 8 // 9,
        compact_at=compact_at,
        breakdown=Breakdown(system_prompt=1_200, tools=6_104, messages=31_010, tool_results=19_318, summary=800),
        totals=Usage(),
        model=model,
        messages_active=12,
        messages_archived=33,
        compactions=2,
        oldest_timestamp=NOW - 2 * HOUR,
        reported_at=NOW - 12_000,
        pending_messages=3,
        error_share=0.04,
    )
    return UsageResult(used=used, size=size, meta=Meta(ullage=meta))
