"""The figures that a tracker gives for a context."""

from msgspec import Struct
from msgspec.structs import replace

from ullage.model.usage import Breakdown, UsageSource


class Reading(Struct, frozen=True, kw_only=True):
    """How full a context is, and how that is known. `breakdown.total` equals `used`.

    `pending_messages` were appended after the last report, which was made at `reported_at` (Unix milliseconds).
    `error_share` is the expected error as a share of `used`.
    """

    used: int
    source: UsageSource
    breakdown: Breakdown
    pending_messages: int
    reported_at: int | None
    error_share: float


def apportion(counted: Breakdown, ratio: float, used: int) -> Breakdown:
    """Converts the parts of `counted` to the model's tokens, so that they sum to `used`; the rest of `used` becomes
    `overhead`.

    If the parts exceed `used`, they share it in proportion.
    """
    fitting = min(ratio, used / counted.total) if counted.total else 0.0
    parts = Breakdown(
        system_prompt=int(counted.system_prompt * fitting),
        tools=int(counted.tools * fitting),
        memory=int(counted.memory * fitting),
        messages=int(counted.messages * fitting),
        tool_results=int(counted.tool_results * fitting),
        summary=int(counted.summary * fitting),
        overhead=int(counted.overhead * fitting),
    )
    return replace(parts, overhead=parts.overhead + used - parts.total)
